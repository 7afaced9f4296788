"""Verifies one run: stored rows, weights and test against those of a second training."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.checkpoints import load_checkpoint
from utils.config import load_config_json
from utils.errors import CheckpointError, UserError
from utils.loggers.jsonl import read_jsonl
from utils.run import Run
from utils.storage import read_json
from utils.verification.equality import (
    GPU_TOLERANCE,
    RowDifference,
    compare_rows,
    compare_states,
    count_numbers,
)
from utils.verification.reasons import explain, explain_demonstrations, explain_tests
from utils.verification.rerun import Rerun


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of training a run again."""

    n_rows: int
    """Epochs whose metrics are the same."""
    n_stored_rows: int
    """Epochs that were to be compared."""
    row: RowDifference | None
    """The first epoch that is not the same."""
    weights_epoch: int | None
    """Epoch of the checkpoints that were compared; None where none were."""
    n_numbers: int
    """Numbers in the tensors of that checkpoint."""
    states: tuple[str, ...]
    """Places at which the checkpoints differ."""
    n_test_returns: int
    """Test returns that were compared."""
    tests: tuple[str, ...]
    """Policies whose test is not the same."""
    is_short: bool
    """Whether the second training ended before the stored one had."""
    reasons: tuple[str, ...]
    """What is not as it was when the run was trained."""
    tolerance: float

    @property
    def is_verified(self) -> bool:
        """Whether everything that was compared is the same."""
        return not (self.row or self.states or self.tests or self.is_short)


@dataclass(frozen=True, slots=True)
class _Stored:
    """What the stored run tells, up to where it is to be compared."""

    rows: list[dict[str, Any]]
    state: Mapping[str, Any] | None
    epoch: int | None
    """Of the checkpoint."""
    is_whole: bool
    """Whether the run came to its end and all of it is compared."""
    sessions: list[dict[str, Any]]
    results: Mapping[str, Any]


def verify_run(
    run: Run,
    *,
    until: int | None,
    tolerance: float | None,
    folder: Path | None,
    tell: Callable[[int, int], None],
) -> Verdict:
    """Train a run again and compare it with what is stored.

    Args:
        run: A run that nobody trains now.
        until: Compare up to so many timesteps; None for all of it.
        tolerance: Relative; None for bit for bit on the CPU and `GPU_TOLERANCE` on a GPU.
        folder: Keeps the second training; None for a temporary one.
        tell: Hears how many epochs of how many have been compared, at first that none have: by
            then all is checked that can be.

    Raises:
        UserError: The run cannot be verified, or its config cannot be read.
        RunFailedError: The second training failed.
    """
    loaded = load_config_json(run.config_path)
    config = loaded.to_dict()
    stored = _read_stored(run, until)
    facts = stored.sessions[0] if stored.sessions else {}
    device = stored.sessions[-1].get("device", "cpu") if stored.sessions else "cpu"
    if tolerance is None:
        tolerance = 0.0 if device == "cpu" else GPU_TOLERANCE
    with _place(folder) as place:
        save_every = stored.epoch or max(1, len(stored.rows))
        rerun = Rerun(
            run, place, save_every=save_every, facts=facts, n_processes=loaded.n_processes
        )
        watch = _Watch(stored, tolerance=tolerance, tell=tell)
        tell(0, len(stored.rows))
        rerun.follow(watch.take)
        again = rerun.run
        if again is None:
            raise UserError("training again left no run")
        return _judge(stored, watch, again, config=config, tolerance=tolerance)


class _Watch:
    """Compares rows as they come."""

    def __init__(
        self, stored: _Stored, *, tolerance: float, tell: Callable[[int, int], None]
    ) -> None:
        self._stored = stored
        self._tolerance = tolerance
        self._tell = tell
        self.n_rows = 0
        self.difference: RowDifference | None = None
        self.n_extra = 0

    def take(self, row: Mapping[str, Any]) -> bool:
        """Compare the next row; says whether more are wanted."""
        rows = self._stored.rows
        if self.n_rows >= len(rows):
            self.n_extra += 1
            # The row after the last one: by now the checkpoint of that one is written.
            return False
        self.difference = compare_rows(
            rows[self.n_rows], _with_numbers(row), tolerance=self._tolerance
        )
        if self.difference is not None:
            return False
        self.n_rows += 1
        self._tell(self.n_rows, len(rows))
        return True


