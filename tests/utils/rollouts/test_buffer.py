from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from utils.distributions import Bernoulli, Categorical, DiagonalNormal, MultiCategorical
from utils.distributions.protocol import ActionDistribution
from utils.rollouts import RolloutBuffer

CPU = torch.device("cpu")
VECTOR = gym.spaces.Box(-1, 1, (2,))


def build(
    space: gym.Space = VECTOR,
    distribution: ActionDistribution = Categorical(9),  # noqa: B008 - frozen
    n_steps: int = 3,
    n_envs: int = 2,
) -> RolloutBuffer:
    return RolloutBuffer(
        n_steps=n_steps, n_envs=n_envs, observation_space=space, distribution=distribution
    )


def number(t: int) -> torch.Tensor:
    """Number of step t of environments 0 and 1: t and 10 + t."""
    return torch.tensor([t, 10 + t])


def fill(buffer: RolloutBuffer, n_steps: int = 3) -> None:
    buffer.begin(n_steps)
    for t in range(n_steps):
        buffer.write_observation(t, number(t).unsqueeze(1).expand(2, 2).float())
        buffer.write_decision(t, number(t).numpy(), -number(t) / 2, number(t) / 4)
        buffer.write_reward(t, number(t).numpy() * 8.0)
        if t > 0:
            buffer.write_ends(t, np.array([t == 1, False]), np.array([False, t == 2]))


def finish(buffer: RolloutBuffer) -> None:
    numbers = torch.stack([number(t) for t in range(buffer.n_steps)]).float()
    buffer.finish(advantage=numbers * 3, returns=numbers * 5, device=CPU)


def test_samples_are_env_major_and_their_fields_belong_together() -> None:
    buffer = build()
    fill(buffer)
    finish(buffer)
    expected = torch.tensor([0.0, 1, 2, 10, 11, 12])
    samples = buffer.samples
    assert buffer.n_samples == 6
    assert torch.equal(samples.observation, expected.unsqueeze(1).expand(6, 2))
    assert torch.equal(samples.action, expected.long())
    assert torch.equal(samples.old_logprob, -expected / 2)
    assert torch.equal(samples.old_value, expected / 4)
    assert torch.equal(samples.advantage, expected * 3)
    assert torch.equal(samples.returns, expected * 5)


def test_outcomes_are_kept_apart() -> None:
    buffer = build()
    fill(buffer)
    assert buffer.reward.tolist() == [[0, 80], [8, 88], [16, 96]]
    assert buffer.terminated.tolist() == [[False, False], [True, False], [False, False]]
    assert buffer.truncated.tolist() == [[False, False], [False, False], [False, True]]
    assert buffer.done.tolist() == [[False, False], [True, False], [False, True]]


def test_a_row_whose_ends_are_not_written_has_none_whatever_the_last_rollout_had() -> None:
    buffer = build()
    fill(buffer)
    assert buffer.done.any()
    buffer.begin(3)
    assert not buffer.done.any()


def test_gather_picks_by_index_and_may_repeat() -> None:
    buffer = build()
    fill(buffer)
    finish(buffer)
    picked = buffer.gather(torch.tensor([4, 0, 4]))
    assert picked.action.tolist() == [11, 0, 11]
    assert picked.observation[:, 0].tolist() == [11, 0, 11]
    assert picked.old_logprob.tolist() == [-5.5, 0, -5.5]
    assert picked.old_value.tolist() == [2.75, 0, 2.75]
    assert picked.advantage.tolist() == [33, 0, 33]
    assert picked.returns.tolist() == [55, 0, 55]


def test_invalid_samples_are_left_out() -> None:
    buffer = build()
    fill(buffer)
    buffer.is_valid[1:, 0] = False
    finish(buffer)
    assert buffer.samples.action.tolist() == [0, 10, 11, 12]
    assert buffer.samples.returns.tolist() == [0, 50, 55, 60]
    fill(buffer)
    finish(buffer)
    assert buffer.n_samples == 6


def test_a_shorter_rollout_leaves_older_rows_out() -> None:
    buffer = build()
    fill(buffer)
    buffer.begin(3)
    fill(buffer, n_steps=2)
    buffer.shorten(1)
    assert buffer.rows(buffer.reward).tolist() == [[0, 80]]
    finish(buffer)
    assert buffer.samples.action.tolist() == [0, 10]


def test_an_observation_is_stored_as_an_array_or_a_tensor_alike() -> None:
    buffer = build()
    buffer.begin(2)
    observation = np.array([[0.5, -1.5], [2.5, 3.5]], np.float32)
    buffer.write_observation(0, observation)
    buffer.write_observation(1, torch.from_numpy(observation.copy()))
    assert buffer.observation[:2].tolist() == [observation.tolist()] * 2
    observation.fill(99)
    assert buffer.observation[0, 0].tolist() == [0.5, -1.5]


