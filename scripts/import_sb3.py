"""Import a policy of Stable-Baselines3: `python scripts/import_sb3.py model.zip --env ID`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.errors import exit_on_user_error
from utils.sb3_policies.cli import parse_import_args


def main() -> int:
    """Parse the command line, read the model, judge it, write its run folder."""
    args = parse_import_args(sys.argv[1:])

    import torch

    from agents.result_text import describe_evaluation
    from utils.sb3_policies.importing import import_model

    torch.set_num_threads(1)
    imported = import_model(
        args.model,
        env_id=args.env,
        vec_normalize=args.vecnormalize,
        overrides=tuple(args.set),
        n_episodes=args.episodes,
        runs_dir=args.runs_dir,
    )
    run, archive, result = imported.run, imported.archive, imported.result
    algorithm = imported.config.policy_kwargs.algorithm
    print(
        f"{algorithm} of {args.env}, {archive.timesteps:,} timesteps with Stable-Baselines3 "
        f"{archive.version}"
    )
    if args.vecnormalize is not None:
        print(f"observations normalised by {args.vecnormalize}")
    for note in imported.notes:
        print(f"note: {note}")
    if result is not None:
        print(f"result  {describe_evaluation(result)}")
    print(f"run     {run.path}")
    for name in ("play", "inspect", "publish"):
        print(f"{name:8}python run_{name}.py --run-id {run.path}")
    return 0


if __name__ == "__main__":
    exit_on_user_error(main)
