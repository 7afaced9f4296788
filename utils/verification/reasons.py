"""What may explain that a run comes out otherwise: its config, its past, the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from utils.config import config_from_dict
from utils.errors import ConfigError

_FACTS = (
    ("python", "python"),
    ("device", "device"),
    ("device_name", "device"),
    ("cuda", "CUDA"),
    ("cudnn", "cuDNN"),
    ("torch_threads", "torch threads"),
    ("vectorization", "vectorization"),
    ("cpu_capability", "torch's instruction set"),
    ("processor", "processor"),
    ("platform", "system"),
    ("git_commit", "this program's commit"),
)
_ABSENT = "-"
UNCOMMITTED = "this program had uncommitted changes"


def explain(
    sessions: Sequence[Mapping[str, Any]],
    again: Mapping[str, Any],
    *,
    config: Mapping[str, Any],
    results: Mapping[str, Any],
) -> list[str]:
    """Return what is not as it was when the run was trained, what explains most first.

    Args:
        sessions: What was recorded of each process that trained the run, oldest first.
        again: What was recorded of the process that has trained it again.
        config: The config in the run's folder.
        results: Its `results.json`, {} where there is none.
    """
    reasons = _config_reasons(sessions, config, results)
    if not sessions:
        return [*reasons, "versions, threads and device of the training were not recorded"]
    return [*reasons, *_machine_reasons(sessions[-1], again), *_past_reasons(sessions)]


def _config_reasons(
    sessions: Sequence[Mapping[str, Any]], config: Mapping[str, Any], results: Mapping[str, Any]
) -> list[str]:
    trained = _config_of(sessions[-1]) if sessions else None
    if trained is not None:
        return [
            f"config.json was changed after the training: {key} was {old}, is {new}"
            for key, old, new in changed_settings(trained, config)
        ]
    return [
        f"config.json was changed after the training: {key} was {results[key]}, "
        f"is {config.get(key)}"
        for key in ("seed", "config_id")
        if key in results and results[key] != config.get(key)
    ]


def _config_of(session: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the config that a process trained with, in the present form."""
    config = session.get("config")
    if not isinstance(config, Mapping):
        return None
    try:
        return config_from_dict(config, source="environment.json").to_dict()
    except ConfigError:
        return config


def explain_tests(stored: Mapping[str, Any], again: Mapping[str, Any]) -> list[str]:
    """Return for which policies a clock has ended the test of one of the two trainings.

    Args:
        stored: `results.json` of the run.
        again: That of the second training.
    """
    tests, others = stored.get("test") or {}, again.get("test") or {}
    return [
        f"the test of {name} ran into its time limit (eval_timeout_seconds): {then} episodes were "
        f"left unfinished, {now} are"
        for name, test in tests.items()
        if (then := test.get("n_unfinished", 0))
        != (now := others.get(name, {}).get("n_unfinished", 0))
    ]


def explain_demonstrations(stored: Mapping[str, Any], again: Mapping[str, Any]) -> list[str]:
    """Say that two trainings have learnt from other demonstrations; [] for the same or none.

    Args:
        stored: Checkpoint of the run.
        again: That of the second training.
    """
    then, now = (
        source.get("demonstrations") if isinstance(source, Mapping) else None
        for source in (stored.get("source"), again.get("source"))
    )
    if then == now:
        return []
    return ["the demonstrations are others: the dataset has changed since the training"]


def changed_settings(
    old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = ""
) -> list[tuple[str, Any, Any]]:
    """Return dotted key, old and new value of every setting that is not the same."""
    found: list[tuple[str, Any, Any]] = []
    for key in dict.fromkeys((*old, *new)):
        before, after = old.get(key, _ABSENT), new.get(key, _ABSENT)
        if key == "schema_version" and not prefix:
            continue
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            found += changed_settings(before, after, f"{prefix}{key}.")
        elif before != after:
            found.append((prefix + key, before, after))
    return found


def _machine_reasons(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    old, new = before.get("packages") or {}, now.get("packages") or {}
    # A library that was not asked about then may have been there all the same.
    found = [
        f"{name} was {version}, is {new.get(name, 'not installed')}"
        for name, version in old.items()
        if version != new.get(name)
    ]
    found += [
        f"{words} was {before[key]}, is {now.get(key)}"
        for key, words in _FACTS
        if key in before and before[key] != now.get(key)
    ]
    for kind in ("thread_variables", "arithmetic_variables"):
        old, new = before.get(kind) or {}, now.get(kind) or {}
        found += [
            f"{name} was {old.get(name, 'not set')}, is {new.get(name, 'not set')}"
            for name in dict.fromkeys((*old, *new))
            if old.get(name) != new.get(name)
        ]
    old, new = before.get("processor_flags"), now.get("processor_flags")
    if isinstance(old, list) and isinstance(new, list) and set(old) != set(new):
        lost, won = sorted(set(old) - set(new)), sorted(set(new) - set(old))
        parts = [f"without {' '.join(lost)}"] * bool(lost) + [f"with {' '.join(won)}"] * bool(won)
        found.append(f"the processor's vector instructions: now {', '.join(parts)}")
    if before.get("git_has_changes") or now.get("git_has_changes"):
        when = {
            (True, True): "then and now",
            (True, False): "then",
            (False, True): "now",
        }[bool(before.get("git_has_changes")), bool(now.get("git_has_changes"))]
        found.append(f"{UNCOMMITTED} {when}")
    return found


def _past_reasons(sessions: Sequence[Mapping[str, Any]]) -> list[str]:
    if len(sessions) < 2:
        return []
    found = [f"{len(sessions)} processes trained the run one after the other (it was resumed)"]
    first, last = _config_of(sessions[0]), _config_of(sessions[-1])
    if first is not None and last is not None:
        found += [
            f"the run was resumed with other settings: {key} was {old} at first, {new} in the end"
            for key, old, new in changed_settings(first, last)
        ]
    devices = dict.fromkeys(str(session.get("device")) for session in sessions)
    if len(devices) > 1:
        found.append(f"it was trained on {' and then on '.join(devices)}")
    return found
