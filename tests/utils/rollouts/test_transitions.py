"""What every step led to: no step lost or reordered, final observations where episodes ended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.helpers.counting_policy import encode_rows
from tests.helpers.policies import build_linear_policy
from tests.helpers.vector_envs import CountingVectorEnv, encode
from utils.errors import EnvironmentFailedError
from utils.rollouts import Collector, RolloutBuffer
from utils.rollouts.recording_collector import RecordingCollector
from utils.rollouts.transitions import TransitionRecord

CPU = torch.device("cpu")
LENGTHS = (3, 4, None)
ENDS = ("terminated", "truncated", "terminated")


def build(env: CountingVectorEnv, *, n_steps: int, **settings: Any):
    policy = build_linear_policy(env, **settings)
    record = TransitionRecord(
        n_steps=n_steps, n_envs=env.num_envs, observation_space=env.single_observation_space
    )
    generator = torch.Generator().manual_seed(0)
    collector = RecordingCollector(env, policy, record=record, device=CPU, generator=generator)
    collector.reset(seed=11)
    buffer = RolloutBuffer(
        n_steps=n_steps,
        n_envs=env.num_envs,
        observation_space=env.single_observation_space,
        distribution=policy.distribution,
    )
    return collector, buffer, record


def rows_of(observation: Any, t: int) -> Tensor:
    if isinstance(observation, dict):
        return encode_rows({key: part[t] for key, part in observation.items()})
    return encode_rows(observation[t])


def expected(t: int, *, ahead: int) -> list[int]:
    return [
        encode(i, t // length if length else 0, (t % length if length else t) + ahead)
        for i, length in enumerate(LENGTHS)
    ]


@pytest.mark.parametrize("as_dict", [False, True])
def test_each_step_is_written_with_what_it_led_to(as_dict: bool) -> None:
    env = CountingVectorEnv(LENGTHS, ends=ENDS, as_dict=as_dict)
    collector, buffer, record = build(env, n_steps=4)
    for rollout in range(2):
        collector.collect(buffer, n_steps=4)
        before, after = record.observation(), record.next_observation()
        for t in range(4):
            at = 4 * rollout + t
            assert rows_of(before, t).tolist() == expected(at, ahead=0)
            assert rows_of(after, t).tolist() == expected(at, ahead=1)
        last = record.last_observation()
        assert encode_rows(last).tolist() == expected(4 * rollout + 4, ahead=0)


def test_final_observations_are_told_by_step_and_environment() -> None:
    collector, buffer, record = build(CountingVectorEnv(LENGTHS, ends=ENDS), n_steps=4)
    collector.collect(buffer, n_steps=4)
    found = [
        (t, index.tolist(), encode_rows(final).tolist()) for t, index, final in record.finals()
    ]
    assert found == [(2, [0], [encode(0, 0, 3)]), (3, [1], [encode(1, 0, 4)])]


def test_raw_observations_are_written_whatever_the_policy_sees() -> None:
    collector, buffer, record = build(
        CountingVectorEnv(LENGTHS, ends=ENDS), n_steps=4, normalize_obs="rolling"
    )
    collector.collect(buffer, n_steps=4)
    assert rows_of(record.observation(), 1).tolist() == expected(1, ahead=0)
    assert not torch.allclose(record.observation(), buffer.observation)


def test_recording_changes_nothing_in_the_rollout() -> None:
    recorded, one, _ = build(CountingVectorEnv(LENGTHS, ends=ENDS), n_steps=6)
    recorded.collect(one, n_steps=6)
    env = CountingVectorEnv(LENGTHS, ends=ENDS)
    plain = Collector(
        env,
        build_linear_policy(env),
        device=CPU,
        generator=torch.Generator().manual_seed(0),
    )
    plain.reset(seed=11)
    _, two, _ = build(CountingVectorEnv(LENGTHS, ends=ENDS), n_steps=6)
    plain.collect(two, n_steps=6)
    for name in ("observation", "action", "logprob", "value", "next_value", "reward"):
        assert torch.equal(getattr(one, name), getattr(two, name)), name


def test_a_final_observation_that_is_no_number_is_named() -> None:
    class Broken(CountingVectorEnv):
        def step(self, action: Any):
            observation, reward, terminated, truncated, infos = super().step(action)
            if "final_obs" in infos:
                infos["final_obs"] = np.full_like(infos["final_obs"], np.nan)
            return observation, reward, terminated, truncated, infos

    collector, buffer, _ = build(Broken((3, 5)), n_steps=4)
    with pytest.raises(EnvironmentFailedError, match=r"environment 0 of .* final observation"):
        collector.collect(buffer, n_steps=4)
