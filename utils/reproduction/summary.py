"""The numbers of one config over its seeds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from utils.statistics import mean_half_width


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over seeds."""

    mean: float
    half_width: float | None
    """Half of its 95 % interval by Student's t over the seeds; None for one seed."""

    def __str__(self) -> str:
        interval = "" if self.half_width is None else f" ± {self.half_width:.2f}"
        return f"{self.mean:.2f}{interval}"


@dataclass(frozen=True, slots=True)
class Summary:
    """All seeds of one config. A seed's value is a mean over the test episodes."""

    seeds: tuple[int, ...]
    best: Estimate
    """Of the policy that evaluated best while training."""
    last: Estimate
    """Of the policy at the end."""
    best_means: tuple[float, ...]
    """Of each seed."""
    last_means: tuple[float, ...]
    n_episodes: int
    """Test episodes asked of each policy."""
    n_unfinished: int
    """Of these, over all policies, those that did not end in time; they are in no mean."""
    mean_timesteps: float
    mean_seconds: float
    """Wall time of training and test."""

    def means(self, policy: Literal["best", "last"]) -> tuple[float, ...]:
        """Return the value of each seed's best or last policy."""
        return self.best_means if policy == "best" else self.last_means


def summarize(results: Sequence[Mapping[str, Any]], metric: str | None = None) -> Summary:
    """Summarise the `results.json` of several seeds of one config.

    Seeds weigh alike, whatever their number of episodes: the seed is what was sampled.

    Args:
        results: Of each seed.
        metric: Of the evaluation's metrics the one that is summarised; None: the return.

    Raises:
        AssertionError: No result, two of one seed, or tests of unequal length.
    """
    assert results
    ordered = sorted(results, key=lambda result: result["seed"])
    seeds = tuple(result["seed"] for result in ordered)
    assert len(set(seeds)) == len(seeds), seeds
    tests = [result["test"][name] for result in ordered for name in ("best", "last")]
    counts = {len(test["returns"]) + test["n_unfinished"] for test in tests}
    assert len(counts) == 1, f"tests of {sorted(counts)} episodes"
    best_means = tuple(_value(result["test"]["best"], metric) for result in ordered)
    last_means = tuple(_value(result["test"]["last"], metric) for result in ordered)
    return Summary(
        seeds=seeds,
        best=_estimate(best_means),
        last=_estimate(last_means),
        best_means=best_means,
        last_means=last_means,
        n_episodes=counts.pop(),
        n_unfinished=sum(test["n_unfinished"] for test in tests),
        mean_timesteps=statistics.fmean(result["timesteps"] for result in ordered),
        mean_seconds=statistics.fmean(wall_seconds(result) for result in ordered),
    )


def wall_seconds(result: Mapping[str, Any]) -> float:
    """Return the wall time of training and test that a `results.json` tells.

    The clock of a process does not know of those before it, which a resumed training had; that of
    the training does, but not of the test.
    """
    best, last = result["test"]["best"], result["test"]["last"]
    tests = [best] if best == last else [best, last]  # the same policy is tested once
    seconds = float(result["training_seconds"]) + sum(test.get("seconds", 0.0) for test in tests)
    return max(float(result["process_seconds"]), seconds)


def unmeasured(results: Sequence[Mapping[str, Any]], metric: str | None = None) -> str | None:
    """Say why results have no value, such as that no test episode came to its end; None for none.

    Args:
        results: `results.json` of each seed.
        metric: Of the evaluation's metrics the one that is wanted; None: the return.
    """
    for result in sorted(results, key=lambda result: result["seed"]):
        for name, test in result["test"].items():
            if not test["returns"]:
                return f"no test episode of the {name} policy of seed {result['seed']} has ended"
            if metric is not None and metric not in test["metrics"]:
                return f"the test of seed {result['seed']} has no '{metric}'"
    return None


def _value(test: Mapping[str, Any], metric: str | None) -> float:
    value = statistics.fmean(test["returns"]) if metric is None else test["metrics"][metric]
    return float(value)


def _estimate(means: Sequence[float]) -> Estimate:
    return Estimate(statistics.fmean(means), mean_half_width(means))
