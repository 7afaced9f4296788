"""Mean absolute error of the circuit's controllers, and of trained runs, over fresh episodes.

`python scripts/judge_ccas_ccar.py --run @last --episodes 100`
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.config.option_parser import OptionParser, whole_number
from utils.errors import ConfigError, exit_on_user_error
from utils.text_tables import counted

if TYPE_CHECKING:
    from utils.config import Config
    from utils.run import Run


def judge_run(run: Run, config: Config, *, n_episodes: int, seed: int) -> Any:
    """Return the mean absolute error of each episode of a run's best policy, (n,) float64."""
    import numpy as np
    import torch

    from agents.loading import load_policy
    from utils.environment import build_env_from_config
    from utils.rollouts import evaluate_policy

    env = build_env_from_config(config, n_envs=n_episodes)
    policy = load_policy(config, run.checkpoint("@best"), env=env).policy
    result = evaluate_policy(
        policy, env, n_episodes=n_episodes, seed=seed, deterministic=config.eval_deterministic,
        device=torch.device("cpu"), timeout_seconds=600.0,
    )  # fmt: skip
    env.close()
    return -np.array(result.returns) / np.array(result.lengths)


def main() -> int:
    """Print one line for each controller, and one for the run."""
    parser = OptionParser(prog="judge_ccas_ccar.py", description=__doc__, allow_abbrev=False)
    parser.add_option("--run", metavar="RUN", help="a run; its task is then the one judged")
    parser.add_option("--runs-dir", default="runs", metavar="DIR", help="folder of runs (runs)")
    for name, least, default in (("episodes", 2, 100), ("seed", 0, 12345)):
        parser.add_option(
            f"--{name}", type=whole_number(least=least), default=default, metavar="N",
            help=f"(default {default})",
        )  # fmt: skip
    options = parser.parse_or_refuse()
    from gym_envs.ccas_ccar.baselines import BASELINES
    from gym_envs.ccas_ccar.judge import play_controller
    from gym_envs.ccas_ccar.task import ENV_ID
    from utils.config import load_config_json
    from utils.run import Run
    from utils.statistics import mean_half_width
    from utils.text_tables import format_table

    run = None if options.run is None else Run.open(options.run, runs_dir=options.runs_dir)
    config = None if run is None else load_config_json(run.config_path)
    if config is not None and config.env_id != ENV_ID:
        raise ConfigError(f"--run: {options.run} is of {config.env_id}, not of {ENV_ID}")
    task = {} if config is None else dict(config.env_kwargs)
    trial = {"n_episodes": options.episodes, "seed": options.seed}
    errors = {kind.name: play_controller(kind(), **task, **trial) for kind in BASELINES}
    if run is not None:
        errors[f"{config.config_id}, seed {config.seed}"] = judge_run(run, config, **trial)
    rows = [
        (name, f"{values.mean():.2f} ± {mean_half_width(values.tolist()):.2f}")
        for name, values in errors.items()
    ]
    print(f"{counted(options.episodes, 'fresh episode')}, 95 % intervals of the mean")
    print(format_table(("controller", "mean absolute error, molecules"), rows))
    return 0


if __name__ == "__main__":
    exit_on_user_error(main)
