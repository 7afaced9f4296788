"""Watch each epoch's metrics and say what looks wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

from lightning.pytorch import Callback, Trainer
from typing_extensions import override

from utils.loggers.jsonl import JsonlWriter
from utils.metrics.advice import fixes_that_apply
from utils.metrics.monitor import Alert, MetricsMonitor


class AlertSink(Protocol):
    """Anything that shows or stores an alert."""

    def alert(self, alert: Alert) -> None:
        """Take one alert."""
        ...


class MonitorMetrics(Callback):
    """Judge `agent.last_row`; each alert goes to `alerts.jsonl` of the run and to the sinks.

    It holds only the fixes that the config of the run leaves open.

    It stands after DispatchMetrics in the list of callbacks.
    """

    def __init__(
        self, sinks: Sequence[AlertSink] = (), *, monitor: MetricsMonitor | None = None
    ) -> None:
        """Take who is told.

        Args:
            sinks: For example the console.
            monitor: The rules; those of `config/metrics.yaml` by default.
        """
        super().__init__()
        self._sinks = list(sinks)
        self._monitor = monitor or MetricsMonitor()
        self._file: JsonlWriter | None = None

    @override
    def on_train_start(self, trainer: Trainer, pl_module: Any) -> None:
        if pl_module.run is not None:
            self._file = JsonlWriter(pl_module.run.alerts_jsonl)
            self._file.truncate_after(pl_module.counters.epoch)

    @override
    def on_train_epoch_end(self, trainer: Trainer, pl_module: Any) -> None:
        counters = pl_module.counters
        for found in self._monitor.check(pl_module.last_row, epoch=counters.epoch):
            fixes = fixes_that_apply(found.fixes, pl_module.config)
            alert = dataclasses.replace(found, fixes=fixes)
            if self._file is not None:
                self._file.write(
                    alert.to_dict(), epoch=counters.epoch, timesteps=counters.timesteps
                )
            for sink in self._sinks:
                sink.alert(alert)

    @override
    def on_exception(self, trainer: Trainer, pl_module: Any, exception: BaseException) -> None:
        self._close()

    @override
    def teardown(self, trainer: Trainer, pl_module: Any, stage: str) -> None:
        self._close()

    @override
    def state_dict(self) -> dict[str, Any]:
        return self._monitor.state_dict()

    @override
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._monitor.load_state_dict(state_dict)

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
