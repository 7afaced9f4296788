"""What runs in a worker process: a part of the environments, results in shared memory."""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

import gymnasium as gym
import numpy as np

from utils.errors import UserError
from utils.vector_envs.episode_metrics import EPISODE_METRICS
from utils.vector_envs.in_process import InProcessVectorEnv
from utils.vector_envs.observation_steps import ObservationOptions
from utils.vector_envs.step_arrays import SharedLayout

# First byte of a message. A step is (STEP, turn); a call is CALL and a pickled (name, arguments).
STEP, CALL = b"s", b"c"
# Sent to a whole process group by a terminal or a job scheduler; the parent alone decides what they
# mean. A worker ends when its connection is closed, when the parent dies, or by SIGKILL.
IGNORED_SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
# First byte of an answer. After a step none or some episodes ended (what the environments tell of
# those follows, pickled, if anything); a call returned a pickled
# VALUE; anything else is a FAILURE, a pickled Failure.
NONE_DONE, SOME_DONE, VALUE, FAILURE = b"n", b"d", b"v", b"f"


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerTask:
    """What a worker is to do.

    Attributes:
        env_factories: Builds one environment each.
        env_id: Named in errors.
        options: What is done to observations.
        timeout_sets_terminated: A step that is terminated and truncated is a truncation.
        action_masks: Every environment tells in its info which actions it allows.
        first_index: Index of its first environment among all.
    """

    env_factories: tuple[Callable[[], gym.Env], ...]
    env_id: str
    options: ObservationOptions
    timeout_sets_terminated: bool
    action_masks: bool
    first_index: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """An exception in a worker, in plain words.

    Attributes:
        kind: Name of the exception's class.
        is_user_error: Whether the text is made to be shown alone.
        text: The exception's text.
        traceback: The worker's traceback.
    """

    kind: str
    is_user_error: bool
    text: str
    traceback: str


def run_worker(
    connection: Connection, pickled_task: bytes, foreign: Sequence[Connection] = ()
) -> None:
    """Serve the parent until it closes the connection or dies.

    Args:
        connection: To the parent.
        pickled_task: A WorkerTask. It is unpickled here, so that a module which cannot be
            imported is reported like any other failure.
        foreign: The parent's own ends of connections, which a forked process has inherited.
    """
    for number in IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, IGNORED_SIGNALS)
    for other in foreign:
        other.close()
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    # Where the parent is through with this worker, or gone, there is nobody to tell.
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        _serve(connection, pickled_task)


def _serve(connection: Connection, pickled_task: bytes) -> None:
    try:
        server = _Server(connection, pickle.loads(pickled_task))
    except Exception as error:  # noqa: BLE001 - the process boundary: it goes to the parent
        connection.send_bytes(_describe_failure(error))
        return
    try:
        server.serve()
    finally:
        server.env.close()


def _leave_with_parent() -> None:
    """End this process when the parent dies, even in the middle of a step that hangs."""
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _describe_failure(error: Exception) -> bytes:
    failure = Failure(
        kind=type(error).__name__,
        is_user_error=isinstance(error, UserError),
        text=str(error),
        traceback="".join(traceback.format_exception(error)),
    )
    return FAILURE + pickle.dumps(failure)


class _Server:
    """Answers the parent's messages with one vector env."""

    def __init__(self, connection: Connection, task: WorkerTask) -> None:
        self._connection = connection
        self.env = InProcessVectorEnv(
            task.env_factories,
            env_id=task.env_id,
            options=task.options,
            timeout_sets_terminated=task.timeout_sets_terminated,
            action_masks=task.action_masks,
            first_index=task.first_index,
        )
        self._actions = np.empty(0)

    def serve(self) -> None:
        """Answer until the connection is closed."""
        self._connection.send_bytes(VALUE + pickle.dumps(self._describe()))
        while True:
            message = self._connection.recv_bytes()
            try:
                answer = self._step(message) if message[:1] == STEP else self._call(message)
            except Exception as error:  # noqa: BLE001 - the process boundary, as above
                answer = _describe_failure(error)
            self._connection.send_bytes(answer)

    def _describe(self) -> dict[str, Any]:
        """Return what the parent needs to know of the environments."""
        return {
            "facts": self.env.facts,
            "leaf_spaces": tuple(steps.space for steps in self.env.leaf_steps),
            "observation_space": self.env.single_observation_space,
            "action_space": self.env.single_action_space,
            "metadata": dict(self.env.metadata),
        }

    def _step(self, message: bytes) -> bytes:
        self.env.set_turn(message[1])
        infos = self.env.step(self._actions)[-1]
        if "final_obs" not in infos:
            return NONE_DONE
        metrics = infos.get(EPISODE_METRICS)
        return SOME_DONE if metrics is None else SOME_DONE + pickle.dumps(metrics)

    def _call(self, message: bytes) -> bytes:
        name, arguments = pickle.loads(message[1:])
        return VALUE + pickle.dumps(getattr(self, name)(**arguments))

    # -- what the parent calls by name ----------------------------------------------------------

    def attach(self, *, path: str, layout: SharedLayout, chunk: slice) -> None:
        """Map the shared memory and write into the rows of this worker from now on."""
        with open(path, "r+b") as file:
            block = mmap.mmap(file.fileno(), layout.size())
        even, odd, actions = layout.map(block)
        self.env.use_arrays(even.rows(chunk), odd.rows(chunk))
        self._actions = actions[chunk]

    def reset(self, *, turn: int, seed: list[int] | None, options: dict[str, Any] | None) -> None:
        """Reset all environments."""
        self.env.set_turn(turn)
        self.env.reset(seed=seed, options=options)

    def get_state(self) -> dict[str, Any]:
        """Return the state of all environments."""
        return self.env.get_state()

    def set_state(self, *, turn: int, state: dict[str, Any]) -> list[bool]:
        """Restore all environments; say which could be."""
        self.env.set_turn(turn)
        return self.env.set_state(state)[1].tolist()

    def render(self) -> tuple[Any, ...]:
        """Return one frame of each environment."""
        return self.env.render()

    def read_final_frames(self) -> list[Any]:
        """Return each environment's last picture before its latest reset."""
        return self.env.final_frames