def _judge(
    stored: _Stored, watch: _Watch, again: Run, *, config: Mapping[str, Any], tolerance: float
) -> Verdict:
    states: list[str] = []
    epoch, n_numbers, n_tests = None, 0, 0
    tests: list[str] = []
    of_tests: list[str] = []
    is_short = watch.difference is None and watch.n_rows < len(stored.rows)
    is_long = stored.is_whole and watch.n_extra > 0
    is_same = watch.difference is None and not is_short
    if is_same and stored.state is not None:
        state = load_checkpoint(again.checkpoint(f"epoch={stored.epoch:02}"))
        states = compare_states(stored.state, state, tolerance=tolerance)
        epoch, n_numbers = stored.epoch, count_numbers(stored.state)
    if is_same and stored.is_whole and not is_long:
        results = read_json(again.results_path) or {}
        tests, n_tests = _compare_tests(stored.results, results, tolerance=tolerance)
        of_tests = explain_tests(stored.results, results)
    facts = again.read_environment_facts()
    if config["num_nodes"] > 1:
        of_tests.append(
            f"it was trained on {config['num_nodes']} machines, and again by as many processes on "
            "this one"
        )
    reasons = explain(
        stored.sessions, facts[-1] if facts else {}, config=config, results=stored.results
    )
    if not is_same and stored.state is not None and again.has_checkpoint():
        last = load_checkpoint(again.checkpoint("@last"))
        reasons = [*explain_demonstrations(stored.state, last), *reasons]
    return Verdict(
        n_rows=watch.n_rows,
        n_stored_rows=len(stored.rows),
        row=watch.difference,
        weights_epoch=epoch,
        n_numbers=n_numbers,
        states=tuple(states),
        n_test_returns=n_tests,
        tests=tuple(tests),
        is_short=is_short or is_long,
        reasons=(*of_tests, *reasons),
        tolerance=tolerance,
    )


def _read_stored(run: Run, until: int | None) -> _Stored:
    status = run.read_status()
    if "imported_at" in status:
        raise UserError(
            f"run '{run.id}' was {status.get('reason', 'imported')}: there is no training of ours "
            "to repeat"
        )
    if status["status"] == "running":
        raise UserError(f"run '{run.id}' is being trained: verify it when it has ended")
    rows = [
        row for row in read_jsonl(run.metrics_jsonl) if until is None or row["timesteps"] <= until
    ]
    if not rows:
        raise UserError(
            f"run '{run.id}' has no metrics" + (f" up to {until:,} timesteps" if until else "")
        )
    epoch, state = None, None
    with contextlib.suppress(CheckpointError):
        for checkpoint in run.list_checkpoints():
            saved = run.timesteps_of(checkpoint)
            if saved is not None and (until is None or saved <= until):
                epoch = int(checkpoint.stem.removeprefix("epoch="))
                state = load_checkpoint(checkpoint)
    return _Stored(
        rows=rows,
        state=state,
        epoch=epoch,
        is_whole=status["status"] == "completed" and until is None,
        sessions=run.read_environment_facts(),
        results=read_json(run.results_path) or {},
    )


def _compare_tests(
    stored: Mapping[str, Any], again: Mapping[str, Any], *, tolerance: float
) -> tuple[list[str], int]:
    tests, others = stored.get("test") or {}, again.get("test") or {}
    different, n = [], 0
    for name, test in tests.items():
        n += len(test["returns"])
        row = {str(i): value for i, value in enumerate(test["returns"])}
        other = {str(i): value for i, value in enumerate(others.get(name, {}).get("returns", []))}
        if compare_rows(row, other, tolerance=tolerance) is not None:
            different.append(name)
    return different, n


def _with_numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    """Turn the words of numbers that JSON does not know back into numbers."""
    words = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
    return {k: words.get(v, v) if isinstance(v, str) else v for k, v in row.items()}


@contextlib.contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        if folder.exists() and any(folder.iterdir()):
            raise UserError(f"--keep {folder}: the folder is not empty")
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="verify-") as name:
        yield Path(name)
