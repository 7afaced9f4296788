"""One call of scripts/sweep.py on this machine: the study, its trials, and what came of them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from utils.errors import ConfigError, RunFailedError
from utils.sweeps.best import write_best_config
from utils.sweeps.cli import SweepArgs
from utils.sweeps.local import DEFAULT_TRIALS, LocalSweep
from utils.sweeps.report import describe_sweep, write_page
from utils.sweeps.spec import SweepSpec
from utils.sweeps.study import SETTINGS, SweepStudy


def run_session(spec: SweepSpec, args: SweepArgs) -> int:
    """Begin a sweep or go on with it, then tell what it found.

    Returns:
        Exit code: 0 done, 130 interrupted; running trials are done again next time.

    Raises:
        ConfigError: The folder holds another sweep, or none that could be reported on.
        RunFailedError: Every trial has failed.
    """
    folder = args.folder or Path("runs") / "sweeps" / spec.name
    if args.is_report_only and not (folder / "journal.log").exists():
        raise ConfigError(f"--report: there is no sweep in '{folder}' yet")
    study = SweepStudy(spec, folder, seed=args.seed, n_seeds=args.n_seeds or 1)
    if args.is_report_only:
        print(_finish(study, folder))
        return 0
    n_trials = args.n_trials or spec.run_cap or study.n_grid or DEFAULT_TRIALS
    counts = study.counts()
    if counts.tried:
        _tell(f"going on with {folder}: {counts.tried} of {n_trials} trials are tried")
    seeds = (None,) if args.n_seeds is None else tuple(range(args.n_seeds))
    sweep = LocalSweep(study, folder, n_jobs=args.n_jobs, seeds=seeds, tell=_tell)
    code = 0
    try:
        sweep.run(n_trials)
    except KeyboardInterrupt:
        code = 130
    print(_finish(study, folder))
    if code:
        _tell(f"interrupted; go on with: {shlex.join(['python', *sys.argv])}")
        return code
    counts = study.counts()
    if counts.complete == 0 and counts.failed:
        raise RunFailedError(f"all {counts.failed} trials failed; see {folder}/report.md")
    return 0


def _finish(study: SweepStudy, folder: Path) -> str:
    """Write page and best config; return what is shown."""
    best, best_id = study.best, None
    lines = [describe_sweep(study)]
    if best is not None:
        metric = study.spec.metric
        comment = f"Trial {best.number} of {study.spec.name}: {metric.name} {best.value:.4g}"
        _, best_id = write_best_config(
            study.spec, best.user_attrs[SETTINGS], folder / "best", comment=comment
        )
        lines.append(f"best: trial {best.number}; train it with: python train.py {best_id}")
    page = write_page(study, folder, best_id=best_id)
    return "\n".join([*lines, f"page: {page}"])


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
