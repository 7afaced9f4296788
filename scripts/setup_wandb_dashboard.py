"""Save a view of our metrics in a W&B project: `python scripts/setup_wandb_dashboard.py`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.config.option_parser import OptionParser
from utils.errors import UserError, exit_on_user_error


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = OptionParser(
        prog="setup_wandb_dashboard.py",
        description="Save a view that shows a project's runs as the console does. Done twice, "
        "nothing changes.",
        allow_abbrev=False,
    )
    parser.add_option(
        "--project",
        default="gymnasium-solver",
        metavar="NAME",
        help="project (default gymnasium-solver)",
    )
    parser.add_option("--entity", metavar="NAME", help="user or team (default: that of the key)")
    parser.add_option(
        "--overwrite", action="store_true", help="put our panels back into a view that was changed"
    )
    parser.add_option(
        "--select-latest", action="store_true", help="show the newest run and hide the others"
    )
    return parser.parse_or_refuse()


def main() -> None:
    """Set up the view and say where it is."""
    options = read_options()
    from utils.loggers.wandb import has_key
    from utils.loggers.wandb_dashboard import setup_dashboard

    if not has_key() or os.environ.get("WANDB_MODE") == "offline":
        raise UserError("a view lives on W&B's server: log in first with  wandb login")
    made = setup_dashboard(
        project=options.project,
        entity=options.entity,
        overwrite=options.overwrite,
        select_latest=options.select_latest,
    )
    text = {
        "created": "created",
        "replaced": "panels put back",
        "kept": "is there already (--overwrite puts our panels back)",
    }[made.outcome]
    print(f"{text}: {made.url}")
    if made.selected_run is not None:
        print(f"shown: {made.selected_run}")


if __name__ == "__main__":
    exit_on_user_error(main)
