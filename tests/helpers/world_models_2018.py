"""World Models, small enough for a test."""

from __future__ import annotations

from typing import Any

from agents.world_models.world_models_agent import WorldModelsAgent
from tests.helpers.agents import make_agent

COLLECT = {
    "name": "collect",
    "type": "online",
    "hooks": ["collect"],
    "duration": {"timesteps": 80},
}
SEE = {"name": "see", "type": "offline", "hooks": ["update_vae"], "duration": {"updates": 4}}
REMEMBER = {
    "name": "remember",
    "type": "offline",
    "hooks": ["update_rnn"],
    "duration": {"updates": 4},
}
DREAM = {"name": "dream", "type": "offline", "hooks": ["evolve"], "duration": {"updates": 3}}
PLAY = {
    "name": "play",
    "type": "online",
    "hooks": ["collect", "evolve"],
    "duration": {"updates": 2},
}
SMALL: dict[str, Any] = {
    "phases": [COLLECT, SEE, REMEMBER, DREAM],
    "max_timesteps": 5000,
    "policy_lr": 1e-3,
    "policy_kwargs": {"latents": 3, "depth": 2, "units": 5, "mixtures": 2},
    "steps_per_epoch": 20,
    "updates_per_epoch": 2,
    "vae_batch_size": 4,
    "rnn_batch_size": 2,
    "sequence_length": 6,
    "buffer_steps": 200,
    "held_steps": [1, 4],
    "population": 4,
    "episodes_per_candidate": 2,
    "evolve_max_steps": 8,
    "sigma": 0.5,
    "eval_episodes": 2,
    "eval_n_envs": 2,
}


def make_world_models(env_id: str = "Spotlight-v0", **changes: Any) -> WorldModelsAgent:
    """Build a small agent of two environments: 2 + 2 + 2 + 3 epochs in its four phases."""
    kwargs = SMALL["policy_kwargs"] | changes.pop("policy_kwargs", {})
    settings = {**SMALL, "policy_kwargs": kwargs, **changes}
    agent = make_agent(env_id, algo_id="world_models", **settings)
    assert isinstance(agent, WorldModelsAgent), type(agent)
    return agent
