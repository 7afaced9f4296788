"""Starts worker processes, talks to them, and notices when one dies or hangs."""

from __future__ import annotations

import multiprocessing
import pickle
import select
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize
from typing import Any

from utils.errors import CheckpointError, ConfigError, EnvironmentFailedError, UserError
from utils.vector_envs.base_vector_env import one_line
from utils.vector_envs.worker import (
    CALL,
    FAILURE,
    IGNORED_SIGNALS,
    VALUE,
    Failure,
    WorkerTask,
    run_worker,
)

_SHORTEST_START_SECONDS = 60.0  # a fresh interpreter imports everything, perhaps on a busy machine
_LEAVE_SECONDS = 2.0  # for a worker to close its environments after its connection is closed
_KILL_SECONDS = 1.0
_REPLAY_SECONDS_PER_STEP = 0.05  # a slow environment (20 steps a second) on a busy machine
_REBUILT_ERRORS = {kind.__name__: kind for kind in (CheckpointError, ConfigError)}


@contextmanager
def _signals_held() -> Iterator[None]:
    """Keep signals waiting while a message and the note that it was sent or taken belong together.

    Between the two, an exception from a signal's handler would leave a pool that waits for an
    answer to a question that was never asked, or was answered already.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        # A handler may raise in this very call, when the signals are held already.
        signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED_SIGNALS)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_servers(start_method: str) -> None:
    """Start what multiprocessing starts once for a program, before any signal is held.

    The tracker's start would let held signals through; and a fork server that was started while
    they are held would block them in all that it ever starts, so that nobody could end it.
    """
    if start_method in ("spawn", "forkserver"):
        resource_tracker.ensure_running()
    if start_method == "forkserver":
        forkserver.ensure_running()


class WorkerTracebackError(Exception):
    """Carries the traceback of a worker as the cause of the parent's exception."""


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    connection: Connection
    label: str
    poller: Any = field(default_factory=select.poll)
    awaits_answer: bool = False


