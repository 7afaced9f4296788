"""Puts the report of a finished run together and writes it into the run's folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from utils.config import Config
from utils.errors import CheckpointError
from utils.loggers.jsonl import read_jsonl
from utils.loggers.number_text import format_duration
from utils.reports import sections
from utils.reports.figure import draw_curves
from utils.run import Run
from utils.run.continuation import resuming_budget, uses_more_time
from utils.storage import write_bytes
from utils.text_tables import counted

if TYPE_CHECKING:
    from utils.rollouts import EvaluationResult

CURVES_NAME = "curves.png"


def write_report(
    run: Run,
    config: Config,
    *,
    results: Mapping[str, EvaluationResult] | None,
    solved_threshold: float | None,
    stop_threshold: float | None,
    stop_reason: str,
) -> Path:
    """Write `report.md` and `curves.png` from the files of a run and its last test.

    The time that it tells is that in training to the end of the last epoch, resumed parts
    included.

    Args:
        run: Its metrics, alerts, facts, checkpoints and videos are read.
        config: The config that it was trained with.
        results: Test of the `best` and the `last` policy; empty where the config asks for none,
            None where the run was interrupted before it.
        solved_threshold: Mean return at which the task counts as solved; None where it is not
            known.
        stop_threshold: Mean return at which the run stops early; None where it does not.
        stop_reason: Why training ended.

    Returns:
        The report.

    Raises:
        StorageError: A file cannot be written.
    """
    rows = read_jsonl(run.metrics_jsonl)
    if rows:
        picture = draw_curves(
            rows, solved_threshold=solved_threshold, stop_threshold=stop_threshold
        )
        write_bytes(run.path / CURVES_NAME, picture, sync=False)
    checkpoints = _checkpoint_files(run)
    parts = [
        f"# {config.config_id}, seed {config.seed}",
        _summary(run, config, rows, stop_reason=stop_reason),
        "## Result",
        sections.result_section(
            results,
            checkpoints=checkpoints,
            solved_threshold=solved_threshold,
            stop_threshold=stop_threshold,
        ),
        *_video_part(run, checkpoints),
        "## Curves",
        f"![Curves of the metrics]({CURVES_NAME})" if rows else "No epoch.",
        "## Next",
        sections.command_section(
            run_id=run.id,
            runs_dir=str(run.path.parent),
            config_id=config.config_id,
            checkpoints=checkpoints,
            is_resumable=uses_more_time(is_complete=results is not None, reason=stop_reason),
            more_timesteps=resuming_budget(config, is_complete=results is not None),
        ),
        "## Alerts",
        sections.alert_section(read_jsonl(run.alerts_jsonl)),
        "## Settings",
        sections.settings_section(config),
        "## Speed",
        sections.speed_section(rows),
        "## Machine",
        sections.machine_section(run.read_environment_facts()),
    ]
    write_bytes(run.report_path, ("\n\n".join(parts) + "\n").encode(), sync=False)
    return run.report_path


def _summary(
    run: Run,
    config: Config,
    rows: Sequence[Mapping[str, Any]],
    *,
    stop_reason: str,
) -> str:
    seconds = sections.training_seconds(rows)
    epochs, timesteps = (rows[-1]["epoch"], rows[-1]["timesteps"]) if rows else (0, 0)
    return (
        f"{config.spec.summary or config.env_id}.\n\n"
        f"Training ended after {timesteps:,} timesteps ({counted(epochs, 'epoch')}) in "
        f"{format_duration(seconds)} of training: {stop_reason}. Run `{run.id}`."
    )


def _checkpoint_files(run: Run) -> dict[str, str]:
    files = {}
    for name in ("best", "last"):
        try:
            files[name] = run.checkpoint(f"@{name}").name
        except CheckpointError:
            continue
    return files


def _video_part(run: Run, checkpoints: Mapping[str, str]) -> list[str]:
    """Link the film of the best policy first, then the others by epoch."""
    films = sorted(run.videos_dir.glob("epoch=*.mp4"), key=lambda film: (len(film.name), film.name))
    best = Path(checkpoints["best"]).with_suffix(".mp4").name if "best" in checkpoints else ""
    films.sort(key=lambda film: film.name != best)
    if not films:
        return []
    dreams = [film.with_name(f"dream-{film.name}") for film in films]
    dreams = [film for film in dreams if film.exists()]
    parts = ["Videos: " + ", ".join(_film_link(film, best=best) for film in films)]
    if dreams:
        links = ", ".join(_film_link(film, best=f"dream-{best}") for film in dreams)
        parts.append(f"Dreams beside what happened: {links}")
    return parts


def _film_link(film: Path, *, best: str) -> str:
    mark = " (best policy)" if film.name == best else ""
    return f"[{film.stem}{mark}](videos/{film.name.replace('=', '%3D')})"
