"""A trained policy out of a run folder, without an agent or a trainer."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymnasium.vector import VectorEnv
from torch import Tensor

from agents import agent_class
from utils.checkpoints import load_acting_state
from utils.config import Config
from utils.errors import CheckpointError
from utils.metrics import Counters
from utils.normalization.reward import EPSILON as REWARD_EPSILON
from utils.policies.continuous_actor import ContinuousActor
from utils.policy_factory import ActorCritic
from utils.run.run import CONFIG_NAME
from utils.spaces import space_to_dict, spaces_differ
from utils.storage import read_json

_NETWORK_KEYS = ("normalize_obs", "use_baseline", "value_normalization")
_NO_SHAPE = frozenset(
    f"policy_kwargs.{key}" for key in ("activation", "orthogonal_init", "log_std_init")
)
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class LoadedPolicy:
    """A policy in evaluation mode on the CPU, and where it comes from."""

    policy: ActorCritic
    checkpoint: Path
    counters: Counters
    reward_factor: float | None = 1.0
    """What the reward normaliser multiplied by when it was saved; 1 without one, None where the
    checkpoint does not tell."""


def load_policy(
    config: Config, checkpoint: Path, *, env: VectorEnv, with_critic: bool = False
) -> LoadedPolicy:
    """Build the policy of a config for the spaces of `env` and load its weights and normaliser.

    Args:
        config: The stored config of the run.
        checkpoint: File of the run.
        env: Built from the same config.
        with_critic: Let the policy's explanations hold what the critics of the training say, where
            the algorithm has critics apart from its policy and the checkpoint holds them.

    Raises:
        CheckpointError: The file cannot be read, was made for other spaces or networks (the
            message shows both), or holds weights of a training that diverged.
    """
    state = load_acting_state(checkpoint)
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
    _check_finite(state["policy"], source=checkpoint)
    if with_critic:
        _add_critic(policy, config, state, env)
    policy.eval()
    return LoadedPolicy(
        policy,
        checkpoint,
        Counters.from_dict(state["counters"]),
        reward_factor=_reward_factor(state) if config.normalize_reward else 1.0,
    )


def _add_critic(policy: Any, config: Config, state: dict[str, Any], env: VectorEnv) -> None:
    """Give an actor the critics of its training; published policies come without."""
    weights = state.get("networks", {}).get("critic")
    if weights is None or not isinstance(policy, ContinuousActor):
        return
    critic = agent_class(config.algo_id).build_critic(
        config, env.single_observation_space, env.single_action_space
    )
    critic.load_state_dict(weights)
    policy.take_critic(critic.eval())


def _check_finite(tensors: Mapping[str, Tensor], *, source: Path) -> None:
    """Refuse weights that choose nothing: the largest of NaNs is the first one."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise CheckpointError(
                f"'{source}' holds numbers that are not finite ({name}): its training had "
                "diverged; choose an earlier checkpoint"
            )


def _reward_factor(state: dict[str, Any]) -> float | None:
    normalizer = state.get("source", {}).get("collector", {}).get("reward_normalizer")
    if normalizer is None:
        return None
    return 1.0 / math.sqrt(float(normalizer["moments.var"]) + REWARD_EPSILON)


def load_policy_state(
    policy: ActorCritic, state: dict, *, source: Path, config: Config | None = None
) -> None:
    """Load weights and normaliser from a checkpoint's state.

    Args:
        policy: Changed in place; as it was where the state does not fit.
        state: Of the checkpoint.
        source: Its file.
        config: What the policy was built by, to name the settings that differ.

    Raises:
        CheckpointError: Names or shapes do not fit; one line names what differs.
    """
    check_policy_fits(policy, state, source=source, config=config)
    policy.load_state_dict(state["policy"])


def check_policy_fits(
    policy: ActorCritic, state: dict, *, source: Path, config: Config | None = None
) -> None:
    """Refuse a state that `load_policy_state` could not load; see there."""
    differences = _differing_tensors(state["policy"], policy.state_dict())
    if not differences:
        return
    settings = [] if config is None else _differing_settings(source, config)
    raise CheckpointError(
        f"'{source}' holds other networks: " + "; ".join(settings or _shorten(differences))
    )


def _differing_settings(source: Path, config: Config) -> list[str]:
    """Name the settings that shape networks in which the run of a checkpoint differs."""
    stored = read_json(source.resolve().parent.parent / CONFIG_NAME)
    if stored is None:
        return []
    theirs, ours = _network_settings(stored), _network_settings(config.to_dict())
    return [
        f"{key} is {json.dumps(theirs.get(key))} there and {json.dumps(ours.get(key))} here"
        for key in sorted({*theirs, *ours})
        if theirs.get(key) != ours.get(key)
    ]


def _network_settings(config: dict[str, Any]) -> dict[str, Any]:
    of_policy = {f"policy_kwargs.{key}": value for key, value in config["policy_kwargs"].items()}
    more = {key: config[key] for key in _NETWORK_KEYS if key in config}
    return {key: value for key, value in (of_policy | more).items() if key not in _NO_SHAPE}


def _differing_tensors(theirs: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    differences = []
    for name in sorted({*theirs, *ours}):
        if name not in ours:
            differences.append(f"{name} is there and not here")
        elif name not in theirs:
            differences.append(f"{name} is here and not there")
        elif theirs[name].shape != ours[name].shape:
            there, here = tuple(theirs[name].shape), tuple(ours[name].shape)
            differences.append(f"{name} has shape {there} there and {here} here")
    return differences


def _shorten(differences: list[str]) -> list[str]:
    more = len(differences) - _MOST_NAMED
    return differences[:_MOST_NAMED] + ([f"and {more} more"] if more > 0 else [])
