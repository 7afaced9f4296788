"""The command line of `scripts/import_sb3.py`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from utils.config.option_parser import OptionParser, whole_number
from utils.errors import UserError

_NO_FILE = "none"


def parse_import_args(argv: Sequence[str]) -> argparse.Namespace:
    """Read the command line.

    Returns:
        `model`, `env`, `vecnormalize` (a path, or None without one), `set`, `episodes`, `runs_dir`.

    Raises:
        UserError: Something is missing or wrong.
    """
    parser = OptionParser(
        prog="import_sb3.py",
        description=(
            "Make a run folder of a model that Stable-Baselines3 saved (PPO, A2C, DQN, SAC, TD3,\n"
            "DDPG): it can then be played, inspected, exported and published like any other.\n"
            "Nothing that lies in the file is run, so a file from a stranger does no harm."
        ),
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=(
            "examples:\n"
            "  import_sb3.py model.zip --env CartPole-v1\n"
            "  import_sb3.py best_model.zip --env Pendulum-v1 --vecnormalize vecnormalize.pkl\n"
            "  import_sb3.py pong.zip --env ALE/Pong-v5 --episodes 0\n"
            "  import_sb3.py car.zip --env CarRacing-v3 --set grayscale_obs=true"
        ),
    )
    parser.add_argument("model", nargs="?", type=Path, help="the .zip that model.save() wrote")
    parser.add_option("--env", metavar="ID", help="what it was trained in")
    parser.add_option(
        "--vecnormalize",
        metavar="FILE",
        help=(
            "the .pkl that VecNormalize.save() wrote (default: the only *vec*normalize*.pkl beside "
            f"the model, if there is one; '{_NO_FILE}': without)"
        ),
    )
    parser.add_option(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of the environment, such as frame_stack=4 or env_kwargs.frameskip=1",
    )
    parser.add_option(
        "--episodes",
        type=whole_number(least=0),
        default=10,
        metavar="N",
        help="fresh episodes that judge it (default 10; 0: none)",
    )
    parser.add_option(
        "--runs-dir", type=Path, default=Path("runs"), metavar="DIR", help="folder of the runs"
    )
    args = parser.parse_or_refuse(argv)
    if args.model is None:
        raise UserError("which model? import_sb3.py MODEL.zip --env ID (see import_sb3.py --help)")
    if args.env is None:
        raise UserError(
            f"what was '{args.model}' trained in? its file does not say: --env ID, such as "
            "--env CartPole-v1"
        )
    args.vecnormalize = find_statistics(args.model, args.vecnormalize)
    return args


def find_statistics(model: Path, given: str | None) -> Path | None:
    """Return the file of a `VecNormalize`: the one that is given, or the only one beside a model.

    Raises:
        UserError: There are several beside the model.
    """
    if given is not None:
        return None if given == _NO_FILE else Path(given)
    beside = sorted(
        path
        for path in model.parent.glob("*.pkl")
        if "vecnormalize" in path.stem.lower().replace("_", "").replace("-", "")
    )
    if len(beside) > 1:
        names = ", ".join(path.name for path in beside)
        raise UserError(
            f"there are several statistics beside '{model}' ({names}): choose one by "
            f"--vecnormalize FILE, or --vecnormalize {_NO_FILE}"
        )
    return beside[0] if beside else None
