"""What Lightning's loop adds to the time that an agent needs in a bare loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from lightning.pytorch import Callback, Trainer
from typing_extensions import override

from utils.benchmarks.contest import median
from utils.schedules import schedule_value
from utils.trainer_factory import build_trainer


@dataclass(frozen=True, slots=True)
class Duration:
    """How long something took."""

    seconds: float
    cpu_seconds: float
    """Processor time of this process; other load on the machine hardly touches it."""


@dataclass(frozen=True, slots=True)
class LightningShare:
    """The same training with and without Lightning, one pair for each round."""

    bare: tuple[Duration, ...]
    """Through a plain `for` loop."""
    fit: tuple[Duration, ...]
    """Through `Trainer.fit`, its start and end included."""
    loop: tuple[Duration, ...]
    """Of `fit`, from the first epoch to the last."""
    n_epochs: int

    def percent(self, whole: tuple[Duration, ...]) -> tuple[float, float]:
        """Return Lightning's part of `fit` or `loop` in percent: of wall time, of CPU time.

        Medians over the rounds of what each pair says.
        """
        pairs = list(zip(whole, self.bare, strict=True))
        return (
            100.0 * median([(w.seconds - b.seconds) / w.seconds for w, b in pairs]),
            100.0 * median([(w.cpu_seconds - b.cpu_seconds) / w.cpu_seconds for w, b in pairs]),
        )


class _Stopwatch:
    def __init__(self) -> None:
        self._started, self._cpu_started = time.perf_counter(), time.process_time()

    def read(self) -> Duration:
        return Duration(
            time.perf_counter() - self._started, time.process_time() - self._cpu_started
        )


class _Conductor(Callback):
    """Does between epochs what the bare loop does, stops after some, and times the loop."""

    def __init__(self, n_epochs: int) -> None:
        self._n_epochs = n_epochs
        self._watch = _Stopwatch()
        self.loop: Duration | None = None

    @override
    def on_train_start(self, trainer: Trainer, pl_module: Any) -> None:
        self._watch = _Stopwatch()

    @override
    def on_train_epoch_start(self, trainer: Trainer, pl_module: Any) -> None:
        _set_hyperparameters(pl_module)

    @override
    def on_train_epoch_end(self, trainer: Trainer, pl_module: Any) -> None:
        pl_module.last_row = pl_module.recorder.flush()
        if pl_module.counters.epoch == self._n_epochs:
            pl_module.request_stop("benchmark")

    @override
    def on_train_end(self, trainer: Trainer, pl_module: Any) -> None:
        self.loop = self._watch.read()


def measure_lightning_share(
    build_agent: Callable[[], Any], *, n_epochs: int, n_rounds: int
) -> LightningShare:
    """Train equal agents in turns in a bare loop and through Lightning.

    Args:
        build_agent: Builds an agent with the same seed each time.
        n_epochs: Epochs of each training.
        n_rounds: Trainings of each kind; one more pair comes first, unmeasured.

    Raises:
        AssertionError: The two did not train the same weights, so they did not do the same work.
    """
    rounds = []
    for i in range(n_rounds + 1):
        bare, fit = build_agent(), build_agent()
        if i % 2 == 0:
            bare_time = train_bare(bare, n_epochs=n_epochs)
        fit_time, loop_time = _train_with_lightning(fit, n_epochs=n_epochs)
        if i % 2 == 1:
            bare_time = train_bare(bare, n_epochs=n_epochs)
        _assert_same_weights(bare.policy, fit.policy)
        bare.close()
        fit.close()
        rounds.append((bare_time, fit_time, loop_time))
    return LightningShare(*(tuple(column) for column in zip(*rounds[1:], strict=True)), n_epochs)


def train_bare(agent: Any, *, n_epochs: int) -> Duration:
    """Train without a trainer: the same calls in a plain loop."""
    watch = _Stopwatch()
    agent.on_fit_start()
    for _ in range(n_epochs):
        _set_hyperparameters(agent)
        agent.collect_rollout()
        for batch in agent.source.loader:
            agent.learn_from(batch)
        agent.last_row = agent.recorder.flush()
    return watch.read()


def _train_with_lightning(agent: Any, *, n_epochs: int) -> tuple[Duration, Duration]:
    conductor = _Conductor(n_epochs)
    watch = _Stopwatch()
    build_trainer(device="cpu", callbacks=[conductor]).fit(agent)
    whole = watch.read()
    assert conductor.loop is not None
    return whole, conductor.loop


def _set_hyperparameters(agent: Any) -> None:
    config = agent.config
    for name, value in config.hyperparameters.items():
        agent.hyperparameters[name] = schedule_value(
            value, timesteps=agent.counters.timesteps, max_timesteps=config.max_timesteps
        )


def _assert_same_weights(one: torch.nn.Module, other: torch.nn.Module) -> None:
    for name, weight in one.state_dict().items():
        assert torch.equal(weight, other.state_dict()[name]), f"{name} differs: unequal work"
