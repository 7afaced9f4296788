"""Watch a trained policy: `python run_play.py --run-id @last`."""

from __future__ import annotations

import sys

from utils.errors import exit_on_user_error
from utils.lazy_imports import collector_paused, postpone_library_parts
from utils.playback import parse_play_args, plan_play


def main() -> int:
    """Parse the command line, find the run, play its policy."""
    # Mistakes about runs and options are told before anything heavy is imported.
    plan = plan_play(parse_play_args(sys.argv[1:]))
    with collector_paused():
        postpone_library_parts()

        from agents.loading import load_policy
        from utils.playback.session import PlaySession

    with PlaySession(plan) as session:
        loaded = load_policy(plan.config, plan.checkpoint, env=session.env)
        session.play(loaded.policy, timesteps=loaded.counters.timesteps)
    return 0


if __name__ == "__main__":
    exit_on_user_error(main)
