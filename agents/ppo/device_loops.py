"""Which loop carries out the iterations of an agent whose environment is tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agents.ppo.device_loop import DeviceLoop
from agents.ppo.eager_loop import EagerLoop
from agents.ppo.fused.availability import why_not as why_not_fused
from agents.ppo.graph_loop import GraphLoop, why_not_graph

if TYPE_CHECKING:
    from agents.ppo.ppo_agent import PPOAgent


def why_no_loop(agent: PPOAgent) -> str | None:
    """Say what keeps an agent from every loop on the device; None if nothing does."""
    if agent.config.debug:
        return "debug is set"
    if agent.team is not None and agent.policy.normalizer.learns:
        return "processes join the moments of observations at every step"
    if agent.config.normalize_reward:
        return "normalize_reward is set"
    if agent.config.exploration.kind != "none":
        return f"exploration.kind is {agent.config.exploration.kind}"
    if agent.policy.normalizes_value:
        return "value_normalization is popart"
    return "the policy has a memory" if agent.policy.has_memory else None


class LoopChoice(NamedTuple):
    """A loop, and a line that says which it is and why not a faster one."""

    loop: DeviceLoop | None
    """None where the ordinary collector and update have to do."""
    reason: str


def build_device_loop(agent: PPOAgent) -> LoopChoice:
    """Build the fastest loop that can train an agent.

    Args:
        agent: Its environment is a `TorchVectorEnv` on its device.
    """
    reason = why_no_loop(agent)
    if reason is not None:
        return LoopChoice(None, f"collector and update, no loop on the device because {reason}")
    not_fused = why_not_fused(agent.policy, agent.config, agent.train_env)
    if not_fused is None:
        from agents.ppo.fused.loop import FusedLoop

        loop = FusedLoop(
            agent.policy,
            agent.config,
            agent.train_env,
            agent.optimizer,
            team=agent.team,
            seed_index=agent.seed_index,
        )
        return LoopChoice(loop, "fused kernels on the device")
    not_graph = why_not_graph(agent)
    if not_graph is None:
        return LoopChoice(
            GraphLoop(agent), f"CUDA graph on the device, not fused because {not_fused}"
        )
    return LoopChoice(
        EagerLoop(agent),
        f"eager on the device, not fused because {not_fused}, not a CUDA graph because {not_graph}",
    )
