"""Which networks a model has: read off its facts and the shapes of its weights."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from utils.errors import UserError
from utils.sb3_policies.archive import Archive, UnreadableModelError

_OWN = "stable_baselines3."
_ACTIVATIONS = (
    "CELU", "ELU", "GELU", "Hardswish", "LeakyReLU", "Mish", "ReLU", "ReLU6", "SELU", "SiLU",
    "Sigmoid", "Softplus", "Softsign", "Tanh",
)  # fmt: skip
_ENCODERS = {
    "FlattenExtractor": "flatten",
    "NatureCNN": "cnn",
    "CombinedExtractor": "combined",
}
_UNKNOWN_KWARGS = {"use_expln": "an exponential that grows linearly (use_expln)"}
_RENAMED: dict[str, tuple[tuple[str, str | None], ...]] = {
    "on_policy": (
        ("pi_features_extractor.", "actor_encoder."),
        ("vf_features_extractor.", "critic_encoder."),
        ("features_extractor.", None),
        ("mlp_extractor.policy_net.", "actor."),
        ("mlp_extractor.value_net.", "critic."),
        ("action_net.", "head."),
        ("value_net.", "value_head."),
        ("log_std", "log_std"),
    ),
    "DQN": (
        ("q_net.features_extractor.", "actor_encoder."),
        ("q_net.q_net.", "actor."),
        ("q_net_target.", None),
    ),
    "SAC": (
        ("actor.features_extractor.", "actor_encoder."),
        ("actor.latent_pi.", "actor."),
        ("actor.mu.0.", "head."),
        ("actor.mu.", "head."),
        ("actor.log_std", "log_std"),
        ("critic.features_extractor.", "critic_encoder."),
        ("critic.qf", "critics."),
        ("critic_target.", None),
    ),
    "TD3": (
        ("actor.features_extractor.", "actor_encoder."),
        ("actor.mu.", "actor."),
        ("actor_target.", None),
        ("critic.features_extractor.", "critic_encoder."),
        ("critic.qf", "critics."),
        ("critic_target.", None),
    ),
}
"""Beginnings of names there and here, by family; None for what no policy needs to act."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """The networks of a model."""

    kwargs: dict[str, Any]
    """See `utils.config.algos.sb3.SB3Kwargs`."""
    weights: dict[str, Tensor]
    """By the names of `utils.sb3_policies.policy`."""


def read_layout(archive: Archive) -> Layout:
    """Read what networks a model has.

    Raises:
        UserError: An algorithm, policy, extractor or activation that is none of
            Stable-Baselines3's own, whose code lies pickled in the file.
    """
    algorithm = _algorithm(archive)
    family = {"PPO": "on_policy", "A2C": "on_policy", "DDPG": "TD3"}.get(algorithm, algorithm)
    weights = _rename(archive, _RENAMED[family])
    given = archive.policy_kwargs
    for name, meaning in _UNKNOWN_KWARGS.items():
        if given.get(name):
            raise UserError(f"'{archive.path}' was trained with {meaning}: it cannot be rebuilt")
    extractor_kwargs = given.get("features_extractor_kwargs") or {}
    noise = bool(given.get("use_sde") or archive.facts.get("use_sde"))
    dims = {part: _hidden_dims(weights, f"{part}.") for part in ("actor", "critic", "critics.0")}
    if family in ("DQN", "TD3"):  # their last layer is part of the same sequence
        dims["actor"] = dims["actor"][:-1]
    log_std = weights.get("log_std")
    kwargs: dict[str, Any] = {
        "algorithm": algorithm,
        "encoder": _encoder(archive),
        "feature_dim": _feature_dim(weights),
        "actor_dims": dims["actor"],
        "critic_dims": dims["critic"] if family == "on_policy" else dims["critics.0"][:-1],
        "n_critics": len({name.split(".")[1] for name in weights if name.startswith("critics.")}),
        "activation": _activation(archive, default="Tanh" if family == "on_policy" else "ReLU"),
        "normalize_images": bool(given.get("normalize_images", True)),
        "float_pictures": bool(extractor_kwargs.get("normalized_image", False)),
        "state_dependent_noise": noise,
        "full_std": not noise or log_std is None or log_std.shape[-1] > 1,
        "clip_mean": float(given.get("clip_mean", 2.0)),
        "squash_output": family == "on_policy" and bool(given.get("squash_output", False)),
        "exploration_rate": float(archive.facts.get("exploration_rate") or 0.0)
        if family == "DQN"
        else 0.0,
    }
    if noise and log_std is not None:
        kwargs["full_std"] = given.get("full_std", True) is not False
    return Layout(kwargs=kwargs, weights=weights)


def _algorithm(archive: Archive) -> str:
    """Return the name of what trained a model, by its policy and its settings."""
    module, name = archive.policy_module, archive.policy_class
    if not module.startswith(_OWN):
        raise UserError(_refusal(archive, f"the policy is a {name} of '{module}'"))
    facts = archive.facts
    match module.removeprefix(_OWN):
        case "common.policies":
            return "PPO" if "clip_range" in facts else "A2C"
        case "dqn.policies":
            return "DQN"
        case "sac.policies":
            return "SAC"
        case "td3.policies":
            is_plain = facts.get("policy_delay") == 1 and facts.get("target_noise_clip") == 0
            return "DDPG" if is_plain else "TD3"
    raise UserError(
        f"'{archive.path}' holds a {name} of {module}: only PPO, A2C, DQN, SAC, TD3 and DDPG can "
        "be imported"
    )


def _refusal(archive: Archive, what: str) -> str:
    return (
        f"'{archive.path}': {what}, none of Stable-Baselines3's own; its code would have to be "
        "taken from the file and run, and whoever made the file could run anything by that: "
        "refused"
    )


def _class_of(text: Any) -> tuple[str, str]:
    """Return module and name of a class that a text names, such as `<class 'a.b.C'>`."""
    found = re.fullmatch(r"<class '(.+)\.(\w+)'>", str(text))
    return (found[1], found[2]) if found else ("?", str(text))


def _encoder(archive: Archive) -> str:
    given = archive.policy_kwargs.get("features_extractor_class")
    if given is not None:
        module, name = _class_of(given)
        if not module.startswith(_OWN) or name not in _ENCODERS:
            raise UserError(_refusal(archive, f"what reads observations is a {name} of '{module}'"))
        return _ENCODERS[name]
    name = archive.policy_class
    if "MultiInput" in name:
        return "combined"
    return "cnn" if "Cnn" in name else "flatten"


def _activation(archive: Archive, *, default: str) -> str:
    given = archive.policy_kwargs.get("activation_fn")
    if given is None:
        return default
    module, name = _class_of(given)
    if not module.startswith("torch.nn.modules.") or name not in _ACTIVATIONS:
        raise UserError(_refusal(archive, f"its activation is a {name} of '{module}'"))
    return name


def _rename(archive: Archive, table: tuple[tuple[str, str | None], ...]) -> dict[str, Tensor]:
    renamed: dict[str, Tensor] = {}
    names = list(archive.weights)
    # Before version 1.8 actor and critic had one extractor, by this name.
    is_old = not any(name.startswith("pi_features_extractor.") for name in names)
    for name, tensor in archive.weights.items():
        if is_old and name.startswith("features_extractor."):
            rest = name.removeprefix("features_extractor.")
            renamed |= {f"{part}_encoder.{rest}": tensor for part in ("actor", "critic")}
            continue
        found = next((pair for pair in table if name.startswith(pair[0])), None)
        if found is None:
            raise UnreadableModelError(
                f"'{archive.path}' holds a weight '{name}', which no policy that can be rebuilt "
                f"has (written by Stable-Baselines3 {archive.version})"
            )
        if found[1] is not None:
            renamed[found[1] + name.removeprefix(found[0])] = tensor
    return renamed


def _hidden_dims(weights: Mapping[str, Tensor], prefix: str) -> tuple[int, ...]:
    """Return the outputs of the layers of a sequence, in order."""
    layers = {
        int(name.removeprefix(prefix).split(".")[0]): len(tensor)
        for name, tensor in weights.items()
        if name.startswith(prefix) and name.endswith(".weight")
    }
    return tuple(layers[index] for index in sorted(layers))


def _feature_dim(weights: Mapping[str, Tensor]) -> int:
    """Return the outputs of a NatureCNN; the default where there is none."""
    for name, tensor in weights.items():
        if name.startswith("actor_encoder.") and name.endswith("linear.0.weight"):
            return len(tensor)
    return 512
