"""Train every config that is written down for a moment, with evaluation, test, film and report.

`python scripts/smoke_train_envs.py --filter "*:reinforce" --timesteps 500`
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.errors import exit_on_user_error
from utils.smoke.cli import smoke, smoke_parser


def train_briefly(config_id: str, *, timesteps: int | None) -> str:
    """Train one config; runs in a process of its own."""
    from agents.training import train
    from utils.config import load_config
    from utils.run.plan import TrainingPlan
    from utils.run.registry import list_runs
    from utils.smoke.brief import brief_overrides
    from utils.storage import read_json

    overrides = brief_overrides(load_config(config_id), timesteps=timesteps)
    config = load_config(config_id, overrides)
    with tempfile.TemporaryDirectory() as folder:
        code = train(TrainingPlan(config=config, runs_dir=Path(folder), is_quiet=True))
        assert code == 0, f"exit code {code}"
        (run,) = list_runs(folder)
        assert run.has_checkpoint(), "no checkpoint was left"
        assert config.video == "none" or list(run.videos_dir.glob("*.mp4")), "no film was left"
        assert run.report_path.exists(), "no report was left"
        results = read_json(run.results_path)
    # An episode that the short limit of the test cuts has no return.
    mean = results["test"]["last"]["mean"]
    told = "no test episode ended" if mean is None else f"mean return {mean:.2f}"
    return f"{results['timesteps']:,} timesteps, {told}"


def place_of(config_id: str) -> object:
    """Return where a config is written: what a family has in common is trained once."""
    from utils.config import CONFIG_DIR
    from utils.config.catalog import find_variant

    file, variant = find_variant(config_id, config_dir=CONFIG_DIR)
    return file.origin_of(variant).document.label, variant


def main() -> int:
    """Train each config; 1 if any failed."""
    parser = smoke_parser("smoke_train_envs.py", "Train every config for a moment.")
    options = parser.parse_or_refuse()
    trial = partial(train_briefly, timesteps=options.timesteps)
    return smoke(trial, options, preload=["agents.training"], tells_apart=place_of)


if __name__ == "__main__":
    exit_on_user_error(main)