def test_stored_rows_do_not_follow_the_arrays_they_came_from() -> None:
    buffer = build()
    buffer.begin(1)
    observation, action = torch.full((2, 2), 0.5), torch.tensor([1, 2])
    logprob, value = torch.tensor([-1.0, -2.0]), torch.tensor([3.0, 4.0])
    reward, ended = np.array([5.0, 6.0]), np.array([True, False])
    buffer.write_observation(0, observation)
    buffer.write_decision(0, action.numpy(), logprob, value)
    buffer.write_reward(0, reward)
    buffer.write_ends(0, ended, ~ended)
    for tensor in (observation, action, logprob, value):
        tensor.fill_(99)
    reward.fill(99)
    ended[:] = [False, True]
    assert buffer.observation[0].unique().tolist() == [0.5]
    assert buffer.action[0].tolist() == [1, 2]
    assert buffer.logprob[0].tolist() == [-1, -2]
    assert buffer.value[0].tolist() == [3, 4]
    assert buffer.reward[0].tolist() == [5, 6]
    assert buffer.terminated[0].tolist() == [True, False]


def test_dict_observations_in_sorted_order() -> None:
    space = gym.spaces.Dict(
        [("b", gym.spaces.Box(0, 255, (1, 4, 4), np.uint8)), ("a", gym.spaces.Discrete(50))]
    )
    buffer = build(space)
    buffer.begin(3)
    for t in range(3):
        picture = number(t).to(torch.uint8).reshape(2, 1, 1, 1).expand(2, 1, 4, 4)
        buffer.write_observation(t, {"a": number(t), "b": picture})
    assert list(buffer.observation) == ["a", "b"]
    assert buffer.observation_at(1)["a"].tolist() == [1, 11]
    finish(buffer)
    picked = buffer.gather(torch.tensor([5, 1])).observation
    assert picked["a"].tolist() == [12, 1]
    assert picked["b"].dtype == torch.uint8
    assert picked["b"].shape == (2, 1, 4, 4)
    assert picked["b"][:, 0, 0, 0].tolist() == [12, 1]


@pytest.mark.parametrize(
    ("space", "shape", "dtype"),
    [
        (gym.spaces.Discrete(500), (3, 2), torch.int64),
        (gym.spaces.MultiDiscrete([4, 2]), (3, 2, 2), torch.int64),
        (gym.spaces.Box(0, 255, (3, 40, 60), np.uint8), (3, 2, 3, 40, 60), torch.uint8),
        (gym.spaces.Box(-1, 1, (4,), np.float64), (3, 2, 4), torch.float32),
    ],
)
def test_observations_are_stored_as_small_as_they_come(
    space: gym.Space, shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    observation = build(space).observation
    assert observation.shape == shape
    assert observation.dtype == dtype


@pytest.mark.parametrize(
    ("distribution", "shape", "dtype"),
    [
        (Categorical(3), (3, 2), torch.int64),
        (MultiCategorical((3, 2)), (3, 2, 2), torch.int64),
        (Bernoulli(5), (3, 2, 5), torch.int64),
        (DiagonalNormal((2, 3)), (3, 2, 2, 3), torch.float32),
    ],
)
def test_actions_are_stored_as_the_policy_draws_them(
    distribution: ActionDistribution, shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    action = build(distribution=distribution).action
    assert action.shape == shape
    assert action.dtype == dtype


def test_use_in_the_wrong_order_is_refused() -> None:
    buffer = build()
    with pytest.raises(AssertionError, match="finish"):
        _ = buffer.samples
    with pytest.raises(AssertionError):
        buffer.begin(4)
    with pytest.raises(AssertionError):
        buffer.finish(advantage=torch.zeros(2, 3), returns=torch.zeros(2, 3), device=CPU)
    fill(buffer)
    finish(buffer)
    buffer.begin(3)
    with pytest.raises(AssertionError, match="finish"):
        _ = buffer.n_samples


class OneDevice(TorchFunctionMode):
    """Refuses to pick rows of one device by indices of another, as CUDA does and meta does not."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.Tensor.index_select:
            assert args[0].device == args[2].device, (args[0].device, args[2].device)
        return func(*args, **(kwargs or {}))


def test_invalid_samples_are_left_out_where_observations_lie_on_a_device() -> None:
    elsewhere = torch.device("meta")
    buffer = RolloutBuffer(
        n_steps=3,
        n_envs=2,
        observation_space=VECTOR,
        distribution=Categorical(9),
        observation_device=elsewhere,
    )
    fill(buffer)
    buffer.is_valid[2, 0] = False
    numbers = torch.zeros(3, 2)
    with OneDevice():
        buffer.finish(advantage=numbers, returns=numbers, device=elsewhere)
    assert buffer.samples.observation.shape == (5, 2)
    assert {field.device for field in buffer.samples[:6]} == {elsewhere}
