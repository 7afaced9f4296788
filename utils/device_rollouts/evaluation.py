"""Judge a policy by whole episodes on its own device."""

from __future__ import annotations

import time

import torch

from utils.device_rollouts.collector import TensorActionAdapter, TensorEnv
from utils.policy_factory import ActorCritic
from utils.rollouts import EpisodeLedger, EpisodeTracker, EvaluationResult

# Rewards and ends of so many steps are read back at once: each reading waits for the device.
_STEPS_BETWEEN_READINGS = 50


@torch.inference_mode()
def evaluate_on_device(
    policy: ActorCritic,
    env: TensorEnv,
    *,
    n_episodes: int,
    seed: int,
    deterministic: bool,
    device: torch.device,
    timeout_seconds: float,
    max_episode_steps: int | None = None,
) -> EvaluationResult:
    """Play whole episodes as `evaluate_policy` does, without an array leaving the device meanwhile.

    Arguments and result are those of `evaluate_policy`; the environment may go some steps further
    than the last episode that counts.
    """
    generator = torch.Generator(device=device)
    generator.manual_seed(seed)
    adapter = TensorActionAdapter(env.single_action_space, device=device)
    ledger = EpisodeLedger(n_episodes, env.num_envs, max_episode_steps=max_episode_steps)
    tracker = EpisodeTracker(env.num_envs)
    rewards = torch.zeros((_STEPS_BETWEEN_READINGS, env.num_envs), device=device)
    ends = torch.zeros_like(rewards, dtype=torch.bool)
    started = time.perf_counter()
    observation = env.reset_tensors(seed=seed)
    while not ledger.is_full and time.perf_counter() - started < timeout_seconds:
        for t in range(_STEPS_BETWEEN_READINGS):
            seen = policy.normalize(observation)
            decision = policy.act(seen, generator=generator, deterministic=deterministic)
            step = env.step_tensors(adapter.to_env(decision.action))
            rewards[t] = step.reward
            torch.logical_or(step.terminated, step.truncated, out=ends[t])
            observation = step.observation
        for reward, end in zip(rewards.double().cpu().numpy(), ends.cpu().numpy(), strict=True):
            ledger.take_step(tracker.update(reward, end))
    return ledger.result(
        seconds=time.perf_counter() - started, seed=seed, deterministic=deterministic
    )
