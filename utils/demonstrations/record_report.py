"""What a person reads while a dataset is recorded, and what the dataset says of itself."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from utils.demonstrations.record_plan import RecordPlan
from utils.statistics import mean_half_width
from utils.text_tables import counted

_SECONDS_BETWEEN_LINES = 5.0


class Teller:
    """Tells on stderr how far a recording is: one line that changes, or some where it cannot."""

    def __init__(self, plan: RecordPlan, *, n_before: int) -> None:
        """Say what begins, or goes on.

        Args:
            plan: Of the recording.
            n_before: Episodes that an earlier call has recorded.
        """
        self._n, self._is_quiet = plan.args.n_episodes, plan.args.is_quiet
        self._is_live = sys.stderr.isatty()
        self._told_at = 0.0
        self._has_line = False
        if self._is_quiet:
            return
        for note in plan.notes:
            print(f"note: {note}", file=sys.stderr)
        if n_before:
            done = min(n_before, self._n)
            print(f"note: {done} episodes were recorded before; going on", file=sys.stderr)

    def __call__(self, n_done: int) -> None:
        """Tell how many episodes there are."""
        if self._is_quiet:
            return
        now = time.monotonic()
        if not self._is_live and n_done < self._n and now - self._told_at < _SECONDS_BETWEEN_LINES:
            return
        self._told_at = now
        text = f"{min(n_done, self._n)} of {self._n} episodes"
        print(f"\r{text}" if self._is_live else text, end="", file=sys.stderr, flush=True)
        if not self._is_live:
            print(file=sys.stderr, flush=True)
        self._has_line = self._is_live

    def end(self) -> None:
        """Leave the line that changed."""
        if self._has_line:
            print(file=sys.stderr)


def facts_of(plan: RecordPlan, *, timesteps: int) -> dict[str, Any]:
    """Return what the metadata of a dataset says of how it was made, in Minari's words."""
    how = "sampled" if plan.args.is_stochastic else "greedy"
    config = plan.config
    return {
        "algorithm_name": config.algo_id,
        "description": (
            f"{config.env_id} played by {config.config_id}, seed {config.seed}, after "
            f"{timesteps:,} timesteps ({plan.checkpoint.stem}); {how} actions; episode k is reset "
            f"with seed {plan.args.seed} + k"
        ),
        "recorded_from": config.config_id,
        "recorded_env_id": config.env_id,
    }


def describe_dataset(plan: RecordPlan, folder: Path, returns: np.ndarray) -> str:
    """Say what was recorded and what can be done with it."""
    half_width = mean_half_width([float(value) for value in returns])
    interval = "" if half_width is None else f" ± {half_width:.2f}"
    how = "sampled" if plan.args.is_stochastic else "greedy"
    return "\n".join(
        [
            f"{plan.dataset}: {counted(len(returns), 'episode')} of {plan.config.config_id}, run "
            f"{plan.run.id}, {plan.checkpoint.stem}, mean return {returns.mean():.2f}{interval} "
            f"({how})",
            f"  files   {folder}",
            f"  learn   python train.py {plan.config.env_id}:bc --set dataset={plan.dataset}",
        ]
    )
