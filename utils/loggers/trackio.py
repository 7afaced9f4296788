"""trackio, an optional extra: a dashboard on this machine, without an account or a server."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from typing_extensions import override

from utils.errors import MissingDependencyError
from utils.loggers.log_writer import EPOCH_KEY
from utils.loggers.tracker import VIDEO_KEY, Past, RunResult, Tracker, tell
from utils.metrics.monitor import Alert


class TrackioWriter(Tracker):
    """Log one row per epoch; the step is the number of timesteps.

    trackio keeps everything under `TRACKIO_DIR` (a folder of the user's cache by default); its
    dashboard is `trackio show --project NAME`. Its own measurements of the machine are off: they
    cost a thread, and the rows have what the training needs to know.
    """

    def __init__(
        self,
        *,
        project: str,
        run_id: str,
        config_dict: Mapping[str, Any],
        past: Past | None = None,
    ) -> None:
        """Start or continue the run.

        Args:
            project: Name of the project.
            run_id: Name of the run's folder; resuming it continues the same run.
            config_dict: The whole config as JSON values.
            past: What a resumed run wrote before.

        Raises:
            MissingDependencyError: The package `trackio` is not installed.
        """
        with _silence():
            try:
                import trackio
            except ImportError as error:
                raise MissingDependencyError(
                    "trackio", extra="trackio", needed_for="the tracker trackio"
                ) from error
            self._run: Any = trackio.init(
                project=project,
                name=run_id,
                group=config_dict.get("config_id"),
                config=dict(config_dict),
                resume="allow",
                embed=False,
                auto_log_cpu=False,
                auto_log_gpu=False,
            )
            last_step = trackio.SQLiteStorage.get_max_step_for_run(project, run_id)
        self._known_step = -1 if last_step is None or past is None else last_step
        self._film: tuple[Any, int] | None = None
        self._last_step = 0
        if past is not None:
            past.send_again(self, after_step=self._known_step)
        tell(f"trackio: look with: trackio show --project {project}")

    @override
    def write(self, row: Mapping[str, float], *, epoch: int, timesteps: int) -> None:
        """Log the row of one epoch; see `LogWriter`."""
        if timesteps <= self._known_step:
            return
        media = {} if self._film is None else {VIDEO_KEY: self._film[0]}
        self._film, self._last_step = None, timesteps
        self._run.log({**row, **media, EPOCH_KEY: epoch}, step=timesteps)

    @override
    def write_video(self, path: Path, *, timesteps: int) -> None:
        """Log a finished video; it becomes part of the next row, or one of its own at the end."""
        import trackio

        self._film = trackio.Video(str(path), caption=path.stem), timesteps

    @override
    def alert(self, alert: Alert) -> None:
        """Log an alert; the dashboard lists it."""
        text = f"{alert.message} ({alert.value:g}, {alert.bound}, epoch {alert.epoch})"
        with _silence():
            self._run.alert(alert.key, text, step=self._last_step)

    @override
    def write_result(self, result: RunResult) -> None:
        """Log the last video and the numbers of the summary, in rows of their own."""
        if self._film is not None:
            film, timesteps = self._film
            self._film = None
            self._run.log({VIDEO_KEY: film}, step=timesteps)
        numbers = {k: v for k, v in result.summary.items() if isinstance(v, int | float)}
        self._run.log(numbers, step=int(numbers.get("train/total/timesteps", self._last_step)))

    @override
    def mark_failed(self) -> None:
        """Do nothing: trackio knows no failed runs."""

    @override
    def truncate_after(self, epoch: int) -> None:
        """Do nothing: trackio keeps what it was given, and `write` passes over what it has."""

    @override
    def close(self) -> None:
        """Wait until everything is on the disk; half a minute at most."""
        if self._run is not None:
            import trackio

            self._run = None
            with _silence():
                trackio.finish()


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keep trackio's own lines, one of which shows a token, off the screen."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
