"""Regret of bandit algorithms, and of a trained run, on the same fresh problems.

`python scripts/judge_bandits.py --run @last --episodes 1000`
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.config.option_parser import OptionParser, whole_number
from utils.errors import ConfigError, exit_on_user_error

if TYPE_CHECKING:
    from utils.config import Config
    from utils.run import Run


def judge_run(run: Run, config: Config, *, n_episodes: int, seed: int) -> dict[str, Any]:
    """Return the regret, the share of best arms and the returns of a run's best policy."""
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
    return {**result.metrics, "return": result.mean}


def main() -> int:
    """Print one line for each algorithm, and one for the run."""
    from gym_envs.bandits.registration import BANDITS

    parser = OptionParser(prog="judge_bandits.py", description=__doc__, allow_abbrev=False)
    parser.add_option("--env", metavar="ID", help=f"one of {', '.join(BANDITS)}")
    parser.add_option("--run", metavar="RUN", help="a run; its problems are then the ones played")
    parser.add_option("--runs-dir", default="runs", metavar="DIR", help="folder of runs (runs)")
    parser.add_option(
        "--episodes", type=whole_number(least=2), default=1000, metavar="N", help="(default 1000)"
    )
    parser.add_option(
        "--seed", type=whole_number(least=0), default=12345, metavar="N", help="of the problems"
    )
    options = parser.parse_or_refuse()
    from utils.config import load_config_json
    from utils.run import Run
    from utils.text_tables import format_table

    run = None if options.run is None else Run.open(options.run, runs_dir=options.runs_dir)
    config = None if run is None else load_config_json(run.config_path)
    env_id = options.env if config is None else config.env_id
    if env_id not in BANDITS:
        raise ConfigError(f"--env: there is no bandit '{env_id}' (known: {', '.join(BANDITS)})")
    from gym_envs.bandits.judge import judge_all

    settings = BANDITS[env_id] | ({} if config is None else dict(config.env_kwargs))
    rows = judge_all(settings, n_episodes=options.episodes, seed=options.seed)
    if run is not None:
        own = judge_run(run, config, n_episodes=options.episodes, seed=options.seed)
        rows[config.config_id] = own
    header = ("algorithm", "regret", "best arm", "return")
    table = [(name, *(f"{value:.3f}" for value in row.values())) for name, row in rows.items()]
    print(f"{env_id}: means over {options.episodes} problems\n{format_table(header, table)}")
    return 0


if __name__ == "__main__":
    exit_on_user_error(main)
