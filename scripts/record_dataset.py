"""Record a trained policy as a Minari dataset: `python scripts/record_dataset.py @last`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.demonstrations import RecordPlan, parse_record_args, plan_recording
from utils.errors import exit_on_user_error
from utils.run.selection import work_on_checkpoint


def main() -> int:
    """Parse the command line, load the policy, play, write the dataset."""
    args = parse_record_args(sys.argv[1:])
    work_on_checkpoint(plan_recording(args), _record, choose=lambda: plan_recording(args))
    return 0


def _record(plan: RecordPlan) -> None:
    import torch

    from agents.loading import load_policy
    from utils.demonstrations.record_report import Teller, describe_dataset, facts_of
    from utils.demonstrations.recording import EPISODES_AT_ONCE, Recording, record
    from utils.playback.environment import build_playback_env, step_limit

    args, config = plan.args, plan.config
    torch.set_num_threads(config.torch_threads)
    env = build_playback_env(config, render_mode=None, n_envs=EPISODES_AT_ONCE)
    try:
        loaded = load_policy(config, plan.checkpoint, env=env)
        recording = Recording(plan.dataset, plan.settings)
        tell = Teller(plan, n_before=recording.n_episodes)
        record(
            recording,
            env,
            loaded.policy,
            n_episodes=args.n_episodes,
            seed=args.seed,
            deterministic=not args.is_stochastic,
            max_steps=step_limit(config, env, None),
            tell=tell,
        )
        timesteps = loaded.counters.timesteps
        folder, returns = recording.finish(
            args.n_episodes, env, facts=facts_of(plan, timesteps=timesteps)
        )
    finally:
        env.close()
    tell.end()
    print(describe_dataset(plan, folder, returns))


if __name__ == "__main__":
    exit_on_user_error(main)
