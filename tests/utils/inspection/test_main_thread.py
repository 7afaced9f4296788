import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from utils.inspection.main_thread import ClosingError, MainThread


def interrupt():
    raise KeyboardInterrupt


def test_calls_are_made_in_the_thread_that_runs_them():
    main = MainThread()
    with ThreadPoolExecutor(1) as other:
        answer = other.submit(main.call, threading.get_ident)
        error = other.submit(main.call, int, "x")
        other.submit(main.post, interrupt)
        with pytest.raises(KeyboardInterrupt):
            main.run()
        assert answer.result() == threading.get_ident()
        with pytest.raises(ValueError, match="invalid literal"):
            error.result()


def test_an_interrupt_refuses_those_that_wait_and_those_that_come():
    main = MainThread()
    running, waiting = main.post(interrupt), main.post(int, "1")
    with pytest.raises(KeyboardInterrupt):
        main.run()
    for future in (running, waiting):
        with pytest.raises(ClosingError):
            future.result(timeout=1)
    with pytest.raises(ClosingError):
        main.call(int, "1")
