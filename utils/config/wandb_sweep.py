"""The settings that a W&B sweep agent chose for the process that it started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.config.overrides import Override, sweep_overrides
from utils.config.yaml_reader import read_yaml
from utils.errors import ConfigError

_SWEEP_VARIABLE = "WANDB_SWEEP_ID"
_PATH_VARIABLE = "WANDB_SWEEP_PARAM_PATH"
_CONFIG_ID = "config_id"


@dataclass(frozen=True, slots=True)
class SweepTrial:
    """What a sweep agent asks of this process."""

    settings: Mapping[str, Any]
    """Nested or dotted keys to values, as the agent wrote them."""
    config_id: str | None = None
    """What to train, where the sweep chooses that too (`config_id` among its parameters)."""

    def overrides(self) -> list[Override]:
        """Return the settings, and `wandb: true`, without which the agent learns nothing.

        Raises:
            ConfigError: A value is text that is not YAML; one line per value.
        """
        overrides, problems = sweep_overrides(self.settings)
        if problems:
            raise ConfigError("\n".join(problems))
        return [Override(("wandb",), True, "--wandb-sweep"), *overrides]

    def without_arguments(self, argv: Sequence[str]) -> list[str]:
        """Leave out `--key=value` for keys of the trial: an agent's `${args}` says them again."""
        known = {f"--{key}" for key in (*self.settings, _CONFIG_ID)}
        return [word for word in argv if not ("=" in word and word.partition("=")[0] in known)]


def is_sweep_trial(environ: Mapping[str, str]) -> bool:
    """Say whether a W&B sweep agent started this process."""
    return bool(environ.get(_SWEEP_VARIABLE))


def read_wandb_sweep(environ: Mapping[str, str]) -> SweepTrial:
    """Read the trial of the sweep agent that started this process, without importing wandb.

    The agent writes a YAML file of `key: {value: ...}` and names it in an environment variable.

    Args:
        environ: The environment variables of the process.

    Raises:
        ConfigError: No sweep agent started this process, or its file cannot be read.
    """
    path = environ.get(_PATH_VARIABLE)
    if not path:
        raise ConfigError(
            f"--wandb-sweep: no sweep agent started this process ({_PATH_VARIABLE} is not set)"
        )
    data = read_yaml(Path(path)).data
    trial = {
        key: block["value"]
        for key, block in data.items()
        if isinstance(block, dict) and "value" in block and not key.startswith("_")
    }
    config_id = trial.pop(_CONFIG_ID, None)
    return SweepTrial(trial, None if config_id is None else str(config_id))
