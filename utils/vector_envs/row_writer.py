"""Writes environments' observations into rows: several leaves, converted and stacked frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from utils.vector_envs.observation_steps import LeafSteps


class RowWriter:
    """Takes the place of a plain array in `rows[i] = observation`.

    The frames of a stack live here, so they do not depend on what a caller does to returned
    arrays. One writer serves both sets of step arrays.
    """

    def __init__(self, steps: tuple[LeafSteps, ...], n_envs: int) -> None:
        self._steps = steps
        self._stacks = [
            np.zeros((n_envs, *leaf.space.shape), leaf.space.dtype)
            if leaf.frame_stack > 1
            else None
            for leaf in steps
        ]
        self.targets: list[np.ndarray] = []

    def __setitem__(self, i: int, observation: Any) -> None:
        """Write environment `i`'s observation of a step: the newest frame of a stack."""
        for leaf, stack, target in zip(self._steps, self._stacks, self.targets, strict=True):
            frame = self._frame(leaf, observation)
            if stack is not None:
                n = len(frame)
                row = stack[i]
                row[:-n] = row[n:]
                row[-n:] = frame
                frame = row
            target[i] = frame

    def write_first(self, i: int, observation: Any) -> None:
        """Write environment `i`'s observation of a reset: it fills the whole stack."""
        for leaf, stack, target in zip(self._steps, self._stacks, self.targets, strict=True):
            frame = self._frame(leaf, observation)
            if stack is not None:
                row = stack[i]
                row.reshape(leaf.frame_stack, *frame.shape)[:] = frame
                frame = row
            target[i] = frame

    @staticmethod
    def _frame(leaf: LeafSteps, observation: Any) -> Any:
        value = leaf.leaf.read(observation)
        return value if leaf.convert is None else leaf.convert(value)
