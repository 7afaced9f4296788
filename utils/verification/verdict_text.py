"""A verdict as people read it."""

from __future__ import annotations

from collections.abc import Sequence

from utils.run import Run
from utils.text_tables import counted, format_table
from utils.verification.equality import RowDifference
from utils.verification.reasons import UNCOMMITTED
from utils.verification.verify import Verdict

_MOST = 8


def describe_verdict(run: Run, verdict: Verdict) -> str:
    """Say whether a run was verified, and if not, where and why it differs."""
    if verdict.is_verified:
        return "\n".join([f"VERIFIED {run.id}: {_what_is_same(verdict)}", *_though(verdict)])
    lines = [f"DIFFERS {run.id}: {_headline(verdict)}"]
    if verdict.row is not None:
        lines += _row_lines(verdict.row)
    lines += _list("different in the checkpoint", verdict.states)
    lines += _reason_lines(verdict)
    return "\n".join(lines)


def _what_is_same(verdict: Verdict) -> str:
    how = "equal" if verdict.tolerance == 0.0 else f"equal within {verdict.tolerance:g} (relative)"
    parts = [f"{counted(verdict.n_rows, 'epoch')} of metrics"]
    if verdict.weights_epoch is None:
        parts.append("no weights were stored to compare")
    else:
        parts.append(f"{verdict.n_numbers:,} numbers of epoch {verdict.weights_epoch}'s checkpoint")
    if verdict.n_test_returns:
        parts.append(counted(verdict.n_test_returns, "test return"))
    return f"{', '.join(parts)}: {how}"


def _though(verdict: Verdict) -> list[str]:
    reasons = [reason for reason in verdict.reasons if not reason.startswith(UNCOMMITTED)]
    return [f"  although {reason}" for reason in reasons]


def _equal_epochs(verdict: Verdict, which: str = "") -> str:
    verb = "is" if verdict.n_rows == 1 else "are"
    return f"{counted(verdict.n_rows, 'epoch')}{which} {verb} equal"


def _headline(verdict: Verdict) -> str:
    if verdict.row is not None:
        row = verdict.row
        before = _equal_epochs(verdict, " before it") if verdict.n_rows else "the very first"
        return f"first at epoch {row.epoch} ({row.timesteps:,} timesteps), {before}"
    if verdict.is_short:
        return f"{_equal_epochs(verdict)}, then the one training ended and the other went on"
    if verdict.states:
        return f"all {verdict.n_rows} epochs of metrics are equal, the weights are not"
    same = "metrics are" if verdict.weights_epoch is None else "metrics and weights are"
    return f"{same} equal, the test of {' and '.join(verdict.tests)} is not"


def _row_lines(row: RowDifference) -> list[str]:
    shown = sorted(row.values, key=lambda value: "/roll/" not in value.key)[:_MOST]
    table = format_table(
        ("metric", "stored", "again"),
        [(v.key, _number(v.stored), _number(v.again)) for v in shown],
    )
    lines = [f"  {line}" for line in table.splitlines()]
    if len(row.values) > _MOST:
        lines.append(f"  and {len(row.values) - _MOST} more metrics")
    if any(v.key == "val/roll/n_unfinished" for v in row.values):
        lines.append("  an evaluation ran into its time limit (eval_timeout_seconds)")
    elif row.is_of_update_alone:
        lines.append("  what was collected in that epoch is equal: the update is what differs")
    else:
        lines.append(
            "  what was collected in that epoch differs: by the seed, the environment or the "
            "weights before it"
        )
    return lines


def _reason_lines(verdict: Verdict) -> list[str]:
    if verdict.reasons:
        return _list("not as it was when the run was trained", verdict.reasons)
    return [
        "nothing that was recorded of the training is otherwise: perhaps an environment draws",
        "random numbers of its own, or files of the run were changed",
    ]


def _list(title: str, items: Sequence[str]) -> list[str]:
    if not items:
        return []
    more = [f"  - and {len(items) - _MOST} more"] if len(items) > _MOST else []
    return [f"{title}:", *(f"  - {item}" for item in items[:_MOST]), *more]


def _number(value: object) -> str:
    return "(absent)" if value is None else repr(value)
