"""Making a config: file, sweep and command line laid over each other, then checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from utils.config.algos import CONFIG_CLASSES
from utils.config.algos.sized import SizedKwargs
from utils.config.catalog import BASE_BLOCK, CONFIG_DIR, EnvironmentFile, find_variant
from utils.config.layers import Layers, Place
from utils.config.messages import problems_of, tell
from utils.config.overrides import Override, apply_overrides, parse_override, sweep_overrides
from utils.config.problems import Problem, did_you_mean
from utils.config.schema import Config
from utils.config.validate import find_ineffective_options
from utils.config.yaml_reader import KeyPath
from utils.errors import ConfigError

_BASE, _VARIANT, _SWEEP, _COMMAND_LINE = range(4)


def load_config(
    config_id: str,
    overrides: Sequence[str | Override] = (),
    *,
    config_dir: Path | str | None = None,
    sweep: Mapping[str, Any] | None = None,
) -> Config:
    """Load the config of one run: base, then variant, then sweep, then command line.

    Args:
        config_id: `<env>:<variant>`, such as `CartPole-v1:ppo` or `ALE/Pong-v5:ppo`.
        overrides: Settings of the command line, `key.path=value` or already read.
        config_dir: Folder of the config files; None for the project's own.
        sweep: Settings of a sweep's trial, nested or dotted.

    Returns:
        The config of the variant's algorithm, checked and frozen.

    Raises:
        ConfigError: Anything is wrong with the id, the file or the settings; one line for each
            problem, with its place.
    """
    stack = _lay(config_id, overrides, config_dir=config_dir, sweep=sweep or {})
    return _check(stack)


def refusal(
    problems: Sequence[Problem], config_id: str, overrides: Sequence[str | Override]
) -> ConfigError:
    """Return the error that tells, with their places, what others find wrong with a config.

    Args:
        problems: The faults.
        config_id: What `load_config` was given.
        overrides: Likewise.
    """
    return _refusal(problems, _lay(config_id, overrides, config_dir=None, sweep={}))


@dataclass(frozen=True, slots=True)
class _Stack:
    """All settings of a run laid over each other, not yet checked."""

    layers: Layers
    file: EnvironmentFile
    variant: str
    problems: list[str]
    """One line per override that cannot be read or applied."""

    @property
    def top(self) -> Place:
        """Where a fault is that no setting is to blame for."""
        place = self.file.origin_of(self.variant).document.place((self.variant,))
        return Place(place, _VARIANT, section=f"variant '{self.variant}'")


def _lay(
    config_id: str,
    overrides: Sequence[str | Override],
    *,
    config_dir: Path | str | None,
    sweep: Mapping[str, Any],
) -> _Stack:
    directory = Path(config_dir) if config_dir is not None else CONFIG_DIR
    file, variant = find_variant(config_id, config_dir=directory)
    layers = Layers()
    origin = file.origin_of(variant)
    _lay_block(layers, file, BASE_BLOCK, file.base, _BASE)
    _lay_block(layers, origin, variant, origin.variants[variant], _VARIANT)
    of_sweep, problems = sweep_overrides(sweep)
    given, faults = _read_overrides(overrides)
    problems += faults
    problems += apply_overrides(layers, of_sweep, layer=_SWEEP)
    problems += apply_overrides(layers, given, layer=_COMMAND_LINE)
    _choose_evaluation_unit(layers)
    return _Stack(layers, file, variant, problems)


def _lay_block(
    layers: Layers, file: EnvironmentFile, name: str, block: dict[str, Any], layer: int
) -> None:
    section = f"'{name}'" if name == BASE_BLOCK else f"variant '{name}'"
    layers.merge(
        block, lambda path: Place(file.document.place((name, *path)), layer, section=section)
    )


def _read_overrides(overrides: Iterable[str | Override]) -> tuple[list[Override], list[str]]:
    given: list[Override] = []
    problems: list[str] = []
    for override in overrides:
        try:
            given.append(override if isinstance(override, Override) else parse_override(override))
        except ConfigError as error:
            problems.append(str(error))
    return given, problems


def _choose_evaluation_unit(layers: Layers) -> None:
    """Of the two periods of evaluation, let the one from the later layer switch off the other."""
    keys = ("eval_freq_epochs", "eval_freq_timesteps")
    if any(layers.data.get(key) is None for key in keys):
        return
    by_epochs, by_timesteps = (layers.layer_of(key) or 0 for key in keys)
    if by_epochs != by_timesteps:
        earlier = keys[0] if by_epochs < by_timesteps else keys[1]
        layers.data[earlier] = None


def _check(stack: _Stack) -> Config:
    layers = stack.layers
    config_class = _config_class(stack)
    problems = _derived_key_problems(layers.data)
    data = {**layers.data, "config_id": f"{stack.file.name}:{stack.variant}"}
    config: Config | None = None
    try:
        config = config_class.model_validate(data)
    except ValidationError as error:
        found = _problems(error, config_class)
        problems += found + _contradictions_among_valid(data, found, config_class)
    if config is not None:
        ineffective = find_ineffective_options(config, layer_of=layers.layer_of)
        problems += _variant_of_version(stack, ineffective) or ineffective
    if config is None or problems or stack.problems:
        raise _refusal(problems, stack)
    _forget_overruled_size(config, layers)
    return config


def _variant_of_version(stack: _Stack, ineffective: Sequence[Problem]) -> list[Problem]:
    """Name the variant of a version, where one that was laid over the file does not go with it."""
    layers = stack.layers
    layer, version = layers.layer_of("version"), layers.data.get("version")
    keys = [problem.keys[0] for problem in ineffective]
    if layer is None or layer <= _VARIANT or any(layers.layer_of(key) == layer for key in keys):
        return []
    wanted = (layers.data["algo_id"], version)
    fitting = [
        f"{stack.file.name}:{name}"
        for name, block in stack.file.variants.items()
        if (block.get("algo_id"), block.get("version")) == wanted
    ]
    if not keys or not fitting:
        return []
    message = (
        f"{', '.join(map(repr, keys))} of this variant would have no effect: train "
        f"{' or '.join(fitting)}, which is of version {version}"
    )
    return [Problem(("version",), message)]


def _forget_overruled_size(config: Config, layers: Layers) -> None:
    """Mark a size as not written where a later layer gives a width of its own."""
    shape, size = config.policy_kwargs, layers.layer_of("policy_kwargs.size")
    if not isinstance(shape, SizedKwargs) or size is None:
        return
    widths = (layers.layer_of(f"policy_kwargs.{width}") for width in shape.widths())
    if any(layer is not None and layer > size for layer in widths):
        shape.model_fields_set.discard("size")


def _config_class(stack: _Stack) -> type[Config]:
    algo_id = stack.layers.data.get("algo_id")
    if isinstance(algo_id, str) and algo_id in CONFIG_CLASSES:
        return CONFIG_CLASSES[algo_id]
    known = ", ".join(CONFIG_CLASSES)
    if algo_id is None:
        message = f"missing key 'algo_id' (known: {known})"
    else:
        hint = did_you_mean(str(algo_id), CONFIG_CLASSES)
        message = f"unknown algo_id '{algo_id}'{hint} (known: {known})"
    raise _refusal([Problem(("algo_id",), message)], stack)


def _derived_key_problems(data: Mapping[str, Any]) -> list[Problem]:
    message = "'{}' is not a setting: the program writes it"
    return [
        Problem((key,), message.format(key))
        for key in ("config_id", "schema_version")
        if key in data
    ]


def _problems(error: ValidationError, config_class: type[Config]) -> list[Problem]:
    siblings = {name: other for name, other in CONFIG_CLASSES.items() if other is not config_class}
    return problems_of(error, config_class, siblings=siblings)


def _contradictions_among_valid(
    data: Mapping[str, Any], found: list[Problem], config_class: type[Config]
) -> list[Problem]:
    """Look for contradictions among the settings that are valid each by itself."""
    faulty = {key.split(".")[0] for problem in found for key in problem.keys}
    try:
        config_class.model_validate({key: data[key] for key in data if key not in faulty})
    except ValidationError as error:
        return [
            problem
            for problem in _problems(error, config_class)
            if not faulty & {key.split(".")[0] for key in problem.keys}
        ]
    return []


def _refusal(problems: Sequence[Problem], stack: _Stack) -> ConfigError:
    def prefix_of(problem: Problem) -> str:
        paths: list[KeyPath] = [tuple(key.split(".")) for key in problem.keys]
        places = [place for path in paths if (place := stack.layers.find_place(path))]
        place = max(places, key=lambda place: place.layer, default=stack.top)
        return f"{place.label}: {place.section}: " if place.section else f"{place.label}: "

    return ConfigError("\n".join([*stack.problems, *tell(problems, prefix_of)]))
