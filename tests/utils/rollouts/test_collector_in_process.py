"""The collector with the vector environment that training uses."""

from __future__ import annotations

from functools import partial

import gymnasium as gym
import torch
from torch import Tensor

from tests.helpers.envs import MutatingEnv
from tests.helpers.policies import build_linear_policy
from utils.policy_factory import ActorCritic
from utils.rollouts import Collector, RolloutBuffer, evaluate_policy
from utils.vector_envs import InProcessVectorEnv

CPU = torch.device("cpu")


def build(
    env: InProcessVectorEnv, n_steps: int, normalize_obs: str
) -> tuple[ActorCritic, Collector, RolloutBuffer]:
    policy = build_linear_policy(env, normalize_obs=normalize_obs)
    generator = torch.Generator().manual_seed(0)
    collector = Collector(env, policy, device=CPU, generator=generator)
    collector.reset(seed=3)
    buffer = RolloutBuffer(
        n_steps=n_steps,
        n_envs=env.num_envs,
        observation_space=env.single_observation_space,
        distribution=policy.distribution,
    )
    return policy, collector, buffer


def test_rows_and_final_values_of_an_environment_that_changes_its_array_in_place() -> None:
    factories = [
        partial(MutatingEnv, length=3, ending="truncated"),
        partial(MutatingEnv, length=4, ending="terminated"),
    ]
    env = InProcessVectorEnv(factories, env_id="Mutating-v0")
    policy, collector, buffer = build(env, n_steps=7, normalize_obs="none")
    collector.collect(buffer, n_steps=7)
    assert buffer.observation[:, 0, 0].tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert buffer.observation[:, 1, 0].tolist() == [0, 1, 2, 3, 0, 1, 2]
    assert buffer.truncated[:, 0].tolist() == [False, False, True, False, False, True, False]
    assert buffer.terminated[:, 1].tolist() == [False, False, False, True, False, False, False]
    led_to = torch.tensor([[1.0], [2.0], [3.0], [1.0], [2.0], [3.0], [1.0]])
    with torch.no_grad():
        torch.testing.assert_close(buffer.next_value[:, 0], policy.predict_value(led_to))
    env.close()


def collect_with_evaluations(n_evaluations: int) -> list[Tensor]:
    train, val = (
        InProcessVectorEnv([partial(gym.make, "CartPole-v1")] * 3, env_id="CartPole-v1")
        for _ in range(2)
    )
    policy, collector, buffer = build(train, n_steps=16, normalize_obs="rolling")
    seen: list[Tensor] = []
    for epoch in range(4):
        collector.collect(buffer, n_steps=16)
        seen += [buffer.observation.clone(), buffer.action.clone(), buffer.next_value.clone()]
        for _ in range(n_evaluations):
            evaluate_policy(
                policy,
                val,
                n_episodes=3,
                seed=epoch,
                deterministic=False,
                device=CPU,
                timeout_seconds=60.0,
            )
    train.close()
    val.close()
    return seen


def test_evaluations_do_not_change_what_is_collected() -> None:
    without = collect_with_evaluations(0)
    with_two = collect_with_evaluations(2)
    assert all(torch.equal(a, b) for a, b in zip(without, with_two, strict=True))
    # Episodes and environments do not repeat each other.
    first_rows = without[0][0]
    assert first_rows.unique(dim=0).shape[0] == 3
