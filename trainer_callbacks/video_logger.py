"""Film the policy, in an environment of its own."""

from __future__ import annotations

import copy
import logging
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from lightning.pytorch import Callback, Trainer
from typing_extensions import override

from utils.checkpoints import load_checkpoint
from utils.config import WorldModelConfig, WorldModelsConfig
from utils.errors import ConfigError, EnvironmentFailedError, MissingDependencyError, StorageError
from utils.metrics import Counters
from utils.playback.environment import RenderError
from utils.playback.film import film_episode
from utils.seeding import derive_seed, global_generator_state, set_global_generator_state
from utils.video import EncoderMissingError

_log = logging.getLogger("gymnasium_solver")

# What may keep a film from being made without harm to the training.
_FAILURES = (
    RenderError,
    EncoderMissingError,
    ConfigError,
    MissingDependencyError,
    EnvironmentFailedError,
    StorageError,
)


class MediaWriter(Protocol):
    """A tracker that takes videos."""

    def write_video(self, path: Path, *, timesteps: int) -> None:
        """Take a finished video of the policy as it was at `timesteps`."""
        ...


class VideoLogger(Callback):
    """Write one episode of a policy to `videos/epoch=XX.mp4` (XX: epochs completed).

    `video: every` films after each evaluation, `last` the final policy. `best` films the best
    policy when training ends, and before that a new best one where `seconds_between` have passed
    since the last film: a short run pays for one film, a long one can be followed. A
    policy with a world model gets a second film, `videos/dream-epoch=XX.mp4`, of what the model saw
    in that episode and dreamt of it. Filming touches neither the other environments nor any
    generator. Where it fails, one warning says why and no other film is tried.
    """

    def __init__(
        self,
        writers: Sequence[MediaWriter] = (),
        *,
        seconds_between: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take who is told.

        Args:
            writers: Each gets the path of every finished film.
            seconds_between: Least time from one film of a new best policy to the next, and from
                the start to the first.
            clock: Seconds that only go forward.
        """
        super().__init__()
        self._writers = list(writers)
        self._seconds_between = seconds_between
        self._clock = clock
        self._filmed_at = clock()
        self._n_evaluations = 0
        self._best_return = -math.inf
        self._has_failed = False

    @override
    def on_train_start(self, trainer: Trainer, pl_module: Any) -> None:
        self._filmed_at = self._clock()
        self._n_evaluations = pl_module.n_evaluations
        self._best_return = _best_return(pl_module)

    @override
    def on_train_epoch_end(self, trainer: Trainer, pl_module: Any) -> None:
        is_evaluated = pl_module.n_evaluations > self._n_evaluations
        self._n_evaluations = pl_module.n_evaluations
        is_best = _best_return(pl_module) > self._best_return
        self._best_return = _best_return(pl_module)
        mode = pl_module.config.video
        is_due = self._clock() - self._filmed_at >= self._seconds_between
        if (mode == "every" and is_evaluated) or (mode == "best" and is_best and is_due):
            self._film(pl_module, pl_module.policy, pl_module.counters)

    @override
    def on_fit_end(self, trainer: Trainer, pl_module: Any) -> None:
        # Not on_train_end: by now the last checkpoint is written, whatever happens here.
        if pl_module.is_interrupted:
            return
        if pl_module.config.video == "last":
            self._film(pl_module, pl_module.policy, pl_module.counters)
        elif pl_module.config.video == "best":
            checkpoint = pl_module.run.checkpoint("@best")
            if not video_path(pl_module.run, checkpoint).exists():
                self._film_checkpoint(pl_module, checkpoint)

    def _film_checkpoint(self, agent: Any, checkpoint: Path) -> None:
        state = load_checkpoint(checkpoint)
        policy = copy.deepcopy(agent.policy)
        policy.load_state_dict(state["policy"])
        self._film(agent, policy, Counters.from_dict(state["counters"]))

    def _film(self, agent: Any, policy: Any, counters: Counters) -> None:
        if self._has_failed:
            return
        config, epoch = agent.config, counters.epoch
        path = agent.run.videos_dir / f"epoch={epoch:02}.mp4"
        generators = global_generator_state()
        how: dict[str, Any] = {
            "seed": derive_seed(config.seed, "video", epoch),
            "deterministic": config.eval_deterministic,
            "max_steps": config.video_max_steps,
            "device": agent.compute_device,
        }
        try:
            film_episode(config, policy, path, **how)
            if isinstance(config, WorldModelConfig | WorldModelsConfig) and config.dream_video:
                from utils.playback.dream_film import film_dreams

                film_dreams(config, policy, dream_path(path), **how)
        except _FAILURES as error:
            self._has_failed = True
            _log.warning("no video: %s", error)
            return
        finally:
            set_global_generator_state(generators)
        self._filmed_at = self._clock()
        for writer in self._writers:
            writer.write_video(path, timesteps=counters.timesteps)


def video_path(run: Any, checkpoint: Path) -> Path:
    """Return where the film of a checkpoint lies, if it was made."""
    path: Path = run.videos_dir / checkpoint.with_suffix(".mp4").name
    return path


def dream_path(film: Path) -> Path:
    """Return where the dreams of the episode of a film are shown."""
    return film.with_name(f"dream-{film.name}")


def _best_return(agent: Any) -> float:
    return -math.inf if agent.best_return is None else agent.best_return
