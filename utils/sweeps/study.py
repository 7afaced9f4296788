"""The study of a sweep: what was tried, what came of it, and what is tried next."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial, Trial, TrialState

from utils.errors import ConfigError
from utils.storage import storage_errors
from utils.sweeps.journal import exclusive, open_journal
from utils.sweeps.presence import Presence
from utils.sweeps.samplers import SeededSampler, build_pruner
from utils.sweeps.spec import SweepSpec

SETTINGS, ERROR, PROCESS, SECONDS, RUNS, AGAIN = (
    "settings",
    "error",
    "process",
    "seconds",
    "runs",
    "again",
)
_SHAPE = "sweep"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many trials of a study stand where."""

    complete: int
    pruned: int
    failed: int
    """Failed by themselves; they count as tried."""
    lost: int
    """Running when their sweep process ended; they are done again."""
    running: int
    waiting: int

    @property
    def tried(self) -> int:
        """Trials that need not be done again."""
        return self.complete + self.pruned + self.failed


class SweepStudy:
    """A study in a folder, shared by all processes that work on it."""

    def __init__(
        self, spec: SweepSpec, folder: Path, *, seed: int, n_seeds: int, is_read_only: bool = False
    ) -> None:
        """Open the study, or begin it; trials of processes that are gone are laid down again.

        Args:
            spec: The sweep.
            folder: Where the journal lies; made when it is missing.
            seed: Seed of the choices, >= 0.
            n_seeds: Trainings of each trial, >= 1.
            is_read_only: Only look at what was found; how it was judged may differ then.

        Raises:
            ConfigError: The folder holds the study of another sweep.
            StorageError: The folder cannot be written.
        """
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.spec = spec
        self._lock_path = folder / "sweep.lock"
        self._presence = Presence(folder / "workers")
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with exclusive(self._lock_path):
            self._study = optuna.create_study(
                study_name=spec.name,
                storage=open_journal(folder / "journal.log"),
                sampler=SeededSampler(spec.method, seed=seed),
                pruner=build_pruner(spec.early_terminate),
                direction=spec.metric.goal,
                load_if_exists=True,
            )
            if not is_read_only:
                self._check_same_sweep(folder, {"file": spec.fingerprint, "seeds": n_seeds})
                self._lay_down_grid()
                self._lay_down_lost()

    @property
    def n_grid(self) -> int | None:
        """Points of the grid; None for other methods."""
        if self.spec.method != "grid":
            return None
        return math.prod(len(p.grid() or []) for p in self.spec.parameters.values())

    @property
    def trials(self) -> list[FrozenTrial]:
        """All trials, by number."""
        return self._study.get_trials(deepcopy=False)

    @property
    def best(self) -> FrozenTrial | None:
        """The complete trial with the best value (the earliest of equals); None without one."""
        done = [trial for trial in self.trials if trial.state is TrialState.COMPLETE]
        sign = 1.0 if self.spec.metric.is_better_larger else -1.0
        return max(done, key=lambda trial: sign * (trial.value or 0.0), default=None)

    def counts(self) -> Counts:
        """Count the trials by what became of them."""
        names = [state_of(trial) for trial in self.trials]
        order = ("complete", "pruned", "failed", "lost", "running", "waiting")
        return Counts(*(names.count(name) for name in order))

    def is_target_reached(self) -> bool:
        """Say whether a trial has reached `metric.target`."""
        target, best = self.spec.metric.target, self.best
        if target is None or best is None or best.value is None:
            return False
        return best.value >= target if self.spec.metric.is_better_larger else best.value <= target

    def ask(self, n_trials: int) -> tuple[Trial, dict[str, Any]] | None:
        """Choose the next trial and its settings; None once `n_trials` are tried or running.

        What another process was at when it died is laid down again before.
        """
        with exclusive(self._lock_path):
            self._presence.beat()
            self._lay_down_lost()
            counts = self.counts()
            if counts.tried + counts.running >= n_trials or self.is_target_reached():
                return None
            if self.spec.method == "grid" and counts.waiting == 0:
                return None
            trial = self._study.ask()
            trial.set_user_attr(PROCESS, self._presence.process)
            settings = {
                name: parameter.suggest(name, trial)
                for name, parameter in self.spec.parameters.items()
            }
            trial.set_user_attr(SETTINGS, settings)
        return trial, settings

    def beat(self) -> None:
        """Tell processes of other machines that this one still works."""
        self._presence.beat()

    def report(self, trial: Trial, value: float, *, step: int) -> bool:
        """Take the value of one evaluation; says whether the trial lags behind."""
        trial.report(value, step)
        return trial.should_prune()

    def complete(self, trial: Trial, value: float) -> None:
        """Note the value of a trial."""
        self._study.tell(trial, value)

    def prune(self, trial: Trial) -> None:
        """Note that a trial was stopped because it lagged behind."""
        self._study.tell(trial, state=TrialState.PRUNED)

    def fail(self, trial: Trial, error: str) -> None:
        """Note that a trial failed by itself."""
        trial.set_user_attr(ERROR, error)
        self._study.tell(trial, state=TrialState.FAIL)

    def give_up(self, trial: Trial) -> None:
        """Note that a trial was interrupted, and lay it down to be done again."""
        with exclusive(self._lock_path):
            self._study.tell(trial, state=TrialState.FAIL)
            self._lay_down_again(self.trials[trial.number])

    def importances(self) -> dict[str, float] | None:
        """Return how much each parameter matters for the best quarter of the trials, in all 1.

        A trial that was stopped because it lagged behind counts with its last value.

        Returns:
            None where too few trials have ended to say.
        """
        ended = [trial for trial in self.trials if _last_value(trial) is not None]
        if len(ended) < 10 or len({_last_value(trial) for trial in ended}) < 4:
            return None
        judged = optuna.create_study(direction=self.spec.metric.goal)
        for trial in ended:
            judged.add_trial(
                optuna.trial.create_trial(
                    value=_last_value(trial),
                    params=trial.params,
                    distributions=trial.distributions,
                )
            )
        evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=0.25)
        return optuna.importance.get_param_importances(judged, evaluator=evaluator)

    def _check_same_sweep(self, folder: Path, shape: Mapping[str, Any]) -> None:
        known = self._study.user_attrs.get(_SHAPE)
        if known is None:
            self._study.set_user_attr(_SHAPE, dict(shape))
        elif known != shape:
            what = _what_differs(known, shape, self.spec.path)
            raise ConfigError(
                f"{folder} holds a study that was begun otherwise ({what}); "
                "go on with what it was begun with, or give another --out"
            )

    def _lay_down_grid(self) -> None:
        """Let every point of a grid wait its turn."""
        if self.spec.method != "grid":
            return
        parameters = self.spec.parameters
        points = itertools.product(*(parameter.grid() or [] for parameter in parameters.values()))
        laid = len([trial for trial in self.trials if AGAIN not in trial.user_attrs])
        for values in itertools.islice(points, laid, None):  # a kill may have come in between
            coordinates = {
                name: coordinate
                for (name, parameter), value in zip(parameters.items(), values, strict=True)
                for coordinate in parameter.encode(value).values()
            }
            self._study.enqueue_trial(coordinates)

    def _lay_down_lost(self) -> None:
        for trial in self.trials:
            process = trial.user_attrs.get(PROCESS)
            if trial.state is TrialState.RUNNING and not self._presence.is_alive(process):
                self._study.tell(trial.number, state=TrialState.FAIL)
                self._lay_down_again(trial)

    def _lay_down_again(self, trial: FrozenTrial) -> None:
        # A trial that ended before it chose has only what was laid down for it.
        coordinates = trial.system_attrs.get("fixed_params", {}) | trial.params
        self._study.enqueue_trial(coordinates, user_attrs={AGAIN: trial.number})


def _what_differs(known: Mapping[str, Any], shape: Mapping[str, Any], path: Path) -> str:
    """Say in words what a study was begun with otherwise."""
    if known["file"] == shape["file"]:
        return "--seeds differs"
    before, now = json.loads(known["file"]), json.loads(shape["file"])
    different = {key for key in now if before.get(key) != now[key]}
    if different == {"metric"}:
        return "the metric differs"
    return f"what is tried, {path}, differs"


def _last_value(trial: FrozenTrial) -> float | None:
    """Return the value of a complete trial, the last one of a pruned one, None of others."""
    if trial.state is TrialState.PRUNED and trial.intermediate_values:
        return trial.intermediate_values[max(trial.intermediate_values)]
    return trial.value if trial.state is TrialState.COMPLETE else None


def state_of(trial: FrozenTrial) -> str:
    """Return complete, pruned, failed, lost, running or waiting."""
    if trial.state is TrialState.FAIL:
        return "failed" if ERROR in trial.user_attrs else "lost"
    return {
        TrialState.COMPLETE: "complete",
        TrialState.PRUNED: "pruned",
        TrialState.RUNNING: "running",
        TrialState.WAITING: "waiting",
    }[trial.state]
