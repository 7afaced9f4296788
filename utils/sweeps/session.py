"""One call of scripts/sweep.py on this machine: the study, its trials, and what came of them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from optuna.trial import FrozenTrial

from utils.errors import ConfigError, RunFailedError
from utils.sweeps.best import best_config_text, write_best_config
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
        raise ConfigError(f"--report: there is nothing in '{folder}' yet")
    study = SweepStudy(
        spec,
        folder,
        seed=args.seed,
        n_seeds=args.n_seeds or 1,
        is_read_only=args.is_report_only,
    )
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


def best_as_yaml(spec: SweepSpec, folder: Path) -> str:
    """Return the best trial so far as the text of a config file.

    Raises:
        ConfigError: The folder holds no study, or none with a complete trial.
    """
    if not (folder / "journal.log").exists():
        raise ConfigError(f"--best: there is nothing in '{folder}' yet")
    best = SweepStudy(spec, folder, seed=0, n_seeds=1, is_read_only=True).best
    if best is None:
        raise ConfigError(f"--best: no trial in '{folder}' is complete yet")
    return best_config_text(spec, best.user_attrs[SETTINGS], comment=_describe(spec, best))


def _describe(spec: SweepSpec, best: FrozenTrial) -> str:
    return f"Trial {best.number} of {spec.name}: {spec.metric.name} {best.value:.4g}"


def _finish(study: SweepStudy, folder: Path) -> str:
    """Write page and best config; return what is shown."""
    best, best_id = study.best, None
    lines = [describe_sweep(study)]
    if best is not None:
        settings, comment = best.user_attrs[SETTINGS], _describe(study.spec, best)
        _, best_id = write_best_config(study.spec, settings, folder / "best", comment=comment)
        lines.append(f"best: trial {best.number}; train it with: python train.py {best_id}")
    page = write_page(study, folder, best_id=best_id)
    return "\n".join([*lines, f"page: {page}"])


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
