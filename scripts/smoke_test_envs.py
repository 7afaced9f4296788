"""Build, step, render and close the environment of every config.

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


def main() -> int:
    """Try each environment; 1 if any failed."""
    parser = smoke_parser("smoke_test_envs.py", "Take random steps in every environment.")
    options = parser.parse_or_refuse()
    trial = partial(try_environment, timesteps=options.timesteps)
    return smoke(trial, options, preload=["utils.smoke.environments"])


if __name__ == "__main__":
    exit_on_user_error(main)
