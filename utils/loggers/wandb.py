"""Metrics for Weights & Biases, an optional extra; offline when there is no key."""

from __future__ import annotations

import logging
import netrc
import os
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typing_extensions import override

from utils.errors import MissingDependencyError, UserError
from utils.loggers.log_writer import TIMESTEPS_KEY, LogWriter

_log = logging.getLogger("gymnasium_solver")

_KEY_VARIABLES = ("WANDB_MODE", "WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE")
_INIT_SECONDS = 20
_FINISH_SECONDS = 10


class WandbWriter(LogWriter):
    """Log one row per epoch; the declared step of every metric is the number of timesteps.

    W&B itself prints nothing; where the run is to be found stands in the log.

    W&B's own step only counts the calls, so that rows of a resumed run are never refused as older
    than what is there.
    """

    def __init__(
        self, *, project: str, run_id: str, run_dir: Path, config_dict: Mapping[str, Any]
    ) -> None:
        """Start or continue the run in W&B; a run that a sweep has started is used as it is.

        Args:
            project: Name of the project.
            run_id: Name of the run's folder; resuming it continues the same W&B run.
            run_dir: The run's folder; W&B keeps its files in it.
            config_dict: The whole config as JSON values.

        Raises:
            MissingDependencyError: The package `wandb` is not installed.
            UserError: W&B cannot be reached or refuses the key.
        """
        try:
            import wandb
        except ImportError as error:
            raise MissingDependencyError(
                "wandb", extra="wandb", needed_for="wandb: true"
            ) from error
        settings = wandb.Settings(
            init_timeout=_INIT_SECONDS,
            finish_timeout=_FINISH_SECONDS,
            finish_timeout_raises=False,
            silent=True,
        )
        # Its own settings silence the run only; this also holds for what W&B itself has to say.
        wandb.setup(settings=wandb.Settings(silent=True))
        try:
            self._run: Any = wandb.run or wandb.init(
                project=project,
                id=run_id,
                name=run_id,
                dir=str(run_dir),
                config=dict(config_dict),
                resume="allow",
                mode=None if has_key() else "offline",
                settings=settings,
            )
        except wandb.errors.Error as error:
            raise UserError(
                f"Weights & Biases cannot start: {error}; WANDB_MODE=offline keeps the data here"
            ) from error
        _log.info("W&B: %s", self._run.url or f"offline, in {self._run.settings.sync_dir}")
        self._run.define_metric(TIMESTEPS_KEY)
        self._run.define_metric("*", step_metric=TIMESTEPS_KEY)

    @override
    def write(self, row: Mapping[str, float], *, epoch: int, timesteps: int) -> None:
        """Log the row of one epoch; see `LogWriter`."""
        self._run.log({**row, TIMESTEPS_KEY: timesteps})

    def write_video(self, path: Path, *, timesteps: int) -> None:
        """Log a finished video of the policy as it was at `timesteps`."""
        import wandb

        video = wandb.Video(str(path), format="mp4")
        self._run.log({"val/video/episode": video, TIMESTEPS_KEY: timesteps})

    @override
    def truncate_after(self, epoch: int) -> None:
        """Do nothing: W&B keeps what it was given; the repeated rows hold the same values."""

    @override
    def close(self) -> None:
        """Finish the run; waits a few seconds at most, what was not sent stays on the disk."""
        if self._run is not None:
            self._run.finish()
            self._run = None


def has_key() -> bool:
    """Say whether W&B is set up: by a mode, a key in the environment, or `wandb login`."""
    if any(os.environ.get(name) for name in _KEY_VARIABLES):
        return True
    url = os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")
    path = Path(os.environ.get("NETRC", Path.home() / ".netrc"))
    try:
        return (
            netrc.netrc(path).authenticators(urllib.parse.urlsplit(url).hostname or "") is not None
        )
    except (OSError, netrc.NetrcParseError):
        return False
