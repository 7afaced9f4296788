"""Plans of a policy without an actor, in worlds whose every number is known."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import nn

from tests.helpers.world_models import small_settings
from utils.policies import Policy
from utils.policies.planning_policy import PlanningPolicy, PlanningSettings
from utils.world_models import State, WorldModel
from utils.world_models.actions import ActionCode

SPACE = gym.spaces.Box(-2.0, 4.0, (1,), np.float32)
SETTINGS = {"horizon": 3, "n_iterations": 8, "n_candidates": 64, "n_elites": 8, "gamma": 1.0}


class Adding(nn.Module):
    """Deterministic states that actions are added to."""

    def imagine_step(self, state: State, action, noise) -> State:
        del noise  # the state has no part that is drawn
        return State(state.deter + action, state.stoch)


class Reading(nn.Module):
    """Reads the first number of the state, or a function of it."""

    def __init__(self, function=lambda x: x) -> None:
        super().__init__()
        self.function = function

    def forward(self, features):
        return self.function(features[..., 0])

    def mean(self, output):
        return output

    probability = mean


class World(nn.Module):
    """Pays where the state is."""

    def __init__(self, reward, goes_on=None) -> None:
        super().__init__()
        self.rssm, self.reward, self.goes_on = Adding(), Reading(reward), goes_on


def planner(world: nn.Module, **changes) -> PlanningPolicy:
    policy = PlanningPolicy.__new__(PlanningPolicy)
    nn.Module.__init__(policy)
    policy.world_model, policy.code = world, ActionCode(SPACE, box="bounded_normal", algorithm="x")
    policy.settings = PlanningSettings(**(SETTINGS | changes))
    policy.latent_noise = lambda n, generator: None
    return policy


def at(*places: float) -> State:
    return State(torch.tensor(places).unsqueeze(1), torch.zeros(len(places), 0))


def test_a_plan_is_worth_the_rewards_on_its_way() -> None:
    actions = torch.tensor([[[1.0, 0.0], [-1.0, 0.5]], [[0.5, 1.0], [1.0, 1.0]]]).unsqueeze(-1)
    worth = planner(World(lambda x: x)).returns_of(at(0.0, 10.0), actions)
    # Row 0: (1) + (1 + 0.5), (0) + (0 + 1); row 1: (9) + (10), (10.5) + (11.5).
    torch.testing.assert_close(worth, torch.tensor([[2.5, 1.0], [19.0, 22.0]]))


def test_later_rewards_count_by_discount_and_by_how_likely_they_are_reached() -> None:
    actions = torch.ones(3, 1, 1, 1)
    discounted = planner(World(lambda x: x), gamma=0.5).returns_of(at(0.0), actions)
    torch.testing.assert_close(discounted, torch.tensor([[1 + 0.5 * 2 + 0.25 * 3]]))
    ending = World(lambda x: x, Reading(lambda x: 0.1 * x))
    worth = planner(ending).returns_of(at(0.0), actions)
    # States 1, 2, 3 go on with probability 0.1, 0.2, 0.3; the last one counts no more.
    torch.testing.assert_close(worth, torch.tensor([[1 + 0.1 * 2 + 0.1 * 0.2 * 3]]))


def test_it_finds_where_it_is_paid_within_the_bounds() -> None:
    policy = planner(World(lambda x: -(x - 0.5).square()))
    generator = torch.Generator().manual_seed(0)
    plan = policy.plan(at(0.2, 5.0), generator)
    # One step of 0.3 and then none; and as far down as it goes.
    torch.testing.assert_close(plan.mean[:, 0, 0], torch.tensor([0.3, 0.0, 0.0]), atol=0.15, rtol=0)
    assert plan.mean[0, 1, 0] < -0.95


@pytest.fixture
def policy() -> PlanningPolicy:
    torch.manual_seed(0)
    code = ActionCode(SPACE, box="bounded_normal", algorithm="planet")
    observed = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)
    settings = small_settings(latent="gaussian", dynamics="gru", numbers="normal")
    model = WorldModel(observed, code.width, settings, predicts_end=False)
    return PlanningPolicy(model, code, PlanningSettings(**(SETTINGS | {"n_iterations": 2})))


def test_it_is_a_policy_with_a_memory(policy) -> None:
    assert isinstance(policy, Policy)
    seen, state = torch.randn(2, 3), policy.initial_state(2)
    step = policy.act(seen, deterministic=True, state=state)
    assert step.action.shape == (2, 1)
    assert not torch.equal(step.state, state)
    drawn = policy.choose(seen, generator=None, deterministic=True, mask=None, state=state)[0]
    # Drawn actions are in [-1, 1] and end the memory; the environment's are from -2 to 4.
    assert torch.equal(step.state[:, -1:], drawn)
    torch.testing.assert_close(step.action, 1.0 + 3.0 * drawn)


def test_without_noise_a_plan_is_the_same_every_time_and_in_any_company(policy) -> None:
    seen = torch.randn(5, 3)

    def act(rows):
        state = policy.initial_state(len(rows))
        return policy.act(rows, deterministic=True, state=state)

    alone, together = act(seen[2:3]), act(seen)
    torch.testing.assert_close(alone.action[0], together.action[2])
    assert torch.equal(act(seen).action, together.action)
    told = policy.explain(seen, state=policy.initial_state(5))
    torch.testing.assert_close(told["promise"], together.value)
    assert "value" not in told  # it ends at the horizon
    exported = policy.export_outputs(seen, state=policy.initial_state(5))
    assert torch.equal(exported["action"], together.action)
    assert torch.equal(exported["state"], together.state)


def test_with_noise_it_follows_the_generator(policy) -> None:
    seen, state = torch.randn(1, 3), policy.initial_state(1)

    def act(seed):
        generator = torch.Generator().manual_seed(seed)
        return policy.act(seen, generator=generator, state=state).action

    assert torch.equal(act(1), act(1))
    assert not torch.equal(act(1), act(2))


def test_a_plan_can_be_exported_for_any_number_of_rows(policy) -> None:
    class Program(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.policy = policy

        def forward(self, observation, state):
            return self.policy.export_outputs(observation, state=state)["action"]

    batch = torch.export.Dim("batch")
    with torch.no_grad():
        program = torch.export.export(
            Program(),
            (torch.randn(2, 3), policy.initial_state(2)),
            dynamic_shapes=({0: batch}, {0: batch}),
        )
        seen, state = torch.randn(5, 3), torch.randn(5, policy.initial_state(5).shape[1])
        exported = program.module()(seen, state)
    torch.testing.assert_close(exported, policy.act(seen, deterministic=True, state=state).action)
