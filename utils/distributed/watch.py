"""Ends a process that waits on a GPU for another that is gone: exchanges there never fail."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

from utils.distributed.team import PeerFailedError

_PAUSE_SECONDS = 0.5


class Watch:
    """Looks out for a process that failed, in a thread of its own, as long as it is entered."""

    def __init__(
        self,
        find_loss: Callable[[], PeerFailedError | None],
        end: Callable[[PeerFailedError], object],
        *,
        patience_seconds: float,
    ) -> None:
        """Take what to look for and what to do.

        Args:
            find_loss: Says whether another process has failed, and how; must not wait. It is asked
                again before the end, for what was a loss may matter no longer.
            end: Ends this process, whatever its main thread waits for.
            patience_seconds: From the one to the other.
        """
        self._find_loss, self._end = find_loss, end
        self._patience = patience_seconds
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look_out, name="watch", daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._thread.join()

    def _look_out(self) -> None:
        while not self._is_over.wait(_PAUSE_SECONDS):
            if self._find_loss() is None:
                continue
            is_over = self._is_over.wait(self._patience)
            loss = None if is_over else self._find_loss()
            if loss is not None:
                self._end(loss)
                return
