from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from tests.helpers.counting_policy import CountingPolicy
from tests.helpers.vector_envs import CountingVectorEnv
from utils.errors import DivergedError, EnvironmentFailedError
from utils.rollouts.stepper import Stepper, to_tensors

CPU = torch.device("cpu")


class Rewritten(CountingVectorEnv):
    """Counts, and changes what a step gives before it is seen."""

    def __init__(self, lengths: list[int], rewrite: Any, **kwargs: Any) -> None:
        super().__init__(lengths, **kwargs)
        self._rewrite = rewrite

    def step(self, actions: np.ndarray) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observation, reward, terminated, truncated, infos = super().step(actions)
        self._rewrite(len(self.actions), observation, reward, infos)
        return observation, reward, terminated, truncated, infos


def build(env: CountingVectorEnv) -> Stepper:
    stepper = Stepper(env, CountingPolicy(), device=CPU)
    stepper.reset(seed=3)
    return stepper


def run(stepper: Stepper, n_steps: int) -> None:
    for _ in range(n_steps):
        stepper.step(torch.zeros(stepper.env.num_envs, dtype=torch.int64))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_reward_that_is_not_finite_stops_the_run_by_name(value: float) -> None:
    def pay(env_index: int, episode: int, step: int) -> float:
        return value if (env_index, step) == (2, 4) else 1.0

    stepper = build(CountingVectorEnv([9, 9, 9, 9], reward=pay))
    run(stepper, 4)
    with pytest.raises(EnvironmentFailedError) as failure:
        run(stepper, 1)
    text = str(failure.value)
    for part in ("environment 2 of Counting-v0", "reward", "vector step 5", str(value)):
        assert part in text


def test_an_observation_that_is_not_finite_stops_the_run_by_name() -> None:
    def spoil(n: int, observation: Any, reward: Any, infos: Any) -> None:
        if n == 3:
            observation[1, 2] = np.nan

    stepper = build(Rewritten([9, 9], spoil))
    run(stepper, 2)
    with pytest.raises(EnvironmentFailedError, match=r"environment 1 .* observation .* step 3"):
        run(stepper, 1)


def test_the_part_of_a_dict_is_named() -> None:
    def spoil(n: int, observation: Any, reward: Any, infos: Any) -> None:
        observation["when"][0, 1] = np.inf

    with pytest.raises(EnvironmentFailedError, match=r"environment 0 .* observation\['when'\]"):
        run(build(Rewritten([9, 9], spoil, as_dict=True)), 1)


def test_a_first_observation_that_is_not_finite_is_refused() -> None:
    env = CountingVectorEnv([9, 9])
    stepper = Stepper(env, CountingPolicy(), device=CPU)
    with pytest.raises(EnvironmentFailedError, match="environment 1"):
        stepper.take(np.array([[0.0, 0, 0], [np.nan, 0, 0]], dtype=np.float32))


@pytest.mark.parametrize(("env_index", "is_refused"), [(0, False), (1, True)])
def test_only_the_end_of_a_truncated_episode_must_be_finite(
    env_index: int, is_refused: bool
) -> None:
    def spoil(n: int, observation: Any, reward: Any, infos: Any) -> None:
        if "final_obs" in infos:
            infos["final_obs"][env_index] = np.nan

    stepper = build(Rewritten([2, 2, 9], spoil, ends=["terminated", "truncated", "truncated"]))
    if not is_refused:
        run(stepper, 3)
        return
    with pytest.raises(EnvironmentFailedError, match=r"environment 1 .* final observation"):
        run(stepper, 3)


def test_episodes_are_those_of_the_unwrapped_environment() -> None:
    def report(n: int, observation: Any, reward: Any, infos: Any) -> None:
        infos["raw_reward"] = reward * 100
        infos["episode_over"] = np.array([n == 4, False])

    stepper = build(Rewritten([2, 2], report))
    outcomes = [stepper.step(torch.zeros(2, dtype=torch.int64)) for _ in range(4)]
    # The learner's episode ends at step 2 with a reward of 1 each; the game's at step 4.
    assert [outcome.finished is None for outcome in outcomes] == [True, True, True, False]
    assert outcomes[1].terminated.all()
    assert outcomes[3].reward.tolist() == [1.0, 1.0]
    assert outcomes[3].finished.returns.tolist() == [400.0]
    assert outcomes[3].finished.lengths.tolist() == [4]


def test_environments_get_their_own_kind_of_actions() -> None:
    env = CountingVectorEnv([9, 9, 9], action_space=gym.spaces.Discrete(3, start=-1))
    stepper = build(env)
    action = torch.tensor([0, 1, 2])
    stepper.step(action)
    assert env.actions[0].tolist() == [-1, 0, 1]
    assert action.tolist() == [0, 1, 2]


def test_an_action_that_is_no_number_is_the_policys_fault() -> None:
    box = gym.spaces.Box(-1.0, 1.0, (2,))
    env = CountingVectorEnv([9, 9], action_space=box)
    stepper = build(env)
    stepper.step(torch.zeros(2, 2))
    broken = torch.tensor([[0.5, 0.5], [0.5, torch.nan]])
    with pytest.raises(DivergedError, match=r"chose \[0.5 nan\] for environment 1 .* step 2"):
        stepper.step(broken)
    assert len(env.actions) == 1


def test_reset_passes_the_seed_on_and_forgets_running_episodes() -> None:
    env = CountingVectorEnv([3, 3])
    stepper = build(env)
    run(stepper, 2)
    stepper.reset()
    assert env.seeds == [3, None]
    run(stepper, 2)
    assert not stepper.tracker.window_returns
    run(stepper, 1)
    assert list(stepper.tracker.window_returns) == [3.0, 3.0]


def test_there_is_no_observation_before_the_first_reset() -> None:
    stepper = Stepper(CountingVectorEnv([2]), CountingPolicy(), device=CPU)
    assert not stepper.has_started
    with pytest.raises(AssertionError, match="reset"):
        _ = stepper.observation


def test_no_float64_leaves_for_a_device() -> None:
    with pytest.raises(AssertionError, match="float32"):
        to_tensors({"a": np.zeros((2, 1))}, CPU)
    tensors = to_tensors({"a": np.zeros((2, 1), np.float32), "b": np.zeros(2, np.int64)}, CPU)
    assert (tensors["a"].dtype, tensors["b"].dtype) == (torch.float32, torch.int64)
