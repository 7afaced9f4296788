"""Compile before training, not in it: one tiny update that leaves no trace."""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import torch

from agents.dqn.dqn_compiled import CompiledDQN
from utils.buffers import TransitionBuffer
from utils.compiled.stoppable_compiler import stoppable_compiler
from utils.optimization import build_optimizer

if TYPE_CHECKING:
    from agents.dqn.dqn_agent import DQNAgent


def warm_up_compiled(agent: DQNAgent) -> None:
    """Call what a compiled agent calls, on weights and a buffer of zeros of its own."""
    config = agent.config
    policy, target = copy.deepcopy(agent.policy), copy.deepcopy(agent.target)
    optimizer = build_optimizer(
        config.optimizer, policy.parameters(), lr=0.0, kwargs=config.optimizer_kwargs
    )
    with stoppable_compiler():
        compiled = CompiledDQN(policy, target, config, optimizer=optimizer)
        buffer = _fill_tiny(agent.source.buffer)
        generator = torch.Generator()
        beta = 1.0 if config.prioritized_replay else None
        batch = buffer.sample(config.batch_size, generator=generator, beta=beta)
        _, errors = compiled.update(batch, hyperparameters=agent.hyperparameters)
        if config.prioritized_replay:
            buffer.update_priorities(batch.index, errors)
        compiled.choose_best(batch.observation, None)


def _fill_tiny(buffer: TransitionBuffer) -> TransitionBuffer:
    """Return a buffer like another with two vector steps of zeros, the second one an end."""
    layout = dataclasses.replace(buffer.layout, capacity=4 * buffer.layout.n_envs)
    tiny = TransitionBuffer(layout, n_step=buffer.n_step, gamma=buffer.gamma)
    n, space = layout.n_envs, layout.observation_space
    shown = np.zeros((n, *space.shape), dtype=space.dtype)
    action = torch.zeros((n, *layout.action_shape), dtype=layout.action_dtype)
    tiny.begin(shown)
    for is_end in (False, True):
        tiny.add(
            action=action,
            reward=np.zeros(n),
            terminated=np.full(n, is_end),
            truncated=np.zeros(n, dtype=bool),
            next_observation=shown,
            final_observation=shown if is_end else None,
        )
    return tiny
