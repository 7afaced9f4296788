"""A sweep file: read strictly, with the line of each mistake."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.config.cli import TrainArgs, parse_train_args
from utils.config.overrides import Override
from utils.config.problems import did_you_mean
from utils.config.yaml_reader import KeyPath, YamlDocument, read_yaml
from utils.errors import ConfigError, UserError
from utils.sweeps.parameters import Parameter, read_parameter

METHODS = ("grid", "random", "bayes")
GOALS = ("maximize", "minimize")
_KEYS = (
    "name",
    "description",
    "project",
    "entity",
    "program",
    "command",
    "method",
    "metric",
    "parameters",
    "early_terminate",
    "run_cap",
)
_EARLY_KEYS = {
    "hyperband": ("min_iter", "max_iter", "s", "eta", "strict"),
    "median": ("min_iter",),
}
_COMMAND_START = ("${env}", "${interpreter}", "${program}")
_AGENT_ARGUMENTS = "${args}"
_SWEEP_FLAGS = ("--wandb-sweep", "--wandb_sweep")


@dataclass(frozen=True, slots=True)
class Metric:
    """What is compared."""

    name: str
    """A metric of the rows (its last value counts), or a key of `utils.reports.summarize_run`."""
    goal: str
    target: float | None = None
    """A value that ends the sweep when a trial reaches it; None for none."""

    @property
    def is_better_larger(self) -> bool:
        """Whether a larger value is the better one."""
        return self.goal == "maximize"


@dataclass(frozen=True, slots=True)
class EarlyTerminate:
    """When a trial that lags behind is stopped."""

    kind: str
    """hyperband or median."""
    min_iter: int
    """Values of the metric before a first decision, >= 1."""
    eta: int
    """hyperband: of so many trials one goes on, >= 2."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepSpec:
    """A sweep as its file says."""

    name: str
    title: str
    """How reports name it."""
    path: Path
    """The file of the parameters."""
    content: dict[str, Any]
    """The file as it stands, for W&B."""
    method: str
    metric: Metric
    parameters: dict[str, Parameter]
    """By dotted key."""
    early_terminate: EarlyTerminate | None
    run_cap: int | None
    train_args: TrainArgs
    """What the command asks of train.py beside the parameters."""
    arguments: tuple[str, ...]
    """The arguments of train.py, without those that only W&B's agent fills in."""
    lasting: tuple[Override, ...]
    """What of the command belongs to the settings that were found, and not to the trials alone."""

    @property
    def config_id(self) -> str:
        """The config that the trials vary."""
        assert self.train_args.config_id is not None
        return self.train_args.config_id

    @property
    def varying(self) -> list[str]:
        """The parameters that are not the same in each trial."""
        return [name for name, found in self.parameters.items() if len(found.probe()) > 1]

    @property
    def fingerprint(self) -> str:
        """What must not change while a study goes on: what is tried and how it is judged."""
        keys = ("command", "parameters", "metric", "method")
        return json.dumps({key: self.content.get(key) for key in keys}, sort_keys=True)


def read_sweep(path: Path | str) -> SweepSpec:
    """Read a sweep file.

    Raises:
        ConfigError: Anything is wrong with it; one line per problem, with its place.
    """
    return read_sweep_document(read_yaml(Path(path)), path=Path(path))


def read_sweep_document(document: YamlDocument, *, path: Path) -> SweepSpec:
    """Read a sweep that lies in memory.

    Args:
        document: Its content, and the lines that messages name.
        path: The file that it came from; its name is that of the sweep.

    Raises:
        ConfigError: Anything is wrong with it; one line per problem, with its place.
    """
    reader = _Reader(document)
    spec = reader.read(path)
    if reader.problems or spec is None:
        raise ConfigError("\n".join(reader.problems))
    return spec


