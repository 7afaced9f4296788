"""Write a trained policy as ONNX or torch.export: `python scripts/export_policy.py @last`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.errors import exit_on_user_error
from utils.export import ExportPlan, parse_export_args, plan_export
from utils.run.selection import work_on_checkpoint


def main() -> int:
    """Parse the command line, load the policy, export it, compare, write the file."""
    args = parse_export_args(sys.argv[1:])
    work_on_checkpoint(plan_export(args), _export, choose=lambda: plan_export(args))
    return 0


def _export(plan: ExportPlan) -> None:
    import torch

    from agents.loading import load_policy
    from utils.export.export import describe_export, export_policy
    from utils.playback.environment import build_playback_env
    from utils.storage import storage_errors, write_bytes

    torch.set_num_threads(plan.config.torch_threads)
    env = build_playback_env(plan.config, render_mode=None)
    try:
        loaded = load_policy(plan.config, plan.checkpoint, env=env)
        timesteps = loaded.counters.timesteps
        export = export_policy(
            plan.config, loaded.policy, env, format=plan.args.format, timesteps=timesteps
        )
    finally:
        env.close()
    with storage_errors(plan.output):
        plan.output.parent.mkdir(exist_ok=True)
    write_bytes(plan.output, export.content)
    print(f"{plan.config.config_id}, run {plan.run.id}, {plan.checkpoint.stem}: {plan.output}")
    print("\n".join([*(f"note: {note}" for note in plan.notes), describe_export(export)]))


if __name__ == "__main__":
    exit_on_user_error(main)
