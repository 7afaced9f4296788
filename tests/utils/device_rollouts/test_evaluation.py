"""The evaluation on a device judges as the ordinary one does."""

import pytest
import torch

from gym_envs.torch_envs import TorchVectorEnv
from tests.helpers.policies import build_linear_policy
from utils.device_rollouts import evaluate_on_device
from utils.rollouts import evaluate_policy

CPU = torch.device("cpu")


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "MountainCarContinuous-v0"])
@pytest.mark.parametrize("changes", [{}, {"deterministic": False}, {"max_episode_steps": 12}])
def test_both_evaluations_find_the_same_episodes(env_id, changes):
    env = TorchVectorEnv(env_id, 4, max_episode_steps=40)
    policy = build_linear_policy(env, hidden_dims=(8,), normalize_obs="rolling")
    policy.normalizer.update(torch.randn(50, *env.single_observation_space.shape))
    arguments = {
        "n_episodes": 10,
        "seed": 7,
        "deterministic": True,
        "device": CPU,
        "timeout_seconds": 60.0,
        **changes,
    }
    expected = evaluate_policy(policy, env, **arguments)
    result = evaluate_on_device(policy, env, **arguments)
    assert result.lengths == expected.lengths
    assert result.returns == pytest.approx(expected.returns, rel=1e-9)
    assert result.n_unfinished == expected.n_unfinished
    assert (result.seed, result.is_deterministic) == (7, arguments["deterministic"])
    assert bool(result.lengths) or changes == {"max_episode_steps": 12}


def test_what_is_not_finished_in_time_is_told():
    env = TorchVectorEnv("Pendulum-v1", 2)
    policy = build_linear_policy(env)
    result = evaluate_on_device(
        policy,
        env,
        n_episodes=4,
        seed=0,
        deterministic=True,
        device=CPU,
        timeout_seconds=0.0,
    )
    assert (result.returns, result.n_unfinished, result.mean) == ([], 4, None)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("deterministic", [True, False])
def test_both_evaluations_find_the_same_episodes_on_cuda(deterministic):
    device = torch.device("cuda")
    env = TorchVectorEnv("CartPole-v1", 50, device=device)
    policy = build_linear_policy(env, hidden_dims=(8,)).to(device)
    arguments = {
        "n_episodes": 100,
        "seed": 7,
        "deterministic": deterministic,
        "device": device,
        "timeout_seconds": 60.0,
    }
    expected = evaluate_policy(policy, env, **arguments)
    result = evaluate_on_device(policy, env, **arguments)
    assert result.lengths == expected.lengths
    assert result.returns == expected.returns
