"""Judge a policy that Brax has trained: `python scripts/brax_eval_policy.py @last --video`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.brax_policies.cli import parse_eval_args
from utils.errors import exit_on_user_error
from utils.text_tables import counted


def main() -> int:
    """Parse the command line, judge the policy, store the result, film an episode."""
    args = parse_eval_args(sys.argv[1:])

    from agents.loading import load_policy
    from utils.brax_policies.evaluation import film_run, judge_run, open_run

    run, config = open_run(args.run, args.runs_dir)
    result = judge_run(run, config, load_policy, args)
    half = result.confidence_half_width()
    interval = "" if half is None else f" ± {half:.2f} (95 % interval)"
    unfinished = f", {result.n_unfinished} unfinished" if result.n_unfinished else ""
    episodes = counted(len(result.returns), "fresh episode")
    print(f"{config.env_id}, {episodes}{unfinished}, {result.seconds:.0f} s")
    print(f"mean return {result.mean:.2f}{interval}" if result.returns else "no episode finished")
    if args.video is not None:
        print(f"film    {film_run(run, config, load_policy, args)}")
    return 0


if __name__ == "__main__":
    exit_on_user_error(main)
