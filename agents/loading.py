"""A trained policy out of a run folder, without an agent or a trainer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gymnasium.vector import VectorEnv

from agents import agent_class
from utils.checkpoints import load_checkpoint
from utils.config import Config
from utils.errors import CheckpointError
from utils.metrics import Counters
from utils.policy_factory import ActorCritic
from utils.spaces import space_to_dict, spaces_differ


@dataclass(frozen=True, slots=True)
class LoadedPolicy:
    """A policy in evaluation mode on the CPU, and where it comes from."""

    policy: ActorCritic
    checkpoint: Path
    counters: Counters


def load_policy(config: Config, checkpoint: Path, *, env: VectorEnv) -> LoadedPolicy:
    """Build the policy of a config for the spaces of `env` and load its weights and normaliser.

    Args:
        config: The stored config of the run.
        checkpoint: File of the run.
        env: Built from the same config.

    Raises:
        CheckpointError: The file cannot be read, or was made for other spaces or networks; the
            message shows both.
    """
    state = load_checkpoint(checkpoint)
    spaces = {
        "observation": space_to_dict(env.single_observation_space),
        "action": space_to_dict(env.single_action_space),
    }
    differences = spaces_differ(state["spaces"], spaces)
    if differences:
        raise CheckpointError(
            f"'{checkpoint}' does not fit {config.env_id}: " + "; ".join(differences)
        )
    policy = agent_class(config.algo_id).build_models(
        config, env.single_observation_space, env.single_action_space
    )
    load_policy_state(policy, state, source=checkpoint)
    policy.eval()
    return LoadedPolicy(policy, checkpoint, Counters.from_dict(state["counters"]))


def load_policy_state(policy: ActorCritic, state: dict, *, source: Path) -> None:
    """Load weights and normaliser from a checkpoint's state.

    Raises:
        CheckpointError: Names or shapes do not fit; the first differences are shown.
    """
    try:
        policy.load_state_dict(state["policy"])
    except (RuntimeError, KeyError) as error:
        details = " ".join(str(error).split())[:300]
        raise CheckpointError(f"'{source}' holds other networks: {details}") from error
