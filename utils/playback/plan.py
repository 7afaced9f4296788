"""What one call of run_play.py will do, decided before anything heavy is imported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from utils.config import Config, load_config_json
from utils.playback.cli import PlayArgs
from utils.publishing.download import PublishedPolicy, fetch_policy
from utils.run import Run
from utils.run.options import check_seeds
from utils.run.selection import select_checkpoint


@dataclass(frozen=True, kw_only=True, slots=True)
class PlayPlan:
    """A run or a published policy that exists, its config, the checkpoint to play, and how."""

    args: PlayArgs
    run: Run | PublishedPolicy
    config: Config
    checkpoint: Path
    is_deterministic: bool
    notes: tuple[str, ...]
    """What a person should know about the choices made, one line each."""

    @property
    def checkpoint_name(self) -> str:
        """Name of the checkpoint file without its suffix; of a published policy that policy's."""
        if isinstance(self.run, PublishedPolicy):
            return self.run.name
        return self.checkpoint.name.removesuffix(".ckpt")

    @property
    def origin(self) -> str:
        """Where the policy comes from, for people."""
        if isinstance(self.run, PublishedPolicy):
            return self.run.id
        return f"run {self.run.id}, {self.checkpoint_name}"


def plan_play(args: PlayArgs) -> PlayPlan:
    """Find the run or fetch the published policy, with its config and checkpoint.

    Raises:
        UserError: One of them does not exist or cannot be had or read.
    """
    check_seeds(args.seed, args.episodes)
    run, config, checkpoint, notes = _find(args) if args.repo is None else _fetch(args.repo)
    deterministic = args.deterministic
    return PlayPlan(
        args=args,
        run=run,
        config=config,
        checkpoint=checkpoint,
        is_deterministic=config.eval_deterministic if deterministic is None else deterministic,
        notes=tuple(notes),
    )


def _find(args: PlayArgs) -> tuple[Run, Config, Path, list[str]]:
    run, checkpoint, chosen = select_checkpoint(args.run, args.checkpoint, runs_dir=args.runs_dir)
    notes = list(chosen)
    config = load_config_json(run.config_path)
    devices = [facts.get("device") for facts in run.read_environment_facts()]
    if devices and devices[-1] not in (None, "cpu"):
        notes.append(f"trained on {devices[-1]}, played on cpu")
    return run, config, checkpoint, notes


def _fetch(repo: str) -> tuple[PublishedPolicy, Config, Path, list[str]]:
    published = fetch_policy(repo)
    notes = []
    module, _, _ = published.config.env_id.rpartition(":")
    if module:
        notes.append(f"the environment comes from the module '{module}' of this machine")
    return published, published.config, published.weights, notes
