"""Which of a page's wishes is the newest: answers to older ones come too late."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Turns:
    """Counts for each open page how often somebody has chosen something else to look at.

    A recording takes its time; meanwhile a person may choose another run, and what was asked for
    before must not appear under its name.
    """

    def __init__(self) -> None:
        """Begin without pages."""
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}

    def take(self, page: str) -> Callable[[], bool]:
        """Make all earlier wishes of a page out of date.

        Returns:
            Says whether this one is still the newest.
        """
        with self._lock:
            self._numbers[page] = self._numbers.get(page, 0) + 1
        return self.join(page)

    def join(self, page: str) -> Callable[[], bool]:
        """Do the same for a wish that belongs to the newest one, and makes nothing out of date."""
        number = self._numbers.get(page, 0)
        return lambda: self._numbers.get(page, 0) == number

    def forget(self, page: str) -> None:
        """Drop a page that was closed."""
        with self._lock:
            self._numbers.pop(page, None)
