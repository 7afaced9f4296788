"""The collector on a device writes what the ordinary one writes, step for step."""

import copy

import pytest
import torch

from gym_envs.torch_envs import TorchVectorEnv
from tests.helpers.policies import build_linear_policy
from tests.helpers.refuse_reading import RefuseReading
from utils.device_rollouts import (
    DeviceCollector,
    EpisodeSums,
    TensorActionAdapter,
    allocate_device_buffer,
)
from utils.rollouts import Collector, RolloutBuffer
from utils.spaces import ActionAdapter

CPU = torch.device("cpu")
N_STEPS, N_ENVS = 40, 6


def make_env(env_id, *, max_episode_steps=15):
    env = TorchVectorEnv(env_id, N_ENVS, max_episode_steps=max_episode_steps)
    env.reset(seed=5)
    return env


def generator(seed=3):
    return torch.Generator().manual_seed(seed)


def make_policy(env, **changes):
    return build_linear_policy(env, hidden_dims=(8, 8), **changes)


def device_rollout(env, policy, n_rollouts=2):
    buffer = allocate_device_buffer(env, n_steps=N_STEPS, device=CPU)
    collector = DeviceCollector(env, policy, buffer, generator=generator())
    for _ in range(n_rollouts):
        collector.collect()
    return buffer


@pytest.mark.parametrize("normalize_obs", ["none", "rolling", "static"])
@pytest.mark.parametrize(
    "env_id", ["CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"]
)
def test_both_collectors_fill_the_same_buffer(env_id, normalize_obs):
    env, other = make_env(env_id), make_env(env_id)
    policy = make_policy(env, normalize_obs=normalize_obs)
    twin = copy.deepcopy(policy)
    ours = device_rollout(env, policy)
    expected = RolloutBuffer(
        n_steps=N_STEPS,
        n_envs=N_ENVS,
        observation_space=env.single_observation_space,
        distribution=policy.distribution,
    )
    collector = Collector(other, twin, device=CPU, generator=generator())
    collector.reset(seed=5)
    for _ in range(2):
        summary = collector.collect(expected, n_steps=N_STEPS)
    for name in ("observation", "action", "logprob", "value", "reward"):
        assert getattr(ours, name).equal(getattr(expected, name)), name
    assert ours.terminated.equal(expected.terminated)
    assert ours.truncated.equal(expected.truncated)
    assert bool(ours.truncated.any())
    # The value of many rows at once is rounded otherwise.
    torch.testing.assert_close(ours.next_value, expected.next_value, rtol=1e-5, atol=1e-6)
    assert ours.episode_return[ours.done].tolist() == pytest.approx(summary.last_returns)


def test_next_value_looks_past_a_time_limit_but_not_past_an_end():
    env = make_env("CartPole-v1")
    policy = make_policy(env)
    buffer = device_rollout(env, policy)
    with torch.no_grad():
        final = policy.predict_value(buffer.final_observation.flatten(0, 1)).view(N_STEPS, N_ENVS)
    torch.testing.assert_close(buffer.next_value[buffer.truncated], final[buffer.truncated])
    goes_on = ~buffer.done
    torch.testing.assert_close(buffer.next_value[goes_on], final[goes_on])
    assert buffer.next_value[:-1].equal(
        torch.where(buffer.truncated[:-1], final[:-1], buffer.value[1:])
    )
    assert bool((buffer.next_value - final)[buffer.terminated].abs().max() > 1e-3)


def test_nothing_is_read_back():
    env = make_env("CartPole-v1")
    env._begin_episodes = env._begin_everywhere  # as on other devices
    policy = make_policy(env)
    with RefuseReading():
        device_rollout(env, policy)
    assert int(env.episode.min()) > 0
    with pytest.raises(AssertionError, match="_local_scalar_dense"), RefuseReading():
        bool(env.episode.min() > 0)


def test_episode_sums_count_what_ended_in_the_rollout():
    env = make_env("CartPole-v1")
    policy = make_policy(env)
    buffer = device_rollout(env, policy, n_rollouts=1)
    returns = buffer.episode_return[buffer.done]
    sums = EpisodeSums(CPU)
    sums.add(buffer)
    sums.add(buffer)
    totals = sums.read()
    assert totals.n_episodes == 2 * len(returns) > 0
    assert totals.return_sum == pytest.approx(2 * float(returns.sum()))
    assert (totals.return_min, totals.return_max) == (float(returns.min()), float(returns.max()))
    assert totals.length_sum == totals.return_sum  # CartPole pays one a step
    sums.clear()
    assert sums.read() == (0, 0.0, float("inf"), float("-inf"), 0.0)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "MountainCarContinuous-v0", "Pendulum-v1"])
def test_actions_are_adapted_as_for_other_environments(env_id):
    env = make_env(env_id)
    space = env.single_action_space
    if env.spec_of_physics.n_actions:
        actions = torch.tensor([0, 1, 1])
    else:
        actions = torch.tensor([[-3.0], [0.25], [3.0]])
    ours = TensorActionAdapter(space, device=CPU).to_env(actions)
    assert ours.numpy().tolist() == ActionAdapter(space).to_env(actions.numpy()).tolist()
