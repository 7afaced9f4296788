"""Train every config for a moment, with evaluation, test, film and report.

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

# All parts of a run take part, each as small as it gets.
BRIEFLY = (
    "rollouts_per_epoch=1",
    "eval_warmup_epochs=1",
    "eval_freq_epochs=1",
    "eval_episodes=2",
    "eval_n_envs=2",
    "test_episodes=2",
    "video_max_steps=20",
    "early_stop_on_eval_reward=false",
    "early_stop_on_train_reward=false",
)
VEC_STEPS = 100


def train_briefly(config_id: str, *, timesteps: int | None) -> str:
    """Train one config; runs in a process of its own."""
    from agents.training import train
    from utils.config import load_config
    from utils.run.plan import TrainingPlan
    from utils.run.registry import list_runs
    from utils.storage import read_json

    config = load_config(config_id, BRIEFLY)
    wanted = timesteps or VEC_STEPS * config.n_envs
    config = load_config(config_id, [*BRIEFLY, f"max_timesteps={wanted}"])
    with tempfile.TemporaryDirectory() as folder:
        code = train(TrainingPlan(config=config, runs_dir=Path(folder), is_quiet=True))
        assert code == 0, f"exit code {code}"
        (run,) = list_runs(folder)
        assert run.has_checkpoint(), "no checkpoint was left"
        assert config.video == "none" or list(run.videos_dir.glob("*.mp4")), "no film was left"
        assert run.report_path.exists(), "no report was left"
        results = read_json(run.results_path)
    mean = results["test"]["last"]["mean"]
    assert mean is not None, "no episode of the test ended in time"
    return f"{results['timesteps']:,} timesteps, mean return {mean:.2f}"


def main() -> int:
    """Train each config; 1 if any failed."""
    parser = smoke_parser("smoke_train_envs.py", "Train every config for a moment.")
    options = parser.parse_or_refuse()
    trial = partial(train_briefly, timesteps=options.timesteps)
    return smoke(trial, options, preload=["agents.training"])


if __name__ == "__main__":
    exit_on_user_error(main)
