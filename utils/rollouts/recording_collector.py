"""A collector that also writes down where every step led to."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from utils.rollouts.buffer import RolloutBuffer
from utils.rollouts.collector import Collector, RolloutSummary
from utils.rollouts.stepper import Outcome
from utils.rollouts.transitions import TransitionRecord


class RecordingCollector(Collector):
    """Fills a `TransitionRecord` beside the buffer."""

    def __init__(self, *args: Any, record: TransitionRecord, **kwargs: Any) -> None:
        """Bind environment and policy; see `Collector`.

        Args:
            args: Passed on.
            record: Is filled with each rollout of a fixed number of steps.
            kwargs: Passed on.
        """
        super().__init__(*args, **kwargs)
        self.record = record

    @override
    def collect(self, buffer: RolloutBuffer, *, n_steps: int) -> RolloutSummary:
        self.record.begin(n_steps)
        summary = super().collect(buffer, n_steps=n_steps)
        self.record.write_observation(n_steps, self.stepper.observation)
        return summary

    @override
    def _write_step(
        self, buffer: RolloutBuffer, t: int, *, is_counted: np.ndarray | None = None
    ) -> Outcome:
        self.record.write_observation(t, self.stepper.observation)
        outcome = super()._write_step(buffer, t, is_counted=is_counted)
        done = outcome.terminated | outcome.truncated
        if done.any():
            final = outcome.infos["final_obs"]
            # The stepper looks at truncated rows only: nobody else reads the others.
            self.stepper.check_finite("final observation", final, rows=done)
            self.record.write_finals(t, done, final)
        return outcome
