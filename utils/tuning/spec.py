"""What a tuning does, as a sweep: the space, how a trial is trained, and how it is judged."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.config import Config, load_config
from utils.config.overrides import parse_override
from utils.config.yaml_reader import YamlDocument
from utils.errors import ConfigError
from utils.metrics_config import load_metrics_config
from utils.reports.summary import SUMMARY_GOALS
from utils.sweeps import SweepSpec
from utils.sweeps.spec import read_sweep_document
from utils.sweeps.validate import metric_problems
from utils.tuning.space import read_space

PRUNERS = ("hyperband", "median", "none")
SAMPLERS = ("bayes", "random")
_ETA = 3
_NOT_SETTABLE = ("seed", "video", "test_episodes")
"""What a tuning decides by itself."""
_PERIODS = ("eval_freq_epochs", "eval_freq_timesteps")


@dataclass(frozen=True, kw_only=True, slots=True)
class TuningBudget:
    """How much a trial may cost, and how it is judged."""

    max_timesteps: int | None
    """Environment steps of each training; None for the config's own."""
    n_evaluations: int
    """Evaluations of each training, evenly over it, >= 2."""
    pruner: str
    """What stops a trial that lags behind: hyperband, median or none."""
    sampler: str
    """What chooses the next trial: bayes or random."""
    metric: str
    """Key of what trials are judged by; `config/metrics.yaml` says which way is better."""


def build_tuning(
    config_id: str, space: Path, *, settings: Sequence[str], budget: TuningBudget
) -> SweepSpec:
    """Make a sweep of a config and a search space.

    Args:
        config_id: What is tuned.
        space: File of the space.
        settings: `key=value`, the same in each trial; they take the place of parameters.
        budget: What a trial costs and how it is judged.

    Raises:
        ConfigError: The config, the space or a setting is wrong; one line per problem.
    """
    given = [parse_override(text) for text in settings]
    config = load_config(config_id, given)
    keys = {".".join(override.path) for override in given}
    if taken := [key for key in _NOT_SETTABLE if key in keys]:
        raise ConfigError(f"--set {taken[0]}: tune.py decides this by itself")
    if budget.max_timesteps is not None and "max_timesteps" in keys:
        raise ConfigError("--max-timesteps and --set max_timesteps are the same: give one of them")
    _check_metric(budget.metric)
    document = read_space(space)
    parameters = _without_fixed(document.data["parameters"], keys)
    if not parameters:
        raise ConfigError(f"{space}: --set fixes all that there is to try")
    words = _command(config, settings, budget, has_period=bool(keys & set(_PERIODS)))
    data = {
        "command": ["${env}", "${interpreter}", "${program}", *words],
        "method": budget.sampler,
        "metric": {"name": budget.metric, "goal": _goal(budget.metric)},
        "parameters": parameters,
        **_early_terminate(budget),
    }
    composed = YamlDocument(label=document.label, data=data, lines=document.lines)
    spec = read_sweep_document(composed, path=space)
    return dataclasses.replace(spec, name="tuning", title="Tuning", lasting=tuple(given))


def _check_metric(name: str) -> None:
    """Refuse a metric that no trial can have.

    Raises:
        ConfigError: It says why.
    """
    if problems := metric_problems(name):
        raise ConfigError("\n".join(f"--metric {name}: {line}" for line in problems))
    if name.startswith("test/"):
        raise ConfigError(
            f"--metric {name}: trials have no final test, so that test episodes choose no "
            "settings; take val/roll/ep_rew_mean (the last evaluation) or val/best/ep_rew_mean"
        )


def _goal(name: str) -> str:
    goal = SUMMARY_GOALS.get(name) or load_metrics_config().metric(name).goal
    return "minimize" if goal == "down" else "maximize"


def _without_fixed(parameters: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    """Take out the parameters, also nested ones, that are set for all trials."""
    left = {}
    for name, entry in parameters.items():
        inner = {key.partition(".")[2] for key in keys if key.startswith(f"{name}.")}
        if name in keys:
            continue
        if inner and isinstance(entry, dict) and "parameters" in entry:
            nested = _without_fixed(entry["parameters"], inner)
            if nested:
                left[name] = {**entry, "parameters": nested}
            continue
        left[name] = entry
    return left


def _command(
    config: Config, settings: Sequence[str], budget: TuningBudget, *, has_period: bool
) -> list[str]:
    """Return the arguments of train.py that are the same in each trial."""
    timesteps = budget.max_timesteps or config.max_timesteps
    own = {
        "video": "none",
        "test_episodes": 0,
        "max_timesteps": timesteps,
        "early_stop_on_eval_reward": "false",
        "early_stop_on_train_reward": "false",
    }
    if not has_period:
        own["eval_freq_timesteps"] = max(1, timesteps // budget.n_evaluations)
    words = [f"{key}={value}" for key, value in own.items()]
    pairs = [part for word in (*words, *settings) for part in ("--set", word)]
    return [config.config_id, "-q", *pairs]


def _early_terminate(budget: TuningBudget) -> dict[str, Any]:
    if budget.pruner == "none":
        return {}
    if budget.pruner == "median":
        return {
            "early_terminate": {"type": "median", "min_iter": max(1, budget.n_evaluations // 4)}
        }
    least = max(1, budget.n_evaluations // _ETA**2)
    return {"early_terminate": {"type": "hyperband", "min_iter": least, "eta": _ETA}}
