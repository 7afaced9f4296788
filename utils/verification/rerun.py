"""The training of a stored run once more, in a folder of its own, watched row by row."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from utils.errors import RunFailedError
from utils.jobs import Job, sigterm_as_interrupt
from utils.run import Run, list_runs
from utils.storage import TailFile, parse_records

ROOT = Path(__file__).resolve().parents[2]
_POLL_SECONDS = 0.05
_STOP_SECONDS = 20.0
_SILENT = {"video": "none", "wandb": "false", "trackio": "false", "tensorboard": "false"}
"""Settings that only concern what is shown to people; they change nothing that is learnt."""
_KEPT_CHECKPOINTS = 1000


class Rerun:
    """One process that trains a run again."""

    def __init__(
        self,
        run: Run,
        folder: Path,
        *,
        save_every: int,
        facts: Mapping[str, Any],
        n_processes: int = 1,
    ) -> None:
        """Prepare it; nothing runs yet.

        Args:
            run: The stored run.
            folder: Gets the new run and what the process prints.
            save_every: Epochs between two checkpoints, so that the wanted one is made.
            facts: What was recorded of the process that trained the run first.
            n_processes: How many trained it together, which do so again on this machine.
        """
        changes = {
            **_SILENT,
            "devices": str(n_processes),
            "num_nodes": "1",
            "checkpoint_freq_epochs": str(save_every),
            "keep_checkpoints": str(_KEPT_CHECKPOINTS),
        }
        sets = [part for key, value in changes.items() for part in ("--set", f"{key}={value}")]
        command = [sys.executable, str(ROOT / "train.py"), "--like", str(run.config_path), "-q"]
        command += [*sets, "--runs-dir", str(folder / "runs"), *_beginning(facts)]
        self._job = Job(command, output=folder / "output.txt")
        self._runs_dir = folder / "runs"
        self._file: TailFile | None = None

    def follow(self, take: Callable[[Mapping[str, Any]], bool]) -> None:
        """Train, and give every row of metrics to `take` until that says it has seen enough.

        Raises:
            RunFailedError: The training failed.
            KeyboardInterrupt: Ctrl-C or SIGTERM; no process is left.
        """
        with sigterm_as_interrupt():
            try:
                self._job.start()
                if not self._follow(take):
                    self._ask_to_stop()
                elif self._job.exit_code != 0:
                    raise RunFailedError(f"training again failed: {self._job.last_output()}")
            finally:
                self._job.stop(signal.SIGKILL)
                if self._job.process is not None:
                    self._job.process.wait()

    @property
    def run(self) -> Run | None:
        """The new run; None before it is made."""
        runs = list_runs(self._runs_dir)
        return runs[0] if runs else None

    def _follow(self, take: Callable[[Mapping[str, Any]], bool]) -> bool:
        """Return whether the training came to its own end."""
        while True:
            is_over = self._job.is_ended()  # asked before the rows, so that the last ones are in
            for row in self._new_rows():
                if not take(row):
                    return False
            if is_over:
                return True
            time.sleep(_POLL_SECONDS)

    def _new_rows(self) -> list[dict[str, Any]]:
        if self._file is None:
            run = self.run
            if run is None:
                return []
            self._file = TailFile(run.metrics_jsonl)
        rows: list[dict[str, Any]] = []
        while lines := self._file.read():
            rows += parse_records(lines)
        return rows

    def _ask_to_stop(self) -> None:
        self._job.stop(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        while self._job.is_running() and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)


def _beginning(facts: Mapping[str, Any]) -> list[str]:
    """Return the options of a run that did not begin by its config alone."""
    words = ["--debug"] if facts.get("is_debug") else []
    checkpoint = facts.get("initial_checkpoint")
    if isinstance(checkpoint, str):
        path = Path(checkpoint)
        if not path.is_file():
            raise RunFailedError(
                f"the run began with the weights of '{path}', which is gone: it cannot be "
                "trained again"
            )
        words += ["--init-from-run", f"{path.parent.parent}/{path.stem}"]
    return words
