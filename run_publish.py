"""Publish a trained policy on the Hugging Face Hub: `python run_publish.py --run-id @last`."""

from __future__ import annotations

import sys

from utils.errors import exit_on_user_error
from utils.lazy_imports import collector_paused, postpone_library_parts
from utils.publishing import find_target, parse_publish_args, plan_publication
from utils.publishing.signals import end_on_signals
from utils.run.selection import work_on_checkpoint


def main() -> int:
    """Parse the command line, find the run, judge, film and publish its policy."""
    end_on_signals()
    # Mistakes about runs, options and logins are told before anything heavy is imported.
    args = parse_publish_args(sys.argv[1:])
    plan = plan_publication(args)
    target = find_target(plan)
    with collector_paused():
        postpone_library_parts()

        from agents.loading import load_policy
        from utils.publishing.publication import publish

    work_on_checkpoint(
        plan,
        lambda chosen: publish(chosen, target, load_policy),
        choose=lambda: plan_publication(args),
    )
    return 0


if __name__ == "__main__":
    exit_on_user_error(main)
