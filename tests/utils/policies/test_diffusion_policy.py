from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import Tensor

from utils.diffusion import DenoiserSettings, DiffusionSettings
from utils.policies import Policy
from utils.policies.diffusion_policy import DiffusionPolicy, Horizons
from utils.rollouts.stepper import forget

pytest.importorskip("diffusers")

SPACE = spaces.Box(-1, 1, (3,), np.float32)
ACTIONS = spaces.Box(-2, 2, (2,), np.float32)


def build(
    *, n_seen: int = 2, execution: int = 3, space: spaces.Space = SPACE, **changes: Any
) -> DiffusionPolicy:
    torch.manual_seed(0)
    shape = {
        "network": "unet",
        "channels": (8, 8),
        "kernel_size": 3,
        "n_groups": 4,
        "step_dim": 8,
        "width": 8,
        "n_layers": 1,
        "n_heads": 1,
        "dropout": 0.5,
        "causal": True,
        "picture_width": 4,
        "n_keypoints": 2,
        "crop_fraction": 0.9,
    }
    diffusion = {
        "scheduler": "ddim",
        "n_train_steps": 20,
        "n_denoise_steps": 4,
        "beta_schedule": "squaredcos_cap_v2",
        "prediction": "epsilon",
    } | changes
    return DiffusionPolicy(
        space,
        ACTIONS,
        network=DenoiserSettings(n_observations=n_seen, length=8, **shape),
        diffusion=DiffusionSettings(**diffusion),
        horizons=Horizons(observations=n_seen, prediction=8, execution=execution),
    )


class Tells(DiffusionPolicy):
    """Its sequences are made of what it was shown, and it counts them.

    Action t of a sequence is (t, sum of the first number of all observations that are seen).
    """

    n_drawn = 0

    def predict(self, features: Tensor, noise: Tensor) -> Tensor:
        assert features.shape[0] == noise.shape[1]
        self.n_drawn += len(features)
        seen = features[:, :, 0].sum(dim=1)
        time = torch.arange(8.0).expand(len(features), 8)
        return torch.stack([time, seen.unsqueeze(1).expand(-1, 8)], dim=-1)


def telling(**kwargs: Any) -> Tells:
    policy = build(**kwargs)
    policy.__class__ = Tells
    return policy  # type: ignore[return-value]


def show(*firsts: float) -> Tensor:
    return torch.tensor([[first, 0.0, 0.0] for first in firsts])


def test_it_is_a_policy() -> None:
    assert isinstance(build(), Policy)


@pytest.mark.parametrize("n_seen", [1, 2, 3])
def test_the_queue_is_carried_out_then_drawn_anew_with_what_was_seen(n_seen: int) -> None:
    policy, state = telling(n_seen=n_seen, execution=3), None
    state, told = policy.initial_state(1), []
    shown = [1.0, 10.0, 100.0, 1000.0, 10000.0]
    for first in shown:
        step = policy.act(show(first), state=state)
        state = step.state
        told.append(step.action[0].tolist())
    # The first observation stands for those before it.
    at_once = 1.0 * n_seen
    later = sum(shown[3 - k] for k in range(n_seen))
    first = n_seen - 1  # of the sequence: the action of the present observation
    assert told == [
        [first, at_once],
        [first + 1, at_once],
        [first + 2, at_once],
        [first, later],
        [first + 1, later],
    ]
    assert policy.n_drawn == 2


def test_rows_are_their_own_and_an_ended_episode_leaves_nothing() -> None:
    policy = telling()
    state = policy.initial_state(3)
    state = policy.act(show(1.0, 2.0, 3.0), state=state).state
    assert policy.n_drawn == 3
    state = forget(state, np.array([False, True, False]))  # as the stepper does
    step = policy.act(show(10.0, 20.0, 30.0), state=state)
    assert policy.n_drawn == 4  # the second row alone
    assert step.action.tolist() == [[2, 2], [1, 40], [2, 6]]


@pytest.mark.parametrize("scheduler", ["ddim", "ddpm"])
def test_every_number_of_environments_plays_the_same_without_draws(scheduler: str) -> None:
    policy = build(scheduler=scheduler)
    shown = torch.rand((6, 5, 3), generator=torch.Generator().manual_seed(1))
    together, alone = policy.initial_state(5), [policy.initial_state(1) for _ in range(5)]
    for observation in shown:
        step = policy.act(observation, deterministic=True, state=together)
        together = step.state
        for k in range(5):
            single = policy.act(observation[k : k + 1], deterministic=True, state=alone[k])
            alone[k] = single.state
            torch.testing.assert_close(single.action[0], step.action[k], rtol=1e-4, atol=1e-5)


def test_draws_come_from_the_generator_and_only_where_a_sequence_is_drawn() -> None:
    policy, observation = build(), show(0.1, 0.2)

    def play(seed: int) -> list[list[float]]:
        generator, state = torch.Generator().manual_seed(seed), policy.initial_state(2)
        actions = []
        for _ in range(4):
            step = policy.act(observation, generator=generator, state=state)
            state = step.state
            actions.append(step.action.flatten().tolist())
        return actions

    assert play(0) == play(0)
    assert play(0) != play(1)
    state = policy.act(observation, state=policy.initial_state(2)).state
    generator = torch.Generator().manual_seed(0)
    before = generator.get_state()
    policy.act(observation, generator=generator, state=state)
    assert torch.equal(before, generator.get_state())


@pytest.mark.parametrize("scheduler", ["ddim", "ddpm"])
def test_what_is_exported_is_what_it_does(scheduler: str) -> None:
    policy, state = build(scheduler=scheduler), None
    state = policy.initial_state(3)
    state = policy.act(show(0.1, 0.2, 0.3), deterministic=True, state=state).state
    state = forget(state, np.array([True, False, False]))
    step = policy.act(show(0.5, 0.6, 0.7), deterministic=True, state=state)
    told = policy.export_outputs(show(0.5, 0.6, 0.7), state=state)
    torch.testing.assert_close(told["action"], step.action, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(told["state"], step.state, rtol=1e-4, atol=1e-5)


def test_actions_are_in_the_units_of_the_demonstrations() -> None:
    policy = telling()
    policy.action_scale.fit_(torch.tensor([[0.0, -1.0], [10.0, 3.0]]))
    step = policy.act(show(0.25), state=policy.initial_state(1))
    # Scaled 1 and 0.5, of [0, 10] and [-1, 3]: 5 + 5 * 1 and 1 + 2 * 0.5.
    assert step.action.tolist() == [[10.0, 2.0]]


def test_sequences_to_look_at_differ_and_change_nothing() -> None:
    policy, state = build(), build().initial_state(1)
    generator = torch.Generator().manual_seed(0)
    drawn = policy.sample_sequences(show(0.1), state=state, n=6, generator=generator)
    assert drawn.shape == (6, 8, 2)
    assert (drawn.std(dim=0) > 0).all()
    assert not state.any()


def test_it_never_leaves_evaluation_mode() -> None:
    policy = build()
    policy.train()
    assert not any(module.training for module in policy.modules())


def test_pictures_are_remembered_as_features() -> None:
    space = spaces.Box(0, 255, (3, 36, 36), np.uint8)
    policy = build(space=space)
    state = policy.initial_state(2)
    assert state.shape == (2, 2 + 4 + 3 * 2)  # features of one earlier picture: two places
    generator = torch.Generator().manual_seed(0)
    picture = torch.randint(256, (2, 3, 36, 36), generator=generator).to(torch.uint8)
    step = policy.act(picture, deterministic=True, state=state)
    torch.testing.assert_close(step.state[:, 2:6], policy.denoiser.encode(picture))
