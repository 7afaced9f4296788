"""Every candidate plays every episode, from its beginning, on the same seed as all others."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch

from utils.environment import build_env
from utils.evolution import play_population
from utils.evolution.population_play import seeds_of_waves
from utils.policies.actor_critic import PolicyStep

CPU = torch.device("cpu")


@dataclass
class Constant:
    """Row i does what parameters i say; it remembers every first observation that it was shown."""

    parameters: torch.Tensor
    first: list = field(default_factory=list)
    has_memory: bool = False
    has_masks: bool = False

    def initial_state(self, n):
        return None

    def act(self, observation, **_):
        if not self.first:
            self.first.append(observation.clone())
        action = self.parameters[:, :1] * 2.0
        nothing = torch.zeros(len(action))
        return PolicyStep(action, nothing, nothing)


def play(env, parameters, seeds, **kwargs):
    policies = []

    def policy_of_rows(rows):
        policies.append(Constant(rows))
        return policies[-1]

    played = play_population(env, policy_of_rows, parameters, seeds=seeds, device=CPU, **kwargs)
    return played, [policy.first[0] for policy in policies]


@pytest.fixture
def env():
    env = build_env("Pendulum-v1", n_envs=3, vectorization="sync", max_episode_steps=5)
    yield env
    env.close()


def test_waves_hold_every_pair_once() -> None:
    waves = seeds_of_waves([7, 8], 3, 4)
    assert [wave.tolist() for wave in waves] == [[[0, 0], [0, 1], [0, 2], [1, 0]], [[1, 1], [1, 2]]]


def test_equal_candidates_reach_the_same(env) -> None:
    played, first = play(env, torch.zeros(4, 1), [11, 12])
    assert played.returns.shape == (4, 2)
    for k in range(1, 4):
        assert np.array_equal(played.returns[0], played.returns[k])
    assert played.returns[0, 0] != played.returns[0, 1]
    assert played.lengths.tolist() == [[5, 5]] * 4
    assert played.n_vec_steps == 3 * 5  # 8 pairs in 3 waves
    assert torch.equal(first[0][0], first[0][1])


def test_a_return_is_that_of_the_episode_alone(env) -> None:
    parameters = torch.tensor([[0.5], [-0.25]])
    played, _ = play(env, parameters, [3])
    alone = build_env("Pendulum-v1", n_envs=1, vectorization="sync", max_episode_steps=5)
    for k in range(2):
        alone.reset(seed=3)
        total = 0.0
        for _ in range(5):
            total += float(alone.step(np.array([[2.0 * parameters[k, 0]]], np.float32))[1][0])
        assert played.returns[k, 0] == pytest.approx(total, abs=1e-9)
    alone.close()


def test_a_limit_cuts_episodes_and_tells_of_waves(env) -> None:
    told = []
    played, _ = play(
        env, torch.zeros(4, 1), [1], max_steps=2, on_wave=lambda n, total: told.append((n, total))
    )
    assert played.lengths.tolist() == [[2]] * 4
    assert told == [(1, 2), (2, 2)]


def test_an_action_that_is_no_number_is_a_mistake(env) -> None:
    with pytest.raises(AssertionError, match="nan"):
        play(env, torch.full((1, 1), torch.nan), [1])
