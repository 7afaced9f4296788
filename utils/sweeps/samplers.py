"""How a study chooses: samplers and pruners for what a sweep file says."""

from __future__ import annotations

from typing import Any

import numpy as np
from optuna.pruners import BasePruner, MedianPruner, NopPruner, SuccessiveHalvingPruner
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from typing_extensions import override

from utils.sweeps.spec import EarlyTerminate

_MEDIAN_STARTUP = 4


class SeededSampler(BaseSampler):
    """Seeds a sampler anew for each trial, by the trial's number.

    So a study that is stopped and started again goes on with new draws, two processes never draw
    the same, and one process alone draws what it would have drawn without a stop.
    """

    def __init__(self, method: str, *, seed: int) -> None:
        """Take the method.

        Args:
            method: `bayes` is the tree-structured Parzen estimator; `random` and `grid` (whose
                trials are all laid down beforehand) draw independently.
            seed: Seed of the sweep, >= 0.
        """
        self._method = method
        self._seed = seed
        self._inner: BaseSampler = RandomSampler(seed=seed)

    @override
    def before_trial(self, study: Any, trial: Any) -> None:
        seed = int(np.random.SeedSequence([self._seed, trial.number]).generate_state(1)[0])
        is_model = self._method == "bayes"
        self._inner = TPESampler(seed=seed) if is_model else RandomSampler(seed=seed)
        self._inner.before_trial(study, trial)

    @override
    def infer_relative_search_space(self, study: Any, trial: Any) -> Any:
        return self._inner.infer_relative_search_space(study, trial)

    @override
    def sample_relative(self, study: Any, trial: Any, search_space: Any) -> Any:
        return self._inner.sample_relative(study, trial, search_space)

    @override
    def sample_independent(
        self, study: Any, trial: Any, param_name: str, param_distribution: Any
    ) -> Any:
        return self._inner.sample_independent(study, trial, param_name, param_distribution)

    @override
    def after_trial(self, study: Any, trial: Any, state: Any, values: Any) -> None:
        self._inner.after_trial(study, trial, state, values)


def build_pruner(early: EarlyTerminate | None) -> BasePruner:
    """Build what decides whether a trial lags behind; one step is one value of the metric.

    W&B's hyperband compares at `min_iter`, `min_iter * eta`, ... values and lets one of `eta`
    trials go on: that is asynchronous successive halving.
    """
    if early is None:
        return NopPruner()
    if early.kind == "median":
        return MedianPruner(n_startup_trials=_MEDIAN_STARTUP, n_warmup_steps=early.min_iter - 1)
    return SuccessiveHalvingPruner(min_resource=early.min_iter, reduction_factor=early.eta)