class WorkerPool:
    """Worker processes and one connection to each.

    Every error closes the whole pool: no process is left behind, whatever happens.
    """

    def __init__(
        self, tasks: Sequence[WorkerTask], *, start_method: str, timeout_seconds: float
    ) -> None:
        """Start one process per task; `receive` returns what each says of itself.

        Args:
            tasks: What each worker is to do.
            start_method: "spawn", "forkserver" or "fork".
            timeout_seconds: Longest wait for an answer.

        Raises:
            ConfigError: A task cannot be sent to another process.
        """
        self._timeout = timeout_seconds
        self._env_id = tasks[0].env_id
        self._workers: list[_Worker] = []
        # Also at the end of a program that forgets to close: multiprocessing would send SIGTERM,
        # which workers ignore, and wait for them.
        Finalize(self, _end_workers, (self._workers,), exitpriority=0)
        pickled = [_pickle_task(task) for task in tasks]
        _start_servers(start_method)
        # A worker inherits the blocked signals: none can hit it before it ignores them.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED_SIGNALS)
        try:
            for index, task in enumerate(tasks):
                self._start(index, task, pickled[index], start_method)
        except BaseException:
            self.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def __len__(self) -> int:
        return len(self._workers)

    @property
    def pids(self) -> list[int]:
        """Process ids of all workers."""
        return [worker.process.pid or 0 for worker in self._workers]

    def _start(self, index: int, task: WorkerTask, pickled: bytes, start_method: str) -> None:
        context = multiprocessing.get_context(start_method)
        ours, theirs = context.Pipe()
        foreign = ()
        if start_method == "fork":
            foreign = (*(worker.connection for worker in self._workers), ours)
        process = context.Process(
            target=run_worker,
            args=(theirs, pickled, foreign),
            name=f"environments-{index}",
            daemon=True,
        )
        last = task.first_index + len(task.env_factories) - 1
        label = f"worker {index} (environments {task.first_index} to {last} of {task.env_id})"
        worker = _Worker(process, ours, label, awaits_answer=True)
        worker.poller.register(ours.fileno(), select.POLLIN)
        process.start()
        # Only the worker may hold its end: when it dies, reading from ours ends.
        theirs.close()
        self._workers.append(worker)

    def receive_descriptions(self) -> list[dict[str, Any]]:
        """Wait until all workers have built their environments; return what each says of them."""
        return self._collect_values(max(self._timeout, _SHORTEST_START_SECONDS))

    def call_each(
        self, name: str, arguments: Sequence[dict[str, Any]], *, n_replayed: int = 0
    ) -> list[Any]:
        """Call a method in every worker, each with its own arguments, and return the results.

        Args:
            name: The method.
            arguments: Its keyword arguments in each worker.
            n_replayed: Steps of single environments that a worker has to replay, at most. Each
                prolongs the wait, for the timeout is that of one step of all.

        Raises:
            EnvironmentFailedError: A worker raised, died or did not answer in time.
        """
        self._drop_answers()
        for worker, own in zip(self._workers, arguments, strict=True):
            self._send(worker, CALL + pickle.dumps((name, own)))
        return self._collect_values(self._timeout + n_replayed * _REPLAY_SECONDS_PER_STEP)

    def send(self, message: bytes) -> None:
        """Send one message to all workers; `receive` waits for their answers.

        Raises:
            EnvironmentFailedError: A worker died, or is still busy and does not end in time.
        """
        self._drop_answers()
        for worker in self._workers:
            self._send(worker, message)

    def receive(self) -> list[bytes]:
        """Return every worker's answer to what `send` sent.

        Raises:
            EnvironmentFailedError: A worker raised, died or did not answer in time.
        """
        deadline = time.monotonic() + self._timeout
        return [self._receive(worker, deadline) for worker in self._workers]

    def _collect_values(self, seconds: float) -> list[Any]:
        deadline = time.monotonic() + seconds
        answers = [self._receive(worker, deadline) for worker in self._workers]
        assert all(answer[:1] == VALUE for answer in answers), answers
        return [pickle.loads(answer[1:]) for answer in answers]

    def _drop_answers(self) -> None:
        """Take the answers that an interrupted exchange has left behind."""
        deadline = time.monotonic() + self._timeout
        for worker in self._workers:
            if worker.awaits_answer:
                self._receive(worker, deadline)

    def _send(self, worker: _Worker, message: bytes) -> None:
        try:
            with _signals_held():
                worker.awaits_answer = True
                worker.connection.send_bytes(message)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise self._died(worker) from error

    def _receive(self, worker: _Worker, deadline: float) -> bytes:
        remaining = max(deadline - time.monotonic(), 0.0)
        if not worker.poller.poll(remaining * 1000.0):
            self.close()
            raise EnvironmentFailedError(
                f"{worker.label} did not answer in time: a step or reset hangs, "
                f"or takes longer than env_timeout_seconds ({self._timeout:g}) allows"
            )
        try:
            with _signals_held():
                answer = worker.connection.recv_bytes()
                worker.awaits_answer = False
        except (EOFError, ConnectionResetError) as error:
            raise self._died(worker) from error
        if answer[:1] == FAILURE:
            self._raise_failure(worker, pickle.loads(answer[1:]))
        return answer

    def _raise_failure(self, worker: _Worker, failure: Failure) -> None:
        self.close()
        cause = WorkerTracebackError(f"in {worker.label}:\n{failure.traceback}")
        if failure.kind in _REBUILT_ERRORS:
            raise _REBUILT_ERRORS[failure.kind](failure.text) from cause
        if failure.kind == EnvironmentFailedError.__name__:
            raise EnvironmentFailedError(failure.text) from cause
        if failure.is_user_error:
            raise UserError(failure.text) from cause
        raise EnvironmentFailedError(
            f"{worker.label} raised {failure.kind}: {one_line(failure.text)}"
        ) from cause

    def _died(self, worker: _Worker) -> EnvironmentFailedError:
        worker.process.join(_KILL_SECONDS)
        code = worker.process.exitcode
        self.close()
        if code is None:
            reason = "closed its connection"
        elif code < 0:
            name = signal.Signals(-code).name
            hint = " (the system may be out of memory)" if name == "SIGKILL" else ""
            reason = f"died: killed by {name}{hint}"
        else:
            reason = f"died: it left with exit code {code}"
        return EnvironmentFailedError(f"{worker.label} {reason}")

    def close(self) -> None:
        """End all workers; wait for those that leave by themselves, then kill."""
        _end_workers(self._workers)


def _end_workers(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.connection.close()
    _join(workers, _LEAVE_SECONDS)
    for worker in workers:
        worker.process.kill()
    _join(workers, _KILL_SECONDS)
    workers.clear()


def _join(workers: list[_Worker], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for worker in workers:
        worker.process.join(max(deadline - time.monotonic(), 0.0))


def _pickle_task(task: WorkerTask) -> bytes:
    try:
        return pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ConfigError(
            f"{task.env_id} cannot be sent to worker processes ({error}): define its class and "
            "wrappers at the top of a module, or set vectorization: sync"
        ) from error
