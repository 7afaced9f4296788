"""How far the recording that is being made has come, and the way to stop it."""

from __future__ import annotations

import threading
from typing import Any

from utils.errors import UserError


class RecordingStoppedError(UserError):
    """A person has stopped a recording; nothing of it is kept."""

    def __init__(self) -> None:
        super().__init__("stopped: nothing is kept of the episode that was being recorded")


class Progress:
    """What the main thread is doing; written there, read and stopped from other threads."""

    def __init__(self) -> None:
        """Nothing is being made."""
        self._what = ""
        self._n_steps = 0
        self._is_stopped = threading.Event()

    def begin(self, what: str) -> None:
        """Say what is made from now on; an earlier wish to stop does not hold for it."""
        self._what, self._n_steps = what, 0
        self._is_stopped.clear()

    def note_steps(self, n_steps: int) -> None:
        """Say how many steps have been recorded.

        Raises:
            RecordingStoppedError: Somebody has asked for that.
        """
        self._n_steps = n_steps
        if self._is_stopped.is_set():
            raise RecordingStoppedError

    def end(self) -> None:
        """Say that nothing is being made any more."""
        self.begin("")

    def stop(self) -> None:
        """End what is being recorded at its next step."""
        self._is_stopped.set()

    def to_dict(self) -> dict[str, Any]:
        """Return `what` ("" for nothing) and `n_steps` as JSON holds them."""
        return {"what": self._what, "n_steps": self._n_steps}
