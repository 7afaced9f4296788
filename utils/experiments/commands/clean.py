"""`experiments.py clean`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from utils.config.option_parser import whole_number
from utils.errors import ConfigError, StorageError, UserError
from utils.experiments.cleaning import Cleaning, clean_run, plan_cleaning
from utils.experiments.commands.options import (
    add_filters,
    find_records,
    is_confirmed,
    make_parser,
)
from utils.experiments.filters import canonical_key, check_key
from utils.run.labels import KEEP_TAG
from utils.text_tables import counted, format_table

_MOST = 8

_EPILOG = """\
examples:
  experiments.py clean --dry-run                    what would go
  experiments.py clean env=CartPole-v1 --keep-best 3 --keep-recent 10

Checkpoints, films, recordings, TensorBoard files and traces go; all else stays: the run can be
listed, compared, drawn and trained again, not played or resumed. Runs that are being trained and
runs with the tag `keep` are never cleaned. A run that was stopped before its end loses what it
could be resumed from: those are named before anything is removed."""


def main(argv: Sequence[str]) -> int:
    """Remove checkpoints, films and recordings of runs that are neither best nor recent."""
    parser = make_parser("clean", "Remove checkpoints and films of old runs.", epilog=_EPILOG)
    add_filters(parser)
    number = whole_number(least=0)
    parser.add_option(
        "--keep-best", type=number, default=3, metavar="N", help="of each config (default 3)"
    )
    parser.add_option(
        "--keep-recent", type=number, default=10, metavar="N", help="newest of all (default 10)"
    )
    parser.add_option(
        "--metric", default="test", metavar="KEY", help="what the best are best in (default test)"
    )
    parser.add_option("--dry-run", action="store_true", help="only say what would be removed")
    parser.add_option("--yes", action="store_true", help="do not ask")
    given = parser.parse_or_refuse(argv)
    if given.dry_run and given.yes:
        raise UserError("--yes has no effect with --dry-run, which removes nothing")
    records = find_records(given.runs_dir, given.filters)
    metric = canonical_key(given.metric)
    check_key(metric, records)
    plans = plan_cleaning(
        records, keep_best=given.keep_best, keep_recent=given.keep_recent, metric=metric
    )
    to_clean = [plan for plan in plans if plan.paths]
    print(_describe(plans, metric))
    if not to_clean or given.dry_run:
        return 0
    question = f"remove {_megabytes(to_clean)} of {_count(to_clean)}?"
    if not given.yes and not is_confirmed(question):
        print("nothing was removed")
        return 0
    return _clean(to_clean)


def _clean(plans: Sequence[Cleaning]) -> int:
    done, problems = [], []
    for plan in plans:
        try:
            clean_run(plan.record.run, plan.paths)
        except (ConfigError, StorageError) as error:
            problems.append(str(error))
        else:
            done.append(plan)
    print(f"removed {_megabytes(done)} of {_count(done)}")
    for problem in problems:
        print(f"note: not cleaned: {problem}", file=sys.stderr)
    return 0


def _describe(plans: Sequence[Cleaning], metric: str) -> str:
    rows = [
        (
            plan.record.columns["id"],
            plan.record.columns["status"],
            "-" if plan.record.value(metric) is None else f"{plan.record.value(metric):,.2f}",
            f"{plan.n_bytes / 1e6:,.1f}",
            ", ".join(path.name for path in plan.paths),
        )
        for plan in plans
        if plan.paths
    ]
    counts: dict[str, int] = {}
    for plan in plans:
        if plan.reason:
            counts[plan.reason] = counts.get(plan.reason, 0) + 1
    kept = ", ".join(f"{n} {reason}" for reason, n in counts.items()) or "none"
    lines = [f"kept whole: {kept}"]
    if rows:
        table = format_table(("run", "status", metric, "MB", "what goes"), rows)
        lines = [table, "", f"to clean: {_count(rows)}, {_megabytes(plans)}", *lines]
        lines += _warn(plan for plan in plans if plan.ends_resuming)
    else:
        lines.append("nothing to clean")
    return "\n".join(lines)


def _warn(plans: Iterable[Cleaning]) -> list[str]:
    """Name the runs that could still come to their end, and cannot once they are cleaned."""
    ids = [str(plan.record.columns["id"]) for plan in plans]
    if not ids:
        return []
    more = f" and {len(ids) - _MOST} more" if len(ids) > _MOST else ""
    return [
        f"warning: {_count(ids)} stopped before the end and cannot be resumed once cleaned: "
        f"{', '.join(ids[:_MOST])}{more} (experiments.py tag RUN --add {KEEP_TAG} keeps it whole)"
    ]


def _count(items: Sequence[object]) -> str:
    return counted(len(items), "run")


def _megabytes(plans: Sequence[Cleaning]) -> str:
    return f"{sum(plan.n_bytes for plan in plans) / 1e6:,.1f} MB"
