"""Work that other threads hand to the main thread and wait for."""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from utils.errors import UserError

Result = TypeVar("Result")


class ClosingError(UserError):
    """The program ends, and what was asked for will not be done."""

    def __init__(self) -> None:
        super().__init__("the inspector is ending")


class MainThread:
    """Runs calls one after another in the thread that calls `run`.

    Environments draw in one thread only, and Ctrl-C reaches the main thread, whatever it does.
    """

    def __init__(self) -> None:
        """Take calls from now on; `run` makes them."""
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        self._is_closed = False

    def call(self, function: Callable[..., Result], *args: Any, **kwargs: Any) -> Result:
        """Have a function called in the main thread and return what it returns, or raise it.

        Raises:
            ClosingError: The main thread takes no more calls.
        """
        return self.post(function, *args, **kwargs).result()

    def post(self, function: Callable[..., Result], *args: Any, **kwargs: Any) -> Future[Result]:
        """Have a function called in the main thread, without waiting for it."""
        if self._is_closed:
            raise ClosingError
        future: Future[Result] = Future()
        self._calls.put((future, lambda: function(*args, **kwargs)))
        return future

    def run(self) -> None:
        """Make calls until an interrupt ends it; those that wait then raise a ClosingError."""
        future: Future[Any] | None = None
        try:
            while True:
                future, call = self._calls.get()
                try:
                    result = call()
                except Exception as error:  # noqa: BLE001 - the thread's boundary: the caller gets it
                    future.set_exception(error)
                else:
                    future.set_result(result)
        finally:
            self._refuse(future)

    def _refuse(self, running: Future[Any] | None) -> None:
        self._is_closed = True
        if running is not None and not running.done():
            running.set_exception(ClosingError())
        while not self._calls.empty():
            self._calls.get()[0].set_exception(ClosingError())
