"""The settings that a W&B sweep agent chose for the process that it started."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from utils.config.overrides import Override, sweep_overrides
from utils.config.yaml_reader import read_yaml
from utils.errors import ConfigError

_PATH_VARIABLE = "WANDB_SWEEP_PARAM_PATH"


def read_wandb_sweep(environ: Mapping[str, str]) -> list[Override]:
    """Read the trial of the sweep agent that started this process, without importing wandb.

    The agent writes a YAML file of `key: {value: ...}` and names it in an environment variable.

    Args:
        environ: The environment variables of the process.

    Returns:
        The settings of the trial, and `wandb: true`, without which the agent learns nothing.

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
    overrides, problems = sweep_overrides(trial)
    if problems:
        raise ConfigError("\n".join(problems))
    return [Override(("wandb",), True, "--wandb-sweep"), *overrides]
