"""Faults that the schema finds, told as a person needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from utils.config.problems import Problem, did_you_mean, nearest

_WANTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "text",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "tuple_type": "a list in brackets",
}
_VALUE_SYNONYMS = {"gpu": "cuda"}
_SYNONYMS = {
    "buffer_size": ("buffer_transitions", "buffer_steps"),
    "discount": ("gamma",),
    "learning_rate": ("policy_lr",),
    "lr": ("policy_lr",),
    "n_threads": ("n_workers",),
    "num_threads": ("n_workers",),
    "num_envs": ("n_envs",),
    "num_workers": ("n_workers",),
    "total_timesteps": ("max_timesteps",),
}
"""Names that others give to our keys, and that do not look like them."""
_BOUNDS = {
    "greater_than": "> {gt}",
    "greater_than_equal": ">= {ge}",
    "less_than": "< {lt}",
    "less_than_equal": "<= {le}",
}


def problems_of(
    error: ValidationError,
    model: type[BaseModel],
    *,
    siblings: Mapping[str, type[BaseModel]],
) -> list[Problem]:
    """Turn what pydantic found into problems.

    Args:
        error: The error raised by `model`.
        model: The model that refused the data.
        siblings: The models of the other algorithms by name, to tell that a key is one of theirs.

    Returns:
        One problem per fault, without places.
    """
    problems: list[Problem] = []
    for details in error.errors(include_url=False):
        context = details.get("ctx", {})
        if "problems" in context:
            problems.extend(context["problems"])
            continue
        path = [str(part) for part in details["loc"]]
        if "subkey" in context:
            path.append(context["subkey"])
        key = ".".join(path)
        if details["type"] in ("extra_forbidden", "schedule_key"):
            message = _unknown_key(path, model, siblings)
        else:
            message = _wrong_value(key, details)
        problems.append(Problem((key,), message))
    return problems


def _wrong_value(key: str, details: ErrorDetails) -> str:
    kind, value = details["type"], details["input"]
    context = details.get("ctx", {})
    if kind == "missing":
        *parents, name = key.split(".")
        if name.isdigit():
            return f"'{'.'.join(parents)}' must have more than {name} entries"
        return f"missing key '{key}'"
    if kind == "literal_error":
        return _wrong_choice(key, value, context["expected"])
    if kind in _WANTED:
        return f"'{key}' must be {_WANTED[kind]}, got {_show(value)}{_hint(kind, value)}"
    if kind in _BOUNDS:
        return f"'{key}' must be {_BOUNDS[kind].format(**context)}, got {_show(value)}"
    if kind == "too_long":
        return f"'{key}' must have {context['max_length']} entries, got {context['actual_length']}"
    message = details["msg"]
    shown = details["input"].get(context["subkey"]) if "subkey" in context else value
    return f"'{key}' {message[:1].lower()}{message[1:]}, got {_show(shown)}"


def _wrong_choice(key: str, value: Any, expected: str) -> str:
    choices = [choice.strip("'") for choice in expected.replace(" or ", ", ").split(", ")]
    hint = (
        did_you_mean(_VALUE_SYNONYMS.get(value, value), choices) if isinstance(value, str) else ""
    )
    return f"'{key}' must be one of {', '.join(choices)}, got {_show(value)}{hint}"


def _hint(kind: str, value: Any) -> str:
    if kind == "bool_type" and isinstance(value, str) and value.lower() in ("yes", "on"):
        return ": did you mean true?"
    if kind == "bool_type" and isinstance(value, str) and value.lower() in ("no", "off"):
        return ": did you mean false?"
    if kind == "string_type" and isinstance(value, bool | int | float):
        return ": put it in quotes"
    return ""


def _show(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _unknown_key(
    path: list[str],
    model: type[BaseModel],
    siblings: Mapping[str, type[BaseModel]],
) -> str:
    *parents, name = path
    unknown = f"unknown key '{name}'" + (f" in '{'.'.join(parents)}'" if parents else "")
    keys = dotted_keys(model)
    elsewhere = [key for key in keys if key.split(".")[-1] == name]
    if elsewhere:
        place = "" if "." in elsewhere[0] else " at the top level"
        return f"{unknown}: did you mean '{elsewhere[0]}'{place}?"
    level = _keys_at(model, parents)
    owners = [algo for algo, other in siblings.items() if ".".join(path) in dotted_keys(other)]
    # Of `imagination_horizon` somebody may know the horizon.
    longer = [key for key in level if key.endswith(f"_{name}")]
    if owners:
        hint = f"; did you mean '{'.'.join([*parents, longer[0]])}'?" if len(longer) == 1 else ""
        return f"{unknown}: it is a setting of {', '.join(owners)} only{hint}"
    synonyms = [key for key in _SYNONYMS.get(name, ()) if key in level]
    if found := synonyms or nearest(name, level):
        return f"{unknown}: did you mean '{'.'.join([*parents, found[0]])}'?"
    if parents:
        return f"{unknown}{did_you_mean(name, keys)} (known: {', '.join(level)})"
    return unknown + did_you_mean(name, keys)


def _keys_at(model: type[BaseModel], parents: list[str]) -> list[str]:
    inner: type[BaseModel] | None = model
    for parent in parents:
        if inner is not None and not parent.isdigit():  # a number is a place in a list of models
            field = inner.model_fields.get(parent)
            inner = None if field is None else _model_in(field.annotation)
    return ["start", "end", "from", "to"] if inner is None else list(inner.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model that a field holds, alone, in a list or with null; None if it has none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_in(part) for part in get_args(annotation))
    return next((inner for inner in found if inner is not None), None)


def dotted_keys(model: type[BaseModel]) -> list[str]:
    """List every key of a model, those of nested models with their path."""
    keys = []
    for name, field in model.model_fields.items():
        keys.append(name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            keys.extend(f"{name}.{inner}" for inner in dotted_keys(field.annotation))
    return keys


def tell(problems: Sequence[Problem], prefix_of: Callable[[Problem], str]) -> list[str]:
    """Write one line per problem, its place first, each line once."""
    return list(dict.fromkeys(prefix_of(problem) + problem.message for problem in problems))
