"""Watch the numbers of each epoch for signs of trouble."""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from utils.metrics_config import AlertRule, MetricsConfig, load_metrics_config

_NOT_FINITE_COOLDOWN = 50


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Alert:
    """One sign of trouble."""

    key: str
    """The metric."""
    value: float
    """Its value."""
    epoch: int
    """The epoch that was alarming."""
    bound: str
    """What the value was compared with, as text: `above 0.05`."""
    message: str
    """What it means."""
    causes: tuple[str, ...]
    """Likely reasons."""
    fixes: tuple[str, ...]
    """What to try first."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return dataclasses.asdict(self) | {"causes": list(self.causes), "fixes": list(self.fixes)}


@dataclasses.dataclass(slots=True)
class _Watch:
    """What one rule remembers: bounded, whatever the length of the run."""

    rule: AlertRule
    window: collections.deque[float]
    lowest: float = math.inf
    highest: float = -math.inf
    in_a_row: int = 0
    silent_until: int = 0

    def broken_bound(self, value: float) -> str | None:
        """Return which condition `value` breaks, as text."""
        rule = self.rule
        if rule.above is not None and value > rule.above:
            return f"above {rule.above:g}"
        if rule.below is not None and value < rule.below:
            return f"below {rule.below:g}"
        return self._broken_median(value) or self._broken_best(value)

    def add(self, value: float) -> None:
        """Remember a value after it was judged."""
        self.window.append(value)
        self.lowest = min(self.lowest, value)
        self.highest = max(self.highest, value)

    def _broken_median(self, value: float) -> str | None:
        grows, shrinks = self.rule.grows_by_factor, self.rule.shrinks_to
        if (grows is None and shrinks is None) or len(self.window) < self.rule.window:
            return None
        median = sorted(self.window)[len(self.window) // 2]
        if median <= 0.0:
            return None
        if grows is not None and value > grows * median:
            return f"above {grows:g} times its recent median {median:.4g}"
        if shrinks is not None and value < shrinks * median:
            return f"below {shrinks:g} of its recent median {median:.4g}"
        return None

    def _broken_best(self, value: float) -> str | None:
        fraction = self.rule.falls_from_best
        span = self.highest - self.lowest
        if fraction is None or not span > 0.0 or value >= self.highest - fraction * span:
            return None
        lost = (self.highest - value) / span
        seen = f"{self.lowest:.4g} to {self.highest:.4g}"
        return f"has lost {lost:.0%} of the range it had seen, {seen}"


class MetricsMonitor:
    """Compare each epoch's row with the bounds and deltas of `config/metrics.yaml`."""

    def __init__(self, config: MetricsConfig | None = None) -> None:
        """Prepare one watch per rule.

        Args:
            config: The rules; the project's `config/metrics.yaml` by default.
        """
        rules = (config or load_metrics_config()).alerts
        self._watches = [_Watch(rule, collections.deque(maxlen=rule.window)) for rule in rules]
        self._silent_until: dict[str, int] = {}

    def check(self, row: Mapping[str, float], *, epoch: int) -> list[Alert]:
        """Judge one row and remember it.

        Args:
            row: Metric key to value; a key that is absent is not judged.
            epoch: Epochs completed.

        Returns:
            The new alerts; a rule in its cool-down raises none.
        """
        alerts = [
            self._not_finite(key, value, epoch)
            for key, value in row.items()
            if not math.isfinite(value) and epoch >= self._silent_until.get(key, 0)
        ]
        for watch in self._watches:
            value = row.get(watch.rule.metric)
            if value is not None and math.isfinite(value):
                alerts.extend(self._judge(watch, value, epoch))
        return alerts

    def state_dict(self) -> dict[str, Any]:
        """Return what the rules remember, as plain containers."""
        return {
            "watches": [
                {
                    "metric": watch.rule.metric,
                    "message": watch.rule.message,
                    "window": list(watch.window),
                    "lowest": watch.lowest,
                    "highest": watch.highest,
                    "in_a_row": watch.in_a_row,
                    "silent_until": watch.silent_until,
                }
                for watch in self._watches
            ],
            "silent_until": dict(self._silent_until),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`; rules that did not exist then start afresh."""
        saved = {(entry["metric"], entry["message"]): entry for entry in state["watches"]}
        for watch in self._watches:
            entry = saved.get((watch.rule.metric, watch.rule.message))
            if entry is None:
                continue
            watch.window.extend(entry["window"])
            watch.lowest, watch.highest = entry["lowest"], entry["highest"]
            watch.in_a_row, watch.silent_until = entry["in_a_row"], entry["silent_until"]
        self._silent_until = dict(state["silent_until"])

    def _judge(self, watch: _Watch, value: float, epoch: int) -> list[Alert]:
        bound = watch.broken_bound(value)
        watch.add(value)
        watch.in_a_row = watch.in_a_row + 1 if bound else 0
        rule = watch.rule
        is_early = epoch <= rule.after_epochs or epoch < watch.silent_until
        if bound is None or is_early or watch.in_a_row < rule.for_epochs:
            return []
        watch.silent_until = epoch + 1 + rule.cooldown_epochs
        return [
            Alert(
                key=rule.metric,
                value=value,
                epoch=epoch,
                bound=bound,
                message=rule.message,
                causes=rule.causes,
                fixes=rule.fixes,
            )
        ]

    def _not_finite(self, key: str, value: float, epoch: int) -> Alert:
        self._silent_until[key] = epoch + 1 + _NOT_FINITE_COOLDOWN
        return Alert(
            key=key,
            value=value,
            epoch=epoch,
            bound="not a finite number",
            message="training diverged or an environment returned a broken number",
            causes=("policy_lr too high", "rewards or observations without bounds"),
            fixes=("lower policy_lr", "normalise rewards and observations", "set max_grad_norm"),
        )
