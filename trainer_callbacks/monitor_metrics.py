"""Watch each epoch's metrics and say what looks wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

from lightning.pytorch import Callback, Trainer
from typing_extensions import override

from utils.config import ReplayConfig
from utils.loggers.jsonl import JsonlWriter
from utils.metrics import Counters
from utils.metrics.advice import fixes_that_apply
from utils.metrics.monitor import Alert, MetricsMonitor

_UPDATES_KEY = "train/cnt/updates"


class AlertSink(Protocol):
    """Anything that shows or stores an alert."""

    def alert(self, alert: Alert) -> None:
        """Take one alert."""
        ...


class MonitorMetrics(Callback):
    """Judge `agent.last_row`; each alert goes to `alerts.jsonl` of the run and to the sinks.

    It holds only the fixes that the config of the run leaves open. A training from replay that
    ends without an update is an alert, too.

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
            # That no update was made is said at the end, which a resumed run has not come to.
            self._file.remove(lambda row: row.get("key") == _UPDATES_KEY)

    @override
    def on_train_epoch_end(self, trainer: Trainer, pl_module: Any) -> None:
        counters = pl_module.counters
        for found in self._monitor.check(pl_module.last_row, epoch=counters.epoch):
            fixes = fixes_that_apply(found.fixes, pl_module.config)
            self._tell(dataclasses.replace(found, fixes=fixes), counters)

    @override
    def on_train_end(self, trainer: Trainer, pl_module: Any) -> None:
        config, counters = pl_module.config, pl_module.counters
        is_through = counters.epoch > 0 and not pl_module.is_interrupted
        if is_through and isinstance(config, ReplayConfig) and counters.updates == 0:
            self._tell(_no_update(config, counters), counters)

    def _tell(self, alert: Alert, counters: Counters) -> None:
        if self._file is not None:
            self._file.write(alert.to_dict(), epoch=counters.epoch, timesteps=counters.timesteps)
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


def _no_update(config: ReplayConfig, counters: Counters) -> Alert:
    return Alert(
        key=_UPDATES_KEY,
        value=0.0,
        epoch=counters.epoch,
        bound="not above 0",
        message="the run made no update: its policy is the one that it began with",
        causes=(config.why_no_update(counters.timesteps),),
        fixes=(
            f"raise {config.ratio_key}",
            "raise max_timesteps",
            "lower learning_starts_timesteps",
        ),
    )
