"""Compile before training, not in it: one tiny rollout and update that leave no trace."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from agents.rollout_setup import build_rollout_buffer
from utils.compiled.returns import compiled_generalized_advantage
from utils.config import PPOConfig
from utils.dataloaders import UpdateBatch
from utils.optimization import build_optimizer
from utils.policy_factory import ActorCritic
from utils.rollouts import RolloutBuffer
from utils.rollouts.compiled_collector import CompiledCollector

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

_N_STEPS = 2


def warm_up_rollouts(env: VectorEnv, policy: ActorCritic) -> None:
    """Call what a `CompiledCollector` of these calls, on environments and weights of its own."""
    from gym_envs.simd import SimdVectorEnv

    # An axis of length 1 has another memory layout for the compiler than a longer one.
    tiny = SimdVectorEnv(env.env_id, min(env.num_envs, 2), copy=False)
    generator = torch.Generator()
    collector = CompiledCollector(
        tiny, copy.deepcopy(policy), device=torch.device("cpu"), generator=generator, seed=0
    )
    collector.reset(seed=0)
    collector.collect(build_rollout_buffer(tiny, policy, n_steps=_N_STEPS), n_steps=_N_STEPS)
    tiny.set_state(tiny.get_state())  # a resumed run does


def warm_up_update(
    env: VectorEnv,
    policy: ActorCritic,
    config: PPOConfig,
    *,
    hyperparameters: Mapping[str, float],
) -> None:
    """Call what compiled returns and updates of these call, on weights and zeros of its own."""
    from agents.ppo.ppo_compiled import PPOCompiledUpdate

    twin = copy.deepcopy(policy)
    optimizer = build_optimizer(
        config.optimizer,
        twin.parameters(),
        lr=hyperparameters["policy_lr"],
        kwargs=config.optimizer_kwargs,
    )
    buffer = RolloutBuffer(
        n_steps=_N_STEPS,
        n_envs=min(env.num_envs, 2),
        observation_space=env.single_observation_space,
        distribution=policy.distribution,
    )
    buffer.begin(_N_STEPS)
    advantage, returns = compiled_generalized_advantage(
        reward=buffer.reward,
        value=buffer.value,
        next_value=buffer.next_value,
        terminated=buffer.terminated,
        done=buffer.done,
        gamma=hyperparameters["gamma"],
        gae_lambda=hyperparameters["gae_lambda"],
    )
    buffer.finish(advantage=advantage, returns=returns, device=torch.device("cpu"))
    batch = UpdateBatch("update", torch.arange(buffer.n_samples)[None], buffer)
    PPOCompiledUpdate(twin, config).update(batch, hyperparameters, optimizer=optimizer)
