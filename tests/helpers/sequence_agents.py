"""Agents that learn from sequences, small enough for a test."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from agents.base_agent import hyperparameters_at
from agents.sequence_agent import SequenceAgent
from tests.helpers.agents import begin, make_agent

ECHO = "tests.helpers.echo_env:Echo-v0"
SHAPE = {
    "deter": 16,
    "hidden": 8,
    "choices": 3,
    "units": 8,
    "encoder_layers": 1,
    "decoder_layers": 1,
}
SMALL = {
    "batch_size": 2,
    "sequence_length": 6,
    "train_ratio": 12.0,
    "buffer_steps": 400,
    "steps_per_epoch": 10,
    "learning_starts_timesteps": 0,
    "lr_warmup_updates": 0,
    "max_timesteps": 1000,
}


def make_dreamer(env_id: str = ECHO, **changes: Any) -> SequenceAgent:
    """Build a small Dreamer of two environments with an update of 2 x 6 for each timestep."""
    shape = {**SHAPE, "actor_layers": 1, "critic_layers": 1}
    if changes.get("version", 3) == 3:
        shape |= {"classes": 4, "blocks": 4}
    elif changes["version"] == 2:
        shape |= {"classes": 4}
    shape |= changes.pop("policy_kwargs", {})
    settings = {**SMALL, "imagination_horizon": 3, "policy_kwargs": shape, **changes}
    return make_agent(env_id, algo_id="dreamer", **settings)


def make_planet(env_id: str = "Pendulum-v1", **changes: Any) -> SequenceAgent:
    """Build a small PlaNet of two environments with an update of 2 x 6 for each timestep."""
    planning = {
        "planning_horizon": 3,
        "planning_iterations": 2,
        "planning_candidates": 8,
        "planning_elites": 3,
    }
    shape = SHAPE | changes.pop("policy_kwargs", {})
    settings = {**SMALL, **planning, "policy_kwargs": shape, **changes}
    return make_agent(env_id, algo_id="planet", **settings)


def make_sequence_agent(algo_id: str, **changes: Any) -> SequenceAgent:
    """Build a small agent by the name of its algorithm."""
    return {"dreamer": make_dreamer, "planet": make_planet}[algo_id](**changes)


def fill(agent: SequenceAgent, n_vec_steps: int = 40, *, is_random: bool = True) -> None:
    """Begin, and collect without learning."""
    if not agent.source.has_started:
        begin(agent)
    agent.hyperparameters |= hyperparameters_at(agent.config, timesteps=0)
    collector = agent.source.collector
    collector.collect(n_vec_steps, is_random=is_random, write=agent.source._write)


def learn_once(agent: SequenceAgent) -> dict[str, Tensor]:
    """Make one update with a batch of the buffer; return what it says."""
    agent.set_rates()
    return agent.learn_from_sequences(agent.prepare(agent.source.sample())).metrics


def gradients_of(module: torch.nn.Module) -> list[Tensor]:
    """Return copies of what the parameters hold."""
    return [p.grad.clone() for p in module.parameters() if p.grad is not None]
