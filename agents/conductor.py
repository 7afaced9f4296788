"""Between two epochs the leader says what comes next, and the others follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch import Tensor

from utils.errors import RunFailedError

if TYPE_CHECKING:
    from utils.distributed.team import Team

_ASK, _EPOCH, _LEAVE = "ask", "epoch", "leave"


class Conductor:
    """Keeps the processes of a run in step where they do not do the same.

    The leader evaluates, writes and decides by the clock while the others wait; whenever it needs
    them it says for what.
    """

    def __init__(self, team: Team) -> None:
        """Take the processes; they answer nothing yet."""
        self._team = team
        self._answers: dict[str, Callable[[Any], Any]] = {}

    def answer(self, question: str, by: Callable[[Any], Any]) -> None:
        """Let this process answer a question; all of them know the same questions.

        Args:
            question: Its name.
            by: Gets what the leader says with it; returns plain containers and tensors.
        """
        self._answers[question] = by

    def ask(self, question: str, about: Any = None) -> list[Any]:
        """Return what each process answers, by rank, once all have; called by the leader."""
        self._team.share((_ASK, (question, about), 0.0))
        return self._team.gather(self._answers[question](about))

    def begin_epoch(self, stop_reason: str | None, weights: Tensor) -> None:
        """Let the others go on to the next epoch, or out of training; called by the leader.

        Args:
            stop_reason: Why training ends; None where it goes on.
            weights: A sum over all parameters, (), that must be the same in each process.
        """
        self._team.share((_EPOCH, stop_reason, float(weights)))

    def leave(self) -> None:
        """Let the others leave: everything is saved; called by the leader."""
        self._team.share((_LEAVE, None, 0.0))

    def follow(self, weights: Tensor) -> str | None:
        """Do what the leader asks until it begins the next epoch or leaves; called by the others.

        Returns:
            Why training ends, as the leader says; None where it goes on.

        Raises:
            RunFailedError: The weights here are not those of the leader.
        """
        while True:
            command, said, of_leader = self._team.share()
            if command == _ASK:
                question, about = said
                self._team.gather(self._answers[question](about))
                continue
            if command == _EPOCH and float(weights) != of_leader:
                raise RunFailedError(
                    f"rank {self._team.rank}: the weights differ from those of rank 0 (their sums "
                    f"are {float(weights)!r} and {of_leader!r}): the processes do not compute the "
                    "same, so this training means nothing"
                )
            return said
