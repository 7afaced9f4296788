"""A sweep without a server: trials as processes of this machine."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

from utils.jobs import sigterm_as_interrupt
from utils.sweeps.study import RUNS, SECONDS, SweepStudy
from utils.sweeps.trial import TrialWork

_POLL_SECONDS = 0.1
_PRUNE_SECONDS = 60.0
"""How long a pruned training may take to save itself."""
_INTERRUPT_SECONDS = 5.0
DEFAULT_TRIALS = 20
PRUNED = "pruned"


class LocalSweep:
    """Runs the trials of a study, several at a time."""

    def __init__(
        self,
        study: SweepStudy,
        folder: Path,
        *,
        n_jobs: int,
        seeds: tuple[int | None, ...],
        tell: Callable[[str], None],
    ) -> None:
        """Take what is to be done.

        Args:
            study: Chooses the trials and keeps their values.
            folder: The trials' folders are made in it.
            n_jobs: Trainings side by side.
            seeds: Seeds of each trial; (None,) for one training with the config's own.
            tell: Hears of every start and end.
        """
        self._study = study
        self._folder = folder
        self._n_jobs = n_jobs
        self._seeds = seeds
        self._tell = tell
        self._active: list[TrialWork] = []

    def run(self, n_trials: int) -> None:
        """Work until so many trials are tried, in this process or in others on the same study.

        Raises:
            KeyboardInterrupt: The sweep was stopped; running trials will be done again.
        """
        with sigterm_as_interrupt():
            try:
                while self._start(n_trials) or self._active:
                    time.sleep(_POLL_SECONDS)
                    self._study.beat()
                    for work in list(self._active):
                        self._look_after(work)
            finally:
                self._give_up()

    def _start(self, n_trials: int) -> bool:
        """Fill the free places; says whether a training was started."""
        n_free = self._n_jobs - sum(work.n_places for work in self._active)
        n_started = 0
        while n_free > n_started:
            training = next((t for work in self._active for t in work.waiting), None)
            if training is None:
                if not self._begin_trial(n_trials):
                    break
                continue
            training.start()
            n_started += 1
        return n_started > 0

    def _begin_trial(self, n_trials: int) -> bool:
        asked = self._study.ask(n_trials)
        if asked is None:
            return False
        trial, settings = asked
        folder = self._folder / "trials" / f"{trial.number:04}"
        work = TrialWork(trial, settings, self._study.spec, folder, seeds=self._seeds)
        trial.set_user_attr(RUNS, [str(t.folder) for t in work.trainings])
        self._active.append(work)
        varying = {name: settings[name] for name in self._study.spec.varying}
        self._tell(f"trial {trial.number}: {describe_settings(varying)}")
        return True

    def _look_after(self, work: TrialWork) -> None:
        """Take new values, stop what lags behind or has failed, and note an end."""
        work.note_ends()
        is_over = work.is_over  # asked before the values are read, so that the last ones are in
        lags = [self._report(work, mean) for mean in work.new_means()]
        if is_over:
            self._active.remove(work)
            self._note_end(work)
        elif (failure := work.failure()) is not None:
            work.stop(failure, seconds=_INTERRUPT_SECONDS)
        elif any(lags):
            work.stop(PRUNED, seconds=_PRUNE_SECONDS)
        work.kill_if_late()

    def _report(self, work: TrialWork, mean: float) -> bool:
        step = len(work.reported) + 1
        work.reported.append(mean)
        return self._study.report(work.trial, mean, step=step)

    def _note_end(self, work: TrialWork) -> None:
        trial, name = work.trial, f"trial {work.trial.number}"
        trial.set_user_attr(SECONDS, work.seconds)
        failure = work.failure() if work.stop_reason is None else work.stop_reason
        if failure == PRUNED:
            self._study.prune(trial)
            n_done = len(work.reported)
            evaluations = "evaluation" if n_done == 1 else "evaluations"
            shown = f"{work.reported[-1]:.4g} after {n_done} {evaluations}"
            self._tell(f"{name}: pruned at {shown} ({work.seconds:.0f} s)")
            return
        if failure is None:
            try:
                values = [training.final_value() for training in work.trainings]
            except LookupError as error:
                failure = str(error)
            else:
                mean = sum(values) / len(values)
                self._study.complete(trial, mean)
                self._tell(f"{name}: {mean:.4g} ({work.seconds:.0f} s)")
                return
        self._study.fail(trial, failure)
        self._tell(f"{name}: failed: {failure}")

    def _give_up(self) -> None:
        """End every process that is left; a second interrupt does not wait."""
        for work in self._active:
            work.stop("interrupted", seconds=_INTERRUPT_SECONDS)
        try:
            while any(work.n_running for work in self._active):
                time.sleep(_POLL_SECONDS)
                for work in self._active:
                    work.kill_if_late()
        finally:
            for work in self._active:
                for training in work.trainings:
                    training.stop(signal.SIGKILL)
                self._study.give_up(work.trial)
            self._active.clear()


def describe_settings(settings: dict[str, object]) -> str:
    """Write settings on one line: `policy_lr=0.0031 n_steps=32`."""
    return " ".join(f"{key}={format_setting(value)}" for key, value in settings.items())


def format_setting(value: object) -> str:
    """Write a value as short as people read it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace(" ", "")
