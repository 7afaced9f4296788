"""Train a policy with Brax: `python scripts/brax_train_policy.py brax/inverted_pendulum`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.brax_policies.cli import parse_train_args
from utils.errors import exit_on_user_error


def main() -> int:
    """Parse the command line, let Brax train, say where the run is."""
    args = parse_train_args(sys.argv[1:])

    from utils.brax_policies.training import train_with_brax

    trained = train_with_brax(args, tell=lambda line: print(line, flush=True))
    print(f"trained in {trained.seconds:,.0f} s ({trained.config.trained_with})")
    print(f"run     {trained.run.path}")
    print(f"judge   python scripts/brax_eval_policy.py {trained.run.path} --video")
    for name in ("play", "inspect", "publish"):
        print(f"{name:8}python run_{name}.py --run-id {trained.run.path}")
    return 0


if __name__ == "__main__":
    exit_on_user_error(main)
