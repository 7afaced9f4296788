"""Compile before training, not in it: a tiny update or a choice that leaves no trace."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch

from agents.dqn.dqn_compiled import CompiledDQN
from agents.replay_warm_up import fill_tiny
from utils.compiled.stoppable_compiler import stoppable_compiler
from utils.optimization import build_optimizer

if TYPE_CHECKING:
    from agents.dqn.dqn_agent import DQNAgent
    from agents.dqn.host_choices import HostChoices


def warm_up_compiled(agent: DQNAgent) -> None:
    """Call what a compiled agent calls, on weights and a buffer of zeros of its own."""
    config = agent.config
    policy, target = copy.deepcopy(agent.policy), copy.deepcopy(agent.target)
    optimizer = build_optimizer(
        config.optimizer, policy.parameters(), lr=0.0, kwargs=config.optimizer_kwargs
    )
    with stoppable_compiler():
        compiled = CompiledDQN(policy, target, config, optimizer=optimizer)
        buffer = fill_tiny(agent.source.buffer)
        generator = torch.Generator()
        beta = 1.0 if config.prioritized_replay else None
        batch = buffer.sample(config.batch_size, generator=generator, beta=beta)
        _, errors = compiled.update(batch, hyperparameters=agent.hyperparameters)
        if config.prioritized_replay:
            buffer.update_priorities(batch.index, errors)
        compiled.choose_best(batch.observation, None)


def warm_up_choices(agent: DQNAgent, choices: HostChoices) -> None:
    """Let the host choose for observations of zeros, by the weights that are there now."""
    env = agent.train_env
    shape = env.single_observation_space.shape
    assert shape is not None, env.single_observation_space
    with stoppable_compiler():
        choices.choose_best(torch.zeros((env.num_envs, *shape)))
