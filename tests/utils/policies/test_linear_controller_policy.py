"""The controller is linear in what is known, and one for each row where rows have their own."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from utils.errors import ConfigError
from utils.mdn_rnn import MdnRnnModel, MdnRnnSettings
from utils.policies import Policy
from utils.policies.linear_controller_policy import LinearControllerPolicy
from utils.world_models import State
from utils.world_models.actions import ActionCode

SPACE = gym.spaces.Box(0, 255, (3, 64, 64), np.uint8)
CAR = gym.spaces.Box(np.array([-1.0, 0.0, 0.0], np.float32), np.ones(3, np.float32))
SETTINGS = MdnRnnSettings(latents=3, depth=2, units=4, mixtures=2, joint_mixture=False)


def make(action_space=CAR, *, reads="z_h", clipped=()):
    torch.manual_seed(1)
    code = ActionCode(action_space, box="bounded_normal", algorithm="world_models")
    model = MdnRnnModel(SPACE, code.width, SETTINGS)
    return LinearControllerPolicy(model, code, reads=reads, clipped_actions=clipped)


def see(n):
    generator = torch.Generator().manual_seed(4)
    return torch.randint(0, 256, (n, 3, 64, 64), dtype=torch.uint8, generator=generator)


def test_it_is_a_policy_with_a_memory() -> None:
    policy = make()
    assert isinstance(policy, Policy)
    first = policy.act(see(2), deterministic=True, state=policy.initial_state(2))
    assert first.action.shape == (2, 3)
    again = policy.act(see(2), deterministic=True, state=first.state)
    assert not torch.equal(first.state, again.state)


@pytest.mark.parametrize(("reads", "width"), [("z", 3), ("z_h", 7), ("z_h_c", 11)])
def test_it_reads_what_it_shall(reads, width) -> None:
    policy = make(reads=reads)
    assert policy.controller.shape == ((width + 1) * 3,)
    state = State(torch.arange(8.0).unsqueeze(0), torch.tensor([[10.0, 11.0, 12.0]]))
    expected = [10.0, 11.0, 12.0, *range(width - 3)]
    assert policy.read(state)[0].tolist() == expected
    assert policy.read_features(state.features)[0].tolist() == expected


def test_actions_are_spread_over_the_bounds_or_cut_at_them() -> None:
    output = torch.tensor([[0.5, 0.5, 0.5], [-0.5, -0.5, -0.5]])
    tanh = 0.4621172
    spread, cut = make(), make(clipped=(2,))
    torch.testing.assert_close(
        spread.code.to_env(spread.drawn(output)),
        torch.tensor(
            [
                [tanh, (1 + tanh) / 2, (1 + tanh) / 2],
                [-tanh, (1 - tanh) / 2, (1 - tanh) / 2],
            ]
        ),
    )
    torch.testing.assert_close(
        cut.code.to_env(cut.drawn(output)),
        torch.tensor([[tanh, (1 + tanh) / 2, tanh], [-tanh, (1 - tanh) / 2, 0.0]]),
    )


def test_of_choices_the_largest_output_is_taken() -> None:
    policy = make(gym.spaces.Discrete(3))
    assert policy.drawn(torch.tensor([[0.1, 0.3, 0.2], [5.0, -1.0, 1.0]])).tolist() == [1, 0]


def test_each_row_acts_by_its_own_controller_as_it_would_alone() -> None:
    policy = make()
    parameters = torch.randn(3, policy.shape.n_parameters)
    state = torch.randn(3, policy.initial_state(1).shape[1])
    together = policy.rows(parameters).act(see(3), deterministic=True, state=state)
    for i in range(3):
        policy.controller.copy_(parameters[i])
        alone = policy.act(see(3)[i : i + 1], deterministic=True, state=state[i : i + 1])
        torch.testing.assert_close(together.action[i : i + 1], alone.action)
        torch.testing.assert_close(together.state[i : i + 1], alone.state)


def test_what_is_done_in_a_dream_is_what_would_be_done_awake() -> None:
    policy = make()
    policy.controller.copy_(torch.randn(policy.shape.n_parameters))
    step = policy.act(see(2), deterministic=True, state=policy.initial_state(2))
    belief, encoded = policy.split(step.state)
    drawn, again = policy.choose_in_dreams(None)(belief, 0)
    torch.testing.assert_close(policy.code.to_env(drawn), step.action)
    torch.testing.assert_close(again, encoded)
    features = belief.features.unsqueeze(0)
    controlled = policy.control(policy.controller.unsqueeze(0), features)
    torch.testing.assert_close(controlled[0], encoded)


def test_only_the_latent_is_drawn() -> None:
    policy = make()
    policy.controller.copy_(torch.ones(policy.shape.n_parameters))
    generator = torch.Generator().manual_seed(0)
    state = policy.initial_state(1)
    drawn = [policy.act(see(1), generator=generator, state=state).action for _ in range(2)]
    assert not torch.equal(*drawn)
    still = [policy.act(see(1), deterministic=True, state=state).action for _ in range(2)]
    assert torch.equal(*still)


def test_an_exported_policy_tells_what_this_one_does() -> None:
    policy = make(gym.spaces.Discrete(3))
    told = policy.export_outputs(see(2), state=policy.initial_state(2))
    step = policy.act(see(2), deterministic=True, state=policy.initial_state(2))
    assert torch.equal(told["action"], step.action)
    assert torch.equal(told["state"], step.state)
    assert set(policy.explain(see(2), state=policy.initial_state(2))) == {"controller_output"}


def test_a_box_without_bounds_is_refused() -> None:
    with pytest.raises(ConfigError, match="world_models scales its actions to the bounds"):
        make(gym.spaces.Box(-np.inf, np.inf, (1,), np.float32))
