"""Parse `config/metrics.yaml`: what each metric means, how it is shown, when it is alarming."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from utils.errors import ConfigError

METRICS_YAML = Path(__file__).resolve().parents[1] / "config" / "metrics.yaml"

Reducer = Literal["mean", "last", "max", "min", "sum"]
Goal = Literal["up", "down"]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MetricSpec(_Strict):
    """One metric. Without an entry in the YAML a key gets these defaults."""

    description: str = ""
    """One line for people."""
    precision: int = Field(default=4, ge=0, le=12)
    """Digits after the point in the console."""
    reducer: Reducer = "mean"
    """How the values of one epoch become one number."""
    goal: Goal | None = None
    """Which way is better; None where neither is."""
    highlight: bool = False
    """One of the few numbers that a person looks at first."""
    console: bool = True
    """Whether the console table shows it."""


class AlertRule(_Strict):
    """When one metric is a sign of trouble, why that may be, and what to try."""

    metric: str = Field(pattern=r"^(train|val|test)/[a-z0-9_]+/[a-z0-9_.]+$")
    message: str = Field(min_length=1)
    causes: tuple[str, ...] = Field(min_length=1)
    fixes: tuple[str, ...] = Field(min_length=1)
    above: float | None = None
    """Alarming above this value."""
    below: float | None = None
    """Alarming below this value."""
    grows_by_factor: float | None = Field(default=None, gt=1.0)
    """Alarming at this many times the median of the window."""
    shrinks_to: float | None = Field(default=None, gt=0.0, lt=1.0)
    """Alarming below this fraction of the median of the window."""
    falls_from_best: float | None = Field(default=None, gt=0.0, lt=1.0)
    """Alarming when this fraction of the range seen so far is lost again."""
    window: int = Field(default=20, ge=3, le=1000)
    """How many earlier values the median is of."""
    after_epochs: int = Field(default=0, ge=0)
    """No alert up to this epoch."""
    for_epochs: int = Field(default=1, ge=1)
    """How many values in a row must be alarming."""
    cooldown_epochs: int = Field(default=50, ge=0)
    """Epochs without a second alert of the same rule."""

    @model_validator(mode="after")
    def _needs_condition(self) -> AlertRule:
        conditions = (
            self.above,
            self.below,
            self.grows_by_factor,
            self.shrinks_to,
            self.falls_from_best,
        )
        if all(condition is None for condition in conditions):
            raise ValueError("an alert needs a condition (above, below, grows_by_factor, ...)")
        return self


class GroupSpec(_Strict):
    """The metrics of one namespace, `<train|val|test>/<group>`, in their order."""

    title: str
    """Heading in the console."""
    metrics: dict[str, MetricSpec]
    """By the last part of the key."""
    precision: int = Field(default=4, ge=0, le=12)
    """For its metrics that set none, and for keys without an entry."""
    reducer: Reducer = "mean"
    """Likewise."""

    @model_validator(mode="before")
    @classmethod
    def _hand_down(cls, raw: Any) -> Any:
        if not isinstance(raw, dict) or not isinstance(raw.get("metrics"), dict):
            return raw
        inherited = {key: raw[key] for key in ("precision", "reducer") if key in raw}
        metrics = {
            name: inherited | spec if isinstance(spec, dict) else spec
            for name, spec in raw["metrics"].items()
        }
        return raw | {"metrics": metrics}


class MetricsConfig(_Strict):
    """All groups and alerts, in the order of the file."""

    groups: dict[str, GroupSpec]
    alerts: tuple[AlertRule, ...] = ()

    def metric(self, key: str) -> MetricSpec:
        """Return the entry of `key`, or the defaults of its group for a key without one."""
        group_name, _, name = key.rpartition("/")
        group = self.groups.get(group_name)
        if group is None:
            return MetricSpec()
        entry = group.metrics.get(name)
        return entry or MetricSpec(precision=group.precision, reducer=group.reducer)

    def title(self, group: str) -> str:
        """Return the heading of a group; the name itself for a group without an entry."""
        return self.groups[group].title if group in self.groups else group

    def sort_keys(self, keys: list[str]) -> list[str]:
        """Return `keys` in the order of the file; keys without an entry at the end of theirs."""
        group_order = {group: i for i, group in enumerate(self.groups)}
        key_order = {
            f"{group}/{name}": i
            for group, spec in self.groups.items()
            for i, name in enumerate(spec.metrics)
        }
        return sorted(
            keys,
            key=lambda key: (
                group_order.get(key.rpartition("/")[0], len(group_order)),
                key.rpartition("/")[0],
                key_order.get(key, len(key_order)),
                key,
            ),
        )


@functools.cache
def load_metrics_config(path: Path = METRICS_YAML) -> MetricsConfig:
    """Read and check a metrics file.

    Args:
        path: The project's `config/metrics.yaml` by default.

    Returns:
        The frozen configuration; the same object at each call.

    Raises:
        ConfigError: The file is missing or not YAML, or an entry is unknown or of a wrong type;
            one line per problem.
    """
    try:
        raw = yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return MetricsConfig.model_validate(raw)
    except OSError as error:
        raise ConfigError(f"'{path}' cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"'{path}' is not YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        problems = [
            f"{path}: {'.'.join(map(str, problem['loc']))}: {problem['msg']}"
            for problem in error.errors()
        ]
        raise ConfigError("\n".join(problems)) from error
