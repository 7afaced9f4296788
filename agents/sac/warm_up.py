"""Compile before training, not in it: one tiny update that leaves no trace."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch

from agents.replay_warm_up import fill_tiny
from agents.sac.sac_compiled import CompiledSAC
from utils.compiled.stoppable_compiler import stoppable_compiler

if TYPE_CHECKING:
    from agents.sac.sac_agent import SACAgent


def warm_up_compiled(agent: SACAgent) -> None:
    """Call what a compiled agent calls, on networks and a buffer of zeros of its own."""
    config = agent.config
    parts = {
        "policy": copy.deepcopy(agent.policy),
        "critic": copy.deepcopy(agent.critic),
        "temperature": copy.deepcopy(agent.temperature),
    }
    optimizers = {name: agent.new_optimizer(parts[name].parameters()) for name in agent.optimizers}
    with stoppable_compiler():
        compiled = CompiledSAC(
            target=copy.deepcopy(agent.target),
            config=config,
            optimizers=optimizers,
            target_entropy=agent.target_entropy,
            **parts,
        )
        buffer = fill_tiny(agent.source.buffer)
        beta = 1.0 if config.prioritized_replay else None
        batch = buffer.sample(config.batch_size, generator=torch.Generator(), beta=beta)
        noise = torch.zeros((1, 2, config.batch_size, agent.policy.scale.size))
        _, errors = compiled.update(batch, noise, hyperparameters=agent.hyperparameters)
        if config.prioritized_replay:
            buffer.update_priorities(batch.index, errors)
