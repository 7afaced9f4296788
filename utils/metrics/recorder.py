"""Buffer metrics during an epoch; reduce and empty the buffers at its end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from utils.metrics.reducers import REDUCERS
from utils.metrics_config import MetricsConfig, load_metrics_config

_KEY = re.compile(r"(train|val|test)/[a-z0-9_]+/[a-z0-9_.]+")


class MetricsRecorder:
    """Collect values by key and reduce each key to one number per epoch.

    Keys are `<train|val|test>/<group>/<name>`. Values are Python numbers: a caller turns a tensor
    into a number itself, once per update, because each conversion waits for the device.
    """

    def __init__(self, config: MetricsConfig | None = None) -> None:
        """Prepare empty buffers.

        Args:
            config: Names the reducer of each key; the project's `config/metrics.yaml` by default.
        """
        self._config = config or load_metrics_config()
        self._buffers: dict[str, list[float]] = {}
        self._reducers: dict[str, Callable[[Sequence[float]], float]] = {}

    def record(self, key: str, value: float) -> None:
        """Add one value to this epoch.

        Args:
            key: `<train|val|test>/<group>/<name>`.
            value: A Python number. It may be NaN or infinite: the monitor wants to see that. A
                metric without a value is not recorded at all.

        Raises:
            AssertionError: The key is malformed or the value is not a Python number.
        """
        assert isinstance(value, int | float), f"{key}: {type(value).__name__} is not a number"
        buffer = self._buffers.get(key)
        if buffer is None:
            buffer = self._buffers[key] = []
            self._check_key(key)
        buffer.append(value)

    def record_many(self, values: Mapping[str, float]) -> None:
        """Add one value to each of several keys; see `record`."""
        for key, value in values.items():
            self.record(key, value)

    def peek(self, key: str) -> float | None:
        """Return what `flush` would say of one key; None where nothing was recorded."""
        values = self._buffers.get(key)
        return float(self._reducers[key](values)) if values else None

    def flush(self) -> dict[str, float]:
        """Reduce what was recorded since the last flush and empty the buffers.

        Returns:
            One float per key that was recorded; a key without a value is absent.
        """
        buffers, self._buffers = self._buffers, {}
        return {key: float(self._reducers[key](values)) for key, values in buffers.items()}

    def __len__(self) -> int:
        """Return how many values wait for the next flush."""
        return sum(len(values) for values in self._buffers.values())

    def _check_key(self, key: str) -> None:
        if key in self._reducers:
            return
        assert _KEY.fullmatch(key), f"metric key {key!r} is not <train|val|test>/<group>/<name>"
        self._reducers[key] = REDUCERS[self._config.metric(key).reducer]
