"""The parts of a report as Markdown; pure functions of what a run left behind."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from utils.config import Config
from utils.loggers.number_text import format_duration
from utils.schedules import ScheduleSpec
from utils.text_tables import counted

if TYPE_CHECKING:
    from utils.rollouts import EvaluationResult


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; cells may hold any text."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def describe_result(result: EvaluationResult) -> str:
    """Say a mean return with its 95 % interval: `495.2 ± 3.1`."""
    if result.mean is None:
        return "no episode finished"
    half_width = result.confidence_half_width()
    return f"{result.mean:,.2f}" + ("" if half_width is None else f" ± {half_width:,.2f}")


def result_section(
    results: Mapping[str, EvaluationResult] | None,
    *,
    checkpoints: Mapping[str, str],
    solved_threshold: float | None,
    stop_threshold: float | None,
) -> str:
    """Describe the test of the best and the last policy.

    Args:
        results: By `best` and `last`; empty where the config asks for no test, None where the run
            was interrupted before it.
        checkpoints: File of each of them.
        solved_threshold: Mean return at which the task counts as solved, if known.
        stop_threshold: Mean return at which the run stops early; None where it does not.
    """
    if results is None:
        return "The run was interrupted, so its policies were not tested; resume it to its end."
    if not results:
        return "No test was made at the end of this run (`test_episodes: 0`)."
    if results.get("best") is results.get("last"):
        results = {"best and last": results["last"]}
        checkpoints = {"best and last": checkpoints.get("last", "")}
    table = markdown_table(
        ("policy", "mean return, 95 % interval", "lowest", "highest", "mean length", "checkpoint"),
        [_result_row(name, result, checkpoints) for name, result in results.items()],
    )
    some = next(iter(results.values()))
    n_episodes = len(some.returns) + some.n_unfinished
    how = "most likely" if some.is_deterministic else "sampled"
    lines = [
        table,
        "",
        f"Each policy played the same {counted(n_episodes, 'fresh episode')} of the test stream "
        f"(seeds from {some.seed} on, used for nothing else) with {how} actions. Returns are raw "
        "and of whole episodes; the interval is that of the mean.",
    ]
    if any(result.n_unfinished for result in results.values()):
        counts = ", ".join(f"{name} {result.n_unfinished}" for name, result in results.items())
        lines.append(f"**Episodes that did not end in time and are in no mean:** {counts}.")
    if solved_threshold is not None:
        lines.append(f"The task counts as solved at a mean return of {solved_threshold:g}.")
    if stop_threshold not in (None, solved_threshold):
        lines.append(f"The run was to stop early at a mean return of {stop_threshold:g}.")
    return "\n".join(lines)


def _result_row(
    name: str, result: EvaluationResult, checkpoints: Mapping[str, str]
) -> tuple[object, ...]:
    file = checkpoints.get(name, "")
    link = f"[{file}](checkpoints/{file.replace('=', '%3D')})" if file else ""
    if not result.returns:
        return name, describe_result(result), "", "", "", link
    length = sum(result.lengths) / len(result.lengths)
    return (
        f"**{name}**",
        describe_result(result),
        f"{min(result.returns):,.2f}",
        f"{max(result.returns):,.2f}",
        f"{length:,.1f}",
        link,
    )


def alert_section(alerts: Sequence[Mapping[str, Any]]) -> str:
    """List what the monitor found, once for each kind, with likely causes and remedies.

    Args:
        alerts: Rows of `alerts.jsonl`, oldest first.
    """
    kinds: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for alert in alerts:
        kinds.setdefault((alert["key"], alert["message"]), []).append(alert)
    if not kinds:
        return "None: every watched metric stayed within its bounds."
    return "\n".join(_alert_item(found) for found in kinds.values())


def _alert_item(found: Sequence[Mapping[str, Any]]) -> str:
    first, last = found[0], found[-1]
    when = f"epoch {first['epoch']}"
    if len(found) > 1:
        when = f"{len(found)} times, epochs {first['epoch']} to {last['epoch']}"
    lines = [
        f"- **{last['message']}** ({when}): `{last['key']}` was {_number(last['value'])}, "
        f"{last['bound']}"
    ]
    if last["causes"]:
        lines.append(f"  - likely: {'; '.join(last['causes'])}")
    if last["fixes"]:
        lines.append(f"  - try: {'; '.join(last['fixes'])}")
    return "\n".join(lines)


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) else str(value)


def settings_section(config: Config) -> str:
    """Show the settings that were chosen, then all of them, folded."""
    chosen = [
        (f"`{key}`", format_setting(value), "" if default is None else format_setting(default[0]))
        for key, value, default in flatten_settings(config)
        if default is None or default[0] != value
    ]
    everything = [(f"`{key}`", format_setting(value)) for key, value, _ in flatten_settings(config)]
    return "\n".join(
        [
            "Chosen for this run; all others have their defaults:",
            "",
            markdown_table(("setting", "value", "default"), chosen),
            "",
            "<details><summary>All settings</summary>",
            "",
            markdown_table(("setting", "value"), everything),
            "",
            "</details>",
        ]
    )


def flatten_settings(config: Config) -> list[tuple[str, Any, tuple[Any] | None]]:
    """List every setting under its dotted key with its value and, in a tuple, its default.

    Identity and the facts about the environment are left out; a setting that has no default has
    None.
    """
    return list(_flatten(config, config.implied_settings(), prefix=""))


_LEFT_OUT = frozenset({"config_id", "description", "spec"})


def _flatten(
    model: Any, implied: Mapping[str, Any], *, prefix: str
) -> Iterable[tuple[str, Any, tuple[Any] | None]]:
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if not prefix and name in _LEFT_OUT:
            continue
        if hasattr(type(value), "model_fields"):
            yield from _flatten(value, implied.get(name, {}), prefix=f"{prefix}{name}.")
        elif name in implied:
            yield prefix + name, value, (implied[name],)
        else:
            yield prefix + name, value, None if field.is_required() else (field.default,)


def format_setting(value: Any) -> str:
    """Write the value of a setting as people read it."""
    if isinstance(value, ScheduleSpec):
        text = f"{value.start:g} → {value.end:g}"
        if (value.from_, value.to) != (0, 1):
            text += f" (from {value.from_:g} to {value.to:g})"
        return text
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, tuple | list):
        text = ", ".join(map(_format_item, value))
        return f"[{text}]" if all(_is_plain(item) for item in value) else text
    if isinstance(value, Mapping):
        return _format_mapping(value)
    if isinstance(value, int) and abs(value) >= 10_000:
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _format_item(item: Any) -> str:
    """Write one of several settings, between which commas stand: numbers have none."""
    return format_setting(item).replace(",", "") if isinstance(item, int) else format_setting(item)


def _is_plain(item: object) -> bool:
    return item is None or isinstance(item, str | int | float | tuple | list)


def _format_mapping(value: Mapping[str, Any]) -> str:
    """Write a block as one types it, one with an id as a call: `FrameSkip(skip=4)`."""
    if "id" in value:
        rest = [f"{key}={_format_item(item)}" for key, item in value.items() if key != "id"]
        return f"{value['id']}({', '.join(rest)})"
    return "{" + ", ".join(f"{key}: {_format_item(item)}" for key, item in value.items()) + "}"


def speed_section(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say where the time went, from the metrics of each epoch."""
    if not rows:
        return "No epoch was completed."
    total = training_seconds(rows)
    parts = {
        "collecting rollouts": _sum(rows, "train/time/rollout_seconds"),
        "learning from them": _sum(rows, "train/time/update_seconds"),
        "evaluation": _sum(rows, "val/time/seconds"),
    }
    parts["everything else (metrics, checkpoints, videos)"] = max(total - sum(parts.values()), 0.0)
    timesteps = rows[-1]["timesteps"]
    table = markdown_table(
        ("part", "seconds", "share"),
        [(name, f"{t:,.2f}", f"{t / total:.1%}" if total else "") for name, t in parts.items()],
    )
    pace = f"{timesteps / total:,.0f} timesteps per second, " if total else ""
    return f"{pace}{format_duration(total)} of training.\n\n{table}"


