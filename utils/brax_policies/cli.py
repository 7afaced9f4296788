"""The command lines of `scripts/brax_train_policy.py` and `scripts/brax_eval_policy.py`."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from pathlib import Path

from gym_envs.brax.registration import EPISODE_STEPS, NAMES, NAMESPACE
from utils.config.option_parser import OptionParser, positive_number, whole_number
from utils.errors import ConfigError, UserError

_BACKENDS = ("generalized", "mjx", "positional", "spring")
_count = whole_number(least=1)


def parse_train_args(argv: Sequence[str]) -> argparse.Namespace:
    """Read the command line of a training.

    Raises:
        UserError: Something is wrong in it.
    """
    parser = OptionParser(
        prog="brax_train_policy.py",
        description=(
            "Train a policy with Brax's own PPO (JAX; extra `brax`) and write a run folder of it, "
            "which run_play.py, run_inspect.py, run_publish.py and scripts/export_policy.py open."
        ),
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"environments: {', '.join(f'{NAMESPACE}/{name}' for name in NAMES)}",
    )
    option = parser.add_option
    option(
        "env",
        nargs="?",
        metavar="ENV",
        help="such as brax/inverted_pendulum; brax/ may be left out",
    )
    option("--timesteps", type=_count, default=1_000_000, metavar="N", help="default 1e6")
    option("--seed", type=whole_number(least=0), default=0, metavar="N", help="default 0")
    option(
        "--backend",
        choices=_BACKENDS,
        default="generalized",
        help="physics (default generalized); spring and positional are quicker and coarser",
    )
    option("--n-envs", type=_count, default=256, metavar="N", help="side by side (default 256)")
    option("--unroll", type=_count, default=5, metavar="N", help="steps of a rollout (default 5)")
    option("--minibatches", type=_count, default=16, metavar="N", help="of an update (default 16)")
    option("--passes", type=_count, default=4, metavar="N", help="over them (default 4)")
    option("--learning-rate", type=positive_number, default=3e-4, metavar="X", help="default 3e-4")
    option("--gamma", type=positive_number, default=0.97, metavar="X", help="default 0.97")
    option("--entropy", type=positive_number, default=1e-2, metavar="X", help="default 1e-2")
    option("--reward-scale", type=positive_number, default=10.0, metavar="X", help="default 10")
    option(
        "--episode-steps",
        type=_count,
        default=EPISODE_STEPS,
        metavar="N",
        help=f"where training cuts episodes (default {EPISODE_STEPS})",
    )
    option(
        "--evaluations", type=_count, default=10, metavar="N", help="while training (default 10)"
    )
    option(
        "--eval-envs", type=_count, default=32, metavar="N", help="episodes of each (default 32)"
    )
    option("--runs-dir", type=Path, default=Path("runs"), metavar="DIR", help="folder of the runs")
    args = parser.parse_or_refuse(argv)
    if args.env is None:
        raise UserError(f"which environment? such as {NAMESPACE}/inverted_pendulum (see --help)")
    args.env = find_env(args.env)
    if args.gamma > 1.0:
        raise ConfigError(f"--gamma: a discount is at most 1, not {args.gamma:g}")
    return args


def find_env(text: str) -> str:
    """Return the id of an environment of Brax.

    Raises:
        ConfigError: There is none of that name; the nearest is given.
    """
    name = text.removeprefix(f"{NAMESPACE}/")
    if name in NAMES:
        return f"{NAMESPACE}/{name}"
    near = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.5)
    hint = f"did you mean {NAMESPACE}/{near[0]}?" if near else f"there are {', '.join(NAMES)}"
    raise ConfigError(f"Brax has no environment '{text}'; {hint}")


def parse_eval_args(argv: Sequence[str]) -> argparse.Namespace:
    """Read the command line of an evaluation.

    Raises:
        UserError: Something is wrong in it.
    """
    parser = OptionParser(
        prog="brax_eval_policy.py",
        description="Judge a policy that brax_train_policy.py has trained, and film it.",
        allow_abbrev=False,
    )
    option = parser.add_option
    option(
        "run", nargs="?", default="@last", metavar="RUN", help="@last (default), an id or a path"
    )
    option("--episodes", type=_count, default=10, metavar="N", help="fresh episodes (default 10)")
    option(
        "--seed", type=whole_number(least=0), metavar="N", help="of the first (default: its own)"
    )
    option("--sampled", action="store_true", help="draw actions rather than take the best")
    option(
        "--video",
        nargs="?",
        const="",
        metavar="FILE",
        help="film the first episode (default: among the videos of the run)",
    )
    option("--video-steps", type=_count, default=500, metavar="N", help="of the film (default 500)")
    option("--runs-dir", type=Path, default=Path("runs"), metavar="DIR", help="folder of the runs")
    return parser.parse_or_refuse(argv)
