"""Do what a person asks of a training that runs: save, evaluate, stop."""

from __future__ import annotations

import collections
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from lightning.pytorch import Callback, Trainer
from typing_extensions import override

from trainer_callbacks.model_checkpoint import ModelCheckpoint
from utils.keyboard import Keyboard
from utils.run.control import Request, RequestKind, RequestReader, post_answer
from utils.run.status import session_id
from utils.text_tables import counted

KEYS: dict[str, RequestKind] = {"s": "save", "e": "evaluate", "q": "stop"}
HELP = "keys: s save now, e evaluate now, q stop after this epoch (saves), h this help"
_PATIENCE_SECONDS = 0.3
_WAITING = {
    "save": "saving at the end of this epoch",
    "evaluate": "evaluating at the end of this epoch",
    "stop": "stopping after this epoch; Ctrl-C twice leaves at once",
}
_log = logging.getLogger("gymnasium_solver")


class Tell(Protocol):
    """Shows a line to the person at the terminal."""

    def __call__(self, text: str, *, is_logged: bool = False) -> None:
        """Show `text`, unless the log has shown it (`is_logged`)."""
        ...


class RunControl(Callback):
    """Follow requests from the keyboard and from `control.jsonl`, at the end of the epoch.

    An evaluation that is asked for is like any other: it may become the best one, and early
    stopping sees it; but training goes on with the same numbers as without it. A stop saves
    and leaves the run as an interrupted one. It stands between WarmupEval, which may have evaluated
    already, and DispatchMetrics, which writes the row; ModelCheckpoint saves after it.
    """

    def __init__(
        self,
        checkpoint: ModelCheckpoint,
        *,
        keyboard: Keyboard | None = None,
        tell: Tell | None = None,
    ) -> None:
        """Take who saves and where requests come from.

        Args:
            checkpoint: Saves at the end of the epoch when it is asked to.
            keyboard: Open from the start of training to its end; None where there is none.
            tell: Called also from the keyboard's thread; None where nobody sits.
        """
        super().__init__()
        self._checkpoint = checkpoint
        self._keyboard = keyboard
        self._tell_person = tell
        self._pressed: collections.deque[_Pressed] = collections.deque()
        self._reader: RequestReader | None = None
        self._n_evaluations = 0

    @override
    def on_train_start(self, trainer: Trainer, pl_module: Any) -> None:
        run = pl_module.run
        self._reader = RequestReader(run, session=session_id(run.read_status()))
        if self._keyboard is not None:
            self._keyboard.open(self.press)

    @override
    def on_train_epoch_start(self, trainer: Trainer, pl_module: Any) -> None:
        self._n_evaluations = pl_module.n_evaluations

    @override
    def on_train_epoch_end(self, trainer: Trainer, pl_module: Any) -> None:
        for kind, reply in self._requests(pl_module):
            if kind == "save":
                self._save(pl_module, reply)
            elif kind == "evaluate":
                self._evaluate(pl_module, reply)
            else:
                pl_module.interrupt("stopped by a person")
                reply(f"stopping: epoch {pl_module.counters.epoch} is the last one, and is saved")

    @override
    def on_train_end(self, trainer: Trainer, pl_module: Any) -> None:
        self._close()
        for _, reply in self._requests(pl_module):
            reply("too late: training is over and saved")

    @override
    def on_exception(self, trainer: Trainer, pl_module: Any, exception: BaseException) -> None:
        self._close()

    @override
    def teardown(self, trainer: Trainer, pl_module: Any, stage: str) -> None:
        self._close()

    def press(self, key: str) -> None:
        """Take a key; called in the keyboard's thread.

        What a short epoch answers at once needs no other words; before a longer wait the person
        is told that the key was seen.
        """
        kind = KEYS.get(key.lower())
        if kind is None:
            if key in "hH?":
                self._tell(HELP)
            return
        pressed = _Pressed(kind, f"key {key}")
        self._pressed.append(pressed)
        if not pressed.is_answered.wait(_PATIENCE_SECONDS):
            self._tell(_WAITING[kind])

    def _requests(self, agent: Any) -> list[tuple[RequestKind, Callable[[str], None]]]:
        """Return what was asked since the last look, each with the way to answer."""
        found: list[tuple[RequestKind, Callable[[str], None]]] = []
        while self._pressed:
            pressed = self._pressed.popleft()
            found.append((pressed.kind, self._reply_to_key(pressed)))
        if self._reader is not None:
            found += [(r.kind, _reply_to_file(agent.run, r)) for r in self._reader.read()]
        return found

    def _reply_to_key(self, pressed: _Pressed) -> Callable[[str], None]:
        def reply(text: str) -> None:
            pressed.is_answered.set()
            _log.info("%s (%s)", text, pressed.origin)
            self._tell(text, is_logged=True)

        return reply

    def _save(self, agent: Any, reply: Callable[[str], None]) -> None:
        def saved(path: Path) -> None:
            reply(f"saved {path.name} at {agent.counters.timesteps:,} timesteps")

        self._checkpoint.request_save(saved)

    def _evaluate(self, agent: Any, reply: Callable[[str], None]) -> None:
        epoch = agent.counters.epoch
        if agent.n_evaluations > self._n_evaluations:
            reply(f"epoch {epoch} has been evaluated already")
            return
        result = agent.evaluate()
        if result.mean is None or result.n_unfinished:
            reply(f"evaluated at epoch {epoch}: {result.n_unfinished} episodes did not finish")
        else:
            n_episodes = counted(len(result.returns), "episode")
            reply(f"evaluated at epoch {epoch}: mean return {result.mean:.2f} ({n_episodes})")

    def _tell(self, text: str, *, is_logged: bool = False) -> None:
        if self._tell_person is not None:
            self._tell_person(text, is_logged=is_logged)

    def _close(self) -> None:
        if self._keyboard is not None:
            self._keyboard.close()


class _Pressed:
    """A request by a key."""

    def __init__(self, kind: RequestKind, origin: str) -> None:
        self.kind = kind
        self.origin = origin
        self.is_answered = threading.Event()


def _reply_to_file(run: Any, request: Request) -> Callable[[str], None]:
    def reply(text: str) -> None:
        _log.info("%s (asked by %s)", text, request.origin)
        post_answer(run, request.id, text)

    return reply