def training_seconds(rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the time in training to the end of the last epoch, resumed parts included."""
    return float(rows[-1].get("train/time/elapsed_seconds", 0.0)) if rows else 0.0


def _sum(rows: Sequence[Mapping[str, Any]], key: str) -> float:
    return float(sum(row.get(key, 0.0) for row in rows))


def machine_section(sessions: Sequence[Mapping[str, Any]]) -> str:
    """Show versions, threads, processor and commit of the process that ended the run."""
    if not sessions:
        return "Not recorded."
    facts = sessions[-1]
    rows = [
        ("processor", f"{facts.get('processor')}, {facts.get('usable_cores')} usable cores"),
        ("system", facts.get("platform")),
        ("device", facts.get("device")),
        ("torch threads", facts.get("torch_threads")),
        ("environments", facts.get("vectorization")),
        ("python", facts.get("python")),
        *facts.get("packages", {}).items(),
    ]
    if facts.get("git_commit"):
        changes = " with uncommitted changes" if facts.get("git_has_changes") else ""
        rows.append(("commit", f"`{facts['git_commit'][:12]}`{changes}"))
    if len(sessions) > 1:
        rows.append(("processes", f"{len(sessions)}: the run was resumed"))
    shown = [(name, value) for name, value in rows if value is not None]
    return markdown_table(("what", "value"), shown)


def command_section(
    *,
    run_id: str,
    runs_dir: str,
    config_id: str,
    checkpoints: Collection[str],
    is_resumable: bool,
    more_timesteps: int | None,
) -> str:
    """Show what can be done with the run next: only commands that are not refused.

    Args:
        run_id: The run.
        runs_dir: Folder of the runs.
        config_id: What it trained.
        checkpoints: Which of `best` and `last` there are.
        is_resumable: Whether it can be trained on.
        more_timesteps: What to raise the budget to for that; None where it needs no more.
    """
    where = "" if runs_dir == "runs" else f" --runs-dir {shlex.quote(runs_dir)}"
    budget = "" if more_timesteps is None else f" --max-timesteps {more_timesteps}"
    commands = {}
    if "best" in checkpoints:
        commands[f"run_play.py --run-id {run_id}{where}"] = "watch the best policy"
    if "last" in checkpoints:
        commands[f"run_play.py --run-id {run_id}/@last{where}"] = "watch the last one"
        if is_resumable:
            commands[f"train.py --resume {run_id}{budget}{where}"] = "train on"
        origin = run_id if "best" in checkpoints else f"{run_id}/@last"
        commands[f"train.py {config_id} --init-from-run {origin}{where}"] = (
            "start a new run from it"
        )
    if not commands:
        return "Nothing was saved, so there is nothing to go on with."
    width = max(len(command) for command in commands)
    lines = [f"python {command:{width}}  # {purpose}" for command, purpose in commands.items()]
    return "```\n" + "\n".join(lines) + "\n```"
