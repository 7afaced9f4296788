"""Which loop carries out the iterations of an agent whose environment is tensors."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from agents.ppo.device_loop import DeviceLoop
from agents.ppo.eager_loop import EagerLoop
from agents.ppo.fused.availability import why_not as why_not_fused
from agents.ppo.graph_loop import GraphLoop, why_not_graph

if TYPE_CHECKING:
    from agents.ppo.ppo_agent import PPOAgent

_log = logging.getLogger("gymnasium_solver")


def why_no_loop(agent: PPOAgent) -> str | None:
    """Say what keeps an agent from every loop on the device; None if nothing does."""
    return "normalize_reward is set" if agent.config.normalize_reward else None


def build_device_loop(agent: PPOAgent) -> DeviceLoop | None:
    """Build the fastest loop that can train an agent, and say which and why not a faster one.

    Args:
        agent: Its environment is a `TorchVectorEnv` on its device.

    Returns:
        The loop, or None where the ordinary collector and update have to do.
    """
    reason = why_no_loop(agent)
    if reason is not None:
        _log.info("iterations: collector and update, no loop on the device because %s", reason)
        return None
    not_fused = why_not_fused(agent.policy, agent.config, agent.train_env)
    if not_fused is None:
        from agents.ppo.fused.loop import FusedLoop

        _log.info("iterations: fused kernels")
        return FusedLoop(agent.policy, agent.config, agent.train_env, agent.optimizer)
    not_graph = why_not_graph(agent)
    if not_graph is None:
        _log.info("iterations: CUDA graph; not fused because %s", not_fused)
        return GraphLoop(agent)
    _log.info(
        "iterations: eager on the device; not fused because %s, not a CUDA graph because %s",
        not_fused,
        not_graph,
    )
    return EagerLoop(agent)
