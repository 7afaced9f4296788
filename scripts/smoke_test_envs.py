"""Build, step, render and close every configured environment.

`python scripts/smoke_test_envs.py --filter lunar`
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.errors import exit_on_user_error
from utils.smoke.cli import smoke, smoke_parser


def try_environment(config_id: str, *, timesteps: int | None) -> str:
    """Take random steps in one environment; runs in a process of its own."""
    from utils.smoke.environments import step_at_random

    return step_at_random(config_id, timesteps=timesteps)


# What makes an environment: configs that agree in these have the same one.
ENVIRONMENT_KEYS = (
    "env_id", "env_kwargs", "env_wrappers", "max_episode_steps", "grayscale_obs", "resize_obs",
    "frame_stack", "channel_order",
)  # fmt: skip


def environment_of(config_id: str) -> list[object]:
    """Return what the environment of a config is made of.

    Of the variants that a family has in common every environment shows the first, and one
    environment all.
    """
    from utils.config import CONFIG_DIR, load_config
    from utils.config.catalog import find_variant

    file, variant = find_variant(config_id, config_dir=CONFIG_DIR)
    if variant in file.inherited and config_id != file.config_ids[0]:
        return [file.origin_of(variant).name, variant]
    config = load_config(config_id)
    return [getattr(config, key) for key in ENVIRONMENT_KEYS]


def main() -> int:
    """Try each environment; 1 if any failed."""
    parser = smoke_parser("smoke_test_envs.py", "Take random steps in every environment.")
    options = parser.parse_or_refuse()
    trial = partial(try_environment, timesteps=options.timesteps)
    return smoke(trial, options, preload=["utils.smoke.environments"], tells_apart=environment_of)


if __name__ == "__main__":
    exit_on_user_error(main)
