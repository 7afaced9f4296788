"""The best trial of a sweep as a config file that train.py takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from utils.config import Config, load_config
from utils.config.algos.sized import SizedKwargs
from utils.storage import write_bytes
from utils.sweeps.spec import SweepSpec

_OF_THE_TRIAL = frozenset(
    {"wandb", "trackio", "tensorboard", "seed", "video", "video_max_steps", "test_episodes"}
)
"""What says how a trial is run and shown, not what is learnt; a real run has the defaults."""


def write_best_config(
    spec: SweepSpec, settings: Mapping[str, Any], folder: Path, *, comment: str
) -> tuple[Path, str]:
    """Write the config that settings make as a variant of its environment.

    Args:
        spec: The sweep.
        settings: Of the trial.
        folder: Where the file goes; made when it is missing.
        comment: Becomes the description; one line.

    Returns:
        The file, and the config id that train.py takes.

    Raises:
        StorageError: The folder cannot be written.
    """
    config = load_config(spec.config_id, spec.lasting, sweep=settings)
    path = folder / f"{config.env_id.replace('/', '-')}.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(path, best_config_text(spec, settings, comment=comment).encode())
    return path, f"{path}:{_variant(spec, config)}"


def best_config_text(spec: SweepSpec, settings: Mapping[str, Any], *, comment: str) -> str:
    """Return the text of a config file whose one variant has the settings; see the above."""
    config = load_config(spec.config_id, spec.lasting, sweep=settings)
    base, chosen = _written_settings(config)
    chosen["description"] = comment
    body = yaml.safe_dump({"_base": base}, sort_keys=False, allow_unicode=True)
    variant = {_variant(spec, config): chosen}
    return body + "\n" + yaml.safe_dump(variant, sort_keys=False, default_flow_style=None)


def _variant(spec: SweepSpec, config: Config) -> str:
    return f"{config.config_id.rpartition(':')[2]}_{spec.name}"


def _written_settings(config: Config) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what somebody wrote: facts about the environment, and all else without defaults."""
    data = config.model_dump(mode="json", exclude_unset=True)
    for key in ("config_id", *_OF_THE_TRIAL):
        data.pop(key, None)
    base = {key: data.pop(key) for key in ("env_id", "spec") if key in data}
    shape = config.policy_kwargs
    if isinstance(shape, SizedKwargs) and shape.size != type(shape).model_fields["size"].default:
        # Below the widths that lie over it, where a size is no contradiction to them.
        base["policy_kwargs"] = {"size": shape.size}
        data.get("policy_kwargs", {}).pop("size", None)
    return base, data
