"""Watch a trained policy: `python run_play.py --run-id @last`."""

from __future__ import annotations

import sys

from utils.errors import exit_on_user_error
from utils.lazy_imports import collector_paused, postpone_library_parts
from utils.playback import PlayPlan, parse_play_args, plan_play
from utils.run.selection import work_on_checkpoint


def main() -> int:
    """Parse the command line, find the run, play its policy."""
    # Mistakes about runs and options are told before anything heavy is imported.
    args = parse_play_args(sys.argv[1:])
    plan = plan_play(args)
    with collector_paused():
        postpone_library_parts()

        from agents.loading import load_policy
        from utils.playback.session import PlaySession

    def play(chosen: PlayPlan) -> None:
        with PlaySession(chosen) as session:
            loaded = load_policy(
                chosen.config, chosen.checkpoint, env=session.env, with_critic=True
            )
            session.play(loaded.policy, timesteps=loaded.counters.timesteps)

    work_on_checkpoint(plan, play, choose=lambda: plan_play(args))
    return 0


if __name__ == "__main__":
    exit_on_user_error(main)
