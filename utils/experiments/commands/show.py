"""`experiments.py show`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from utils.errors import ConfigError
from utils.experiments.cells import format_cell
from utils.experiments.commands.list_runs import COLUMNS
from utils.experiments.commands.options import find_records, make_parser, open_runs
from utils.experiments.records import Record, as_record, read_stored, show_value
from utils.loggers.number_text import format_duration
from utils.run import Run, find_group
from utils.text_tables import format_table

_PACKAGES = ("torch", "lightning", "gymnasium", "numpy", "numba")


def main(argv: Sequence[str]) -> int:
    """Print what is known of a run, or of a group of seeds."""
    parser = make_parser("show", "Show all about one run, or about a group of seeds.")
    parser.add_argument(
        "run",
        nargs="?",
        default="@last",
        metavar="RUN",
        help="@last (default), an id, a path; or a group",
    )
    given = parser.parse_or_refuse(argv)
    group = find_group(given.run, given.runs_dir)
    if group is not None:
        records = find_records(group.runs_dir, [f"group={group.id}"])
        columns = [name for name in COLUMNS if name != "group"]
        rows = [[format_cell(r, key) for key in columns] for r in reversed(records)]
        print(f"group {group.id}\n\n{format_table(columns, rows)}")
        if group.report_path.exists():
            print(f"\nreport  {group.report_path}")
        return 0
    (run,) = open_runs([given.run], given.runs_dir)
    print(describe_run(run))
    return 0


def describe_run(run: Run) -> str:
    """Return everything worth knowing of a run as text."""
    record = as_record(run, read_stored(run))
    return "\n\n".join(
        [
            f"{run.path}\n{record.columns['config']}, seed {record.columns['seed']}",
            _facts(record),
            _settings(run),
            _machine(run),
        ]
    )


def _facts(record: Record) -> str:
    columns = record.columns
    seconds = columns["seconds"]
    shown = {
        "status": f"{columns['status']}" + (f": {columns['reason']}" if columns["reason"] else ""),
        "started": columns["started"] or None,
        "timesteps": f"{columns['timesteps']:,} of {columns['budget'] or 0:,}",
        "training time": None if seconds is None else _duration(seconds),
        "best evaluation": columns["best"],
        "test, best policy": columns["test"],
        "test, last policy": columns["last"],
        "solved at": record.solved_at,
        "alerts": columns["alerts"],
        "group": columns["group"],
        "tags": ", ".join(columns["tags"]) or None,
        "note": columns["note"] or None,
        "size": _size(record.run.path),
    }
    return _lines({key: value for key, value in shown.items() if value is not None})


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else format_duration(seconds)


def _settings(run: Run) -> str:
    from utils.config import load_config_json
    from utils.reports.sections import flatten_settings, format_setting

    try:
        config = load_config_json(run.config_path)
    except ConfigError as error:
        return f"settings cannot be read: {error}"
    chosen = {
        key: format_setting(value)
        for key, value, default in flatten_settings(config)
        if key not in ("env_id", "algo_id", "seed") and (default is None or default[0] != value)
    }
    return "settings that are not at their default\n" + _lines(chosen)


def _machine(run: Run) -> str:
    sessions = run.read_environment_facts()
    if not sessions:
        return "machine: not recorded"
    facts = sessions[-1]
    packages = facts.get("packages", {})
    shown = {
        "processor": facts.get("processor"),
        "device": facts.get("device_name") or facts.get("device"),
        "torch threads": facts.get("torch_threads"),
        "versions": ", ".join(f"{name} {packages[name]}" for name in _PACKAGES if name in packages),
        "commit": facts.get("git_commit"),
        "processes": len(sessions) if len(sessions) > 1 else None,
    }
    return "machine\n" + _lines({key: value for key, value in shown.items() if value is not None})


def _lines(values: Mapping[str, object]) -> str:
    width = max(map(len, values), default=0)
    return "\n".join(f"  {key:{width}}  {_text(value)}" for key, value in values.items())


def _text(value: object) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else show_value(value)


def _size(folder: Path) -> str:
    n_bytes = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    return f"{n_bytes / 1e6:,.1f} MB"
