"""Algorithms as LightningModules; `build_agent` finds the one that a config names."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.base_agent import BaseAgent

# Imported on demand, so that naming an algorithm does not load the others.
AGENTS = {
    "ppo": "agents.ppo.ppo_agent:PPOAgent",
    "reinforce": "agents.reinforce.reinforce_agent:REINFORCEAgent",
    "dqn": "agents.dqn.dqn_agent:DQNAgent",
    "q_learning": "agents.q_learning.q_learning_agent:QLearningAgent",
    "random": "agents.random.random_agent:RandomAgent",
    "sac": "agents.sac.sac_agent:SACAgent",
    "brax": "agents.brax.brax_agent:BraxAgent",
    "sb3": "agents.sb3.sb3_agent:SB3Agent",
    "td3": "agents.td3.td3_agent:TD3Agent",
    "tdmpc": "agents.tdmpc.tdmpc_agent:TDMPCAgent",
    "dreamer": "agents.dreamer.dreamer_agent:DreamerAgent",
    "planet": "agents.planet.planet_agent:PlanetAgent",
    "bc": "agents.bc.bc_agent:BCAgent",
    "diffusion": "agents.diffusion.diffusion_agent:DiffusionAgent",
    "world_models": "agents.world_models.world_models_agent:WorldModelsAgent",
}


def agent_class(algo_id: str) -> type[BaseAgent]:
    """Import and return the agent of an algorithm."""
    assert algo_id in AGENTS, (algo_id, sorted(AGENTS))
    module, name = AGENTS[algo_id].split(":")
    return getattr(import_module(module), name)


def build_agent(config: Any, *, run: Any = None, team: Any = None) -> BaseAgent:
    """Build the agent that `config.algo_id` names, with its environments and networks.

    Args:
        config: A frozen config.
        run: The run folder to write to, or None.
        team: The processes that train it together; None for one alone.
    """
    together = {} if team is None else {"team": team}
    return agent_class(config.algo_id)(config, run=run, **together)
