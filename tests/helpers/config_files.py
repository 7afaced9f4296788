"""Config files for tests, and the lines of the error that they cause."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from utils.config import Config, load_config
from utils.errors import ConfigError

PPO = """\
algo_id: ppo
max_timesteps: 1000
n_envs: 4
n_steps: 8
batch_size: 16
policy_lr: 1e-3
"""
REINFORCE = """\
algo_id: reinforce
max_timesteps: 1000
n_envs: 4
policy_lr: 1e-3
"""


def write_variants(folder: Path, name: str = "Toy-v0", *, base: str = "", **variants: str) -> Path:
    """Write a config file of a base with `env_id` and the given variants; return its path."""
    path = folder / f"{name.replace('/', '-')}.yaml"
    blocks = {"_base": f"env_id: {name}\n{dedent(base)}", **variants}
    text = "".join(f"{key}:\n{indent(dedent(block), '  ')}" for key, block in blocks.items())
    path.write_text(text, encoding="utf-8")
    return path


def load_ppo(folder: Path, extra: str = "", *overrides: str, **options: Any) -> Config:
    """Load the variant `ppo` of a file with the settings of PPO and more lines."""
    write_variants(folder, ppo=PPO + dedent(extra))
    return load_config("Toy-v0:ppo", overrides, config_dir=folder, **options)


def load_reinforce(folder: Path, extra: str = "", *overrides: str) -> Config:
    """Load the variant `reinforce` of a file with the settings of REINFORCE and more lines."""
    write_variants(folder, reinforce=REINFORCE + dedent(extra))
    return load_config("Toy-v0:reinforce", overrides, config_dir=folder)


def ppo_problems(folder: Path, extra: str = "", *overrides: str, **options: Any) -> list[str]:
    """Return the lines of the error of `load_ppo`."""
    with pytest.raises(ConfigError) as caught:
        load_ppo(folder, extra, *overrides, **options)
    return str(caught.value).splitlines()


def reinforce_problems(folder: Path, extra: str = "", *overrides: str) -> list[str]:
    """Return the lines of the error of `load_reinforce`."""
    with pytest.raises(ConfigError) as caught:
        load_reinforce(folder, extra, *overrides)
    return str(caught.value).splitlines()
