"""Whether a sweep's parameters are settings that the config takes, told before any training."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from utils.config.loader import load_config
from utils.config.problems import did_you_mean
from utils.errors import ConfigError
from utils.metrics_config import load_metrics_config
from utils.reports.summary import SUMMARY_GOALS
from utils.sweeps.spec import SweepSpec

_COMPLETIONS = 20
"""Ways to complete a value with values of the other parameters before it counts as wrong: some
combinations of good values do not go together, and those fail when it is their turn."""


_OPEN_GROUPS = ("train/env", "val/env")
"""What environments tell; any name may be among it."""


def metric_problems(name: str) -> list[str]:
    """Say that neither `config/metrics.yaml` nor a run's summary knows a metric; [] if one does."""
    groups = load_metrics_config().groups
    known = {f"{group}/{key}" for group, spec in groups.items() for key in spec.metrics}
    known |= SUMMARY_GOALS.keys()
    if name in known or name.rpartition("/")[0] in _OPEN_GROUPS:
        return []
    return [
        f"no training has a metric '{name}'{did_you_mean(name, known)} (config/metrics.yaml lists "
        "them; the usual one is val/roll/ep_rew_mean)"
    ]


def check_parameters(spec: SweepSpec, *, has_seeds: bool = False) -> None:
    """Load configs with the extreme values of each parameter.

    Args:
        spec: The sweep.
        has_seeds: Whether each trial is trained with several seeds.

    Raises:
        ConfigError: No training has the metric, a parameter is no setting, or one of its values
            fits with no value of the others; one line per problem.
    """
    if has_seeds and "seed" in spec.parameters:
        raise ConfigError(f"{spec.path}: 'seed' is a parameter, so --seeds has no meaning")
    draws = random.Random(0)
    problems: dict[str, None] = dict.fromkeys(metric_problems(spec.metric.name))
    for name, parameter in spec.parameters.items():
        for value in parameter.probe():
            problems |= dict.fromkeys(value_problems(spec, name, value, draws))
    if problems:
        where = spec.path
        raise ConfigError("\n".join(f"{where}: {line}" for line in problems))


def value_problems(spec: SweepSpec, name: str, value: Any, draws: random.Random) -> list[str]:
    """Return what is wrong with a value, whatever the other parameters are.

    Args:
        spec: The sweep.
        name: Dotted key of the parameter.
        value: Its value.
        draws: Chooses the values of the other parameters.
    """
    common: list[str] | None = None
    for attempt in range(_COMPLETIONS):
        others = {
            key: parameter.probe()[0] if attempt == 0 else draws.choice(parameter.probe())
            for key, parameter in spec.parameters.items()
        }
        lines = config_problems(spec, others | {name: value})
        # A line that goes away with other values belongs to one of those.
        common = lines if common is None else [line for line in common if line in lines]
        if not common:
            return []
    assert common is not None
    own = [line for line in common if name in line]
    return own or common


def config_problems(spec: SweepSpec, settings: Mapping[str, Any]) -> list[str]:
    """Return the lines of the error that settings lead to; empty where they are fine."""
    try:
        load_config(spec.config_id, spec.train_args.overrides, sweep=settings)
    except ConfigError as error:
        return str(error).splitlines()
    return []