class _Reader:
    """Reads the parts of a sweep file and collects what is wrong with them."""

    def __init__(self, document: YamlDocument) -> None:
        self._document = document
        self._data = document.data
        self.problems: list[str] = []

    def read(self, path: Path) -> SweepSpec | None:
        """Return the sweep; None, or one not to be used, where there are problems."""
        for key in self._data:
            if key not in _KEYS:
                self._add((key,), f"unknown key '{key}'{did_you_mean(key, _KEYS)}")
        arguments = self._read_command()
        train_args = self._read_arguments(arguments)
        method = self._one_of(("method",), self._data.get("method"), METHODS)
        parameters = dict(self._read_parameters(self._data.get("parameters"), ("parameters",), ""))
        if not parameters and not self.problems:
            self._add(("parameters",), "'parameters' is missing or empty: there is nothing to try")
        metric = self._read_metric()
        early = self._read_early_terminate()
        cap = self._data.get("run_cap")
        if cap is not None and (type(cap) is not int or cap < 1):
            self._add(("run_cap",), f"'run_cap' must be a whole number >= 1, got {cap!r}")
        if method == "grid":
            self._check_grid(parameters)
        if train_args is None:
            return None
        self._check_set_twice(parameters, train_args)
        return SweepSpec(
            name=path.stem,
            title=f"Sweep {path.stem}",
            path=path,
            content=dict(self._data),
            method=method,
            metric=metric,
            parameters=parameters,
            early_terminate=early,
            run_cap=cap,
            train_args=train_args,
            arguments=tuple(arguments),
            lasting=train_args.overrides,
        )

    def _add(self, path: KeyPath, message: str) -> None:
        self.problems.append(f"{self._document.place(path)}: {message}")

    def _one_of(self, path: KeyPath, value: Any, choices: tuple[str, ...]) -> str:
        if value in choices:
            return str(value)
        key = ".".join(path)
        hint = did_you_mean(str(value), choices) if value is not None else ""
        said = "is missing" if value is None else f"'{value}' is unknown{hint}"
        self._add(path, f"'{key}' {said} (known: {', '.join(choices)})")
        return choices[0]

    def _read_command(self) -> list[str]:
        """Return the arguments of train.py in the command."""
        program = self._data.get("program", "train.py")
        command = self._data.get("command")
        if Path(str(program)).name != "train.py":
            self._add(("program",), f"'program' must be train.py, got '{program}'")
        example = '["${env}", "${interpreter}", "${program}", "CartPole-v1:ppo", "--wandb_sweep"]'
        if not isinstance(command, list) or "${program}" not in command:
            self._add(("command",), f"'command' must be a list such as {example}")
            return []
        at = command.index("${program}")
        before, after = command[:at], command[at + 1 :]
        if strange := [word for word in before if word not in _COMMAND_START]:
            self._add(("command",), f"'{strange[0]}' before ${{program}} is not known here")
        words = [str(word) for word in after if word != _AGENT_ARGUMENTS]
        if strange := [word for word in words if "${" in word]:
            known = f"{_AGENT_ARGUMENTS}, or nothing: the settings come from the agent's file"
            self._add(("command",), f"'{strange[0]}' is not known here (known: {known})")
        return [word for word in words if word not in _SWEEP_FLAGS]

    def _read_arguments(self, arguments: list[str]) -> TrainArgs | None:
        if not arguments:
            if "command" in self._data and not self.problems:
                self._add(("command",), "'command' names no config such as CartPole-v1:ppo")
            return None
        try:
            args = parse_train_args(arguments, environ={})
        except UserError as error:
            for line in str(error).splitlines():
                self._add(("command",), line)
            return None
        if args.config_id is None or args.resume is not None:
            self._add(("command",), "'command' must name a config such as CartPole-v1:ppo")
            return None
        return args

    def _read_parameters(
        self, block: Any, path: KeyPath, prefix: str
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield dotted key and parameter; a `parameters` block inside leads one level down."""
        if not isinstance(block, Mapping):
            if block is not None:
                self._add(path, f"'{'.'.join(path)}' must be a mapping")
            return
        for key, entry in block.items():
            here, name = (*path, key), f"{prefix}{key}"
            if isinstance(entry, Mapping) and "parameters" in entry:
                yield from self._read_parameters(
                    entry["parameters"], (*here, "parameters"), f"{name}."
                )
                continue
            try:
                yield name, read_parameter(entry)
            except ValueError as error:
                self._add(here, f"parameter '{name}': {error}")

    def _read_metric(self) -> Metric:
        block = self._data.get("metric")
        if not isinstance(block, Mapping) or not isinstance(block.get("name"), str):
            example = "{name: val/roll/ep_rew_mean, goal: maximize}"
            self._add(("metric",), f"'metric' must be a mapping such as {example}")
            return Metric("", GOALS[0])
        for key in block:
            if key not in ("name", "goal", "target"):
                self._add(("metric", key), f"'metric' does not take '{key}'")
        target = block.get("target")
        if target is not None and (isinstance(target, bool) or not isinstance(target, int | float)):
            self._add(("metric", "target"), f"'metric.target' must be a number, got {target!r}")
            target = None
        goal = self._one_of(("metric", "goal"), block.get("goal"), GOALS)
        return Metric(block["name"], goal, target)

    def _read_early_terminate(self) -> EarlyTerminate | None:
        block = self._data.get("early_terminate")
        if block is None:
            return None
        here = ("early_terminate",)
        if not isinstance(block, Mapping):
            example = "{type: hyperband, min_iter: 3}"
            self._add(here, f"'early_terminate' must be a mapping such as {example}")
            return None
        kind = self._one_of((*here, "type"), block.get("type"), tuple(_EARLY_KEYS))
        for key, value in block.items():
            if key != "type":
                self._check_early_key(kind, (*here, key), value)
        if self.problems:
            return None
        eta = block.get("eta", 3)
        if eta < 2:
            self._add((*here, "eta"), f"'eta' must be >= 2, got {eta}")
        if "min_iter" in block:
            return EarlyTerminate(kind, block["min_iter"], eta)
        if "max_iter" in block and "s" in block:
            return EarlyTerminate(kind, max(1, block["max_iter"] // eta ** block["s"]), eta)
        more = ", or 'max_iter' and 's'" if kind == "hyperband" else ""
        self._add(here, f"{kind} needs 'min_iter'{more}")
        return None

    def _check_early_key(self, kind: str, path: KeyPath, value: Any) -> None:
        key, known = path[-1], _EARLY_KEYS[kind]
        if key not in known:
            self._add(path, f"{kind} does not take '{key}' here (known: {', '.join(known)})")
        elif key == "strict":
            if not isinstance(value, bool):
                self._add(path, f"'strict' must be true or false, got {value!r}")
        elif type(value) is not int or value < 1:
            self._add(path, f"'{key}' must be a whole number >= 1, got {value!r}")

    def _check_grid(self, parameters: Mapping[str, Parameter]) -> None:
        for name, parameter in parameters.items():
            if parameter.grid() is None:
                path = ("parameters", *name.split("."))
                self._add(path, f"parameter '{name}': method: grid needs 'values'")

    def _check_set_twice(self, parameters: Mapping[str, Parameter], args: TrainArgs) -> None:
        for override in args.overrides:
            if (key := ".".join(override.path)) in parameters:
                self._add(("command",), f"{override.label} fixes '{key}', which is a parameter")
