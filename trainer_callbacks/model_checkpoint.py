"""Save the run often enough that little is lost, and keep the best policy."""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, Trainer
from typing_extensions import override

from trainer_callbacks.warmup_eval import first_evaluation_epoch
from utils.checkpoints import point, read_description, resolve, save_checkpoint
from utils.config import ReplayConfig, WorldModelsConfig
from utils.errors import CheckpointError
from utils.loggers.number_text import format_duration
from utils.storage import remove_temporary_files, write_json

SCORE_KEY = "val/roll/ep_rew_mean"
_log = logging.getLogger("gymnasium_solver")


class ModelCheckpoint(Callback):
    """Write `epoch=XX.ckpt` (XX: epochs completed) with a JSON file beside it.

    It saves after each evaluation, each `checkpoint_freq_epochs`, each
    `checkpoint_interval_seconds`, on request, and when training ends or is asked to stop. `last`
    is the newest checkpoint. `best` is the one with the highest mean return of an evaluation (the
    earliest of equals); in a run without evaluation it is the last one. The newest
    `keep_checkpoints` and the best are kept. It stands last in the list of callbacks.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Start without a best score.

        Args:
            clock: Seconds that only go forward.
        """
        super().__init__()
        self._clock = clock
        self._best_score: float | None = None
        self._saved_epoch: int | None = None
        self._saved_at = self._started_at = clock()
        self._is_first_epoch = True
        self._requests: list[Callable[[Path], None]] = []

    @override
    def on_train_start(self, trainer: Trainer, pl_module: Any) -> None:
        remove_temporary_files(pl_module.run.checkpoints_dir)
        self._saved_at = self._started_at = self._clock()
        self._is_first_epoch = True
        is_resumed = pl_module.counters.epoch > 0
        self._saved_epoch = pl_module.counters.epoch if is_resumed else None
        if is_resumed:
            self._check_best(pl_module.run.checkpoints_dir)

    @override
    def on_train_epoch_end(self, trainer: Trainer, pl_module: Any) -> None:
        score = pl_module.last_row.get(SCORE_KEY)
        if score is not None or self._requests or self._is_due(pl_module):
            path = self.save(pl_module)
            requests, self._requests = self._requests, []
            for then in requests:
                then(path)
        if self._is_first_epoch:
            self._is_first_epoch = False
            self._warn_if_only_final(pl_module)

    @override
    def on_train_end(self, trainer: Trainer, pl_module: Any) -> None:
        if self._saved_epoch != pl_module.counters.epoch:
            self.save(pl_module)
        folder = pl_module.run.checkpoints_dir
        if self._best_score is None:
            point(folder, "best", resolve(folder, "last"))

    def request_save(self, then: Callable[[Path], None]) -> None:
        """Save at the end of the running epoch, whether that is due or not.

        Args:
            then: Called with the checkpoint once it is on the disk and `last` points to it.
        """
        self._requests.append(then)

    def save(self, agent: Any) -> Path:
        """Save the state of the agent as it is between two epochs.

        Returns:
            The checkpoint.

        Raises:
            StorageError: The disk is full or read-only; earlier checkpoints are as they were.
        """
        folder: Path = agent.run.checkpoints_dir
        path = folder / f"epoch={agent.counters.epoch:02}.ckpt"
        score = agent.last_row.get(SCORE_KEY)
        is_best = self._take_score(score)
        agent.save_companions(path)
        save_checkpoint(path, agent.checkpoint_state())
        write_json(path.with_suffix(".json"), self._description(agent, is_best=is_best))
        # In this order a kill in between leaves `last` at an older state that does not know the
        # new best score yet, so the resumed run reaches it again.
        if is_best:
            point(folder, "best", path)
        point(folder, "last", path)
        self._saved_epoch, self._saved_at = agent.counters.epoch, self._clock()
        self._remove_old(folder, agent.config.keep_checkpoints)
        _remove_companions(folder, but_of=path)
        return path

    @override
    def state_dict(self) -> dict[str, Any]:
        return {"best_score": self._best_score}

    @override
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._best_score = state_dict["best_score"]

    def _check_best(self, folder: Path) -> None:
        """Forget the best score where its policy has been removed: see `rewind`."""
        told: Mapping[str, Any] = {}
        with contextlib.suppress(CheckpointError):
            told = read_description(resolve(folder, "best"))
        if told and not (told["is_best_so_far"] and told["best_score"] == self._best_score):
            score = told["metrics"].get(SCORE_KEY)
            self._best_score = score if isinstance(score, float) else None

    def _is_due(self, agent: Any) -> bool:
        frequency = agent.config.checkpoint_freq_epochs
        if frequency is not None and agent.counters.epoch % frequency == 0:
            return True
        interval: float = agent.config.checkpoint_interval_seconds
        return self._clock() - self._saved_at >= interval

    def _take_score(self, score: float | None) -> bool:
        if score is None or not math.isfinite(score):
            return False
        if self._best_score is not None and score <= self._best_score:
            return False
        self._best_score = score
        return True

    def _description(self, agent: Any, *, is_best: bool) -> dict[str, Any]:
        metrics = {
            key: value if math.isfinite(value) else str(value)
            for key, value in agent.last_row.items()
        }
        return {
            "config_id": agent.config.config_id,
            "saved_at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "is_best_so_far": is_best,
            "best_score": self._best_score,
            "counters": agent.counters.to_dict(),
            "metrics": metrics,
        }

    def _remove_old(self, folder: Path, n_keep: int) -> None:
        files = sorted(folder.glob("epoch=*.ckpt"), key=lambda path: path.stat().st_mtime_ns)
        protected = {resolve(folder, "last")}
        with contextlib.suppress(CheckpointError):
            protected.add(resolve(folder, "best"))
        for path in files[:-n_keep]:
            if path not in protected:
                path.unlink()
                path.with_suffix(".json").unlink(missing_ok=True)

    def _warn_if_only_final(self, agent: Any) -> None:
        """Say at the start when no save falls into the run before its end."""
        config, counters = agent.config, agent.counters
        phases = config.phases if isinstance(config, ReplayConfig | WorldModelsConfig) else ()
        if any(phase.type != "online" for phase in phases):
            return  # how long those last that take no timesteps, nobody knows yet
        per_epoch = counters.timesteps / counters.epoch
        n_epochs = math.ceil(config.max_timesteps / per_epoch)
        seconds = (self._clock() - self._started_at) * (n_epochs - counters.epoch + 1)
        first = min(
            first_evaluation_epoch(config, timesteps_per_epoch=per_epoch),
            config.checkpoint_freq_epochs or math.inf,
        )
        if first < n_epochs or seconds > config.checkpoint_interval_seconds or n_epochs <= 1:
            return
        _log.warning(
            "no checkpoint falls into this run of about %d epochs (%s) before its end; "
            "set checkpoint_freq_epochs to save in between",
            n_epochs,
            format_duration(seconds),
        )


def _remove_companions(folder: Path, *, but_of: Path) -> None:
    """Remove large files beside older checkpoints: only `last` is resumed with all it had."""
    for path in folder.glob("epoch=*"):
        is_own = path.suffix in (".ckpt", ".json") or path.stem == but_of.stem
        if not is_own:
            path.unlink()
