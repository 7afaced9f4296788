"""What is due next while an agent collects and learns from a buffer: whole numbers only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from utils.errors import RunFailedError
from utils.phases import ALL_COMPLETE, PhaseScheduler, UpdateBudget


class Round(NamedTuple):
    """What is due next: some vector steps, then some updates; or an evaluation."""

    n_vec_steps: int = 0
    is_random: bool = False
    """Choose the actions of these steps without looking."""
    n_updates: int = 0
    hooks: tuple[str, ...] = ()
    """Names of the work of each update, in order."""
    is_evaluation: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayPace:
    """How collecting and learning take turns."""

    n_envs: int
    """Environments of all processes."""
    max_timesteps: int
    """Environment steps of the run, over all environments."""
    steps_per_epoch: int
    """Vector steps of an epoch."""
    train_every_vec_steps: int
    """Vector steps of a round."""
    random_timesteps: int
    """Timesteps at the start of the run whose actions are random."""
    timesteps_before_updates: int
    """Timesteps that must be stored before the first update."""
    batch_size: int
    """Transitions, or sequences, of an update that this process draws."""


class ReplayPlan:
    """Plans one round after another: vector steps, and the updates that they pay for.

    Counts are exact: at the end of every round the updates are ``floor(ratio * timesteps since
    learning began)``. The steps before that pay for no updates, at the start of a run as after a
    resumption with an empty buffer, so there is never a burst.
    """

    def __init__(
        self,
        pace: ReplayPace,
        scheduler: PhaseScheduler,
        budget: UpdateBudget,
        *,
        timesteps: Callable[[], int],
        n_stored: Callable[[], int],
    ) -> None:
        """Bind the counts that the plan depends on.

        Args:
            pace: How collecting and learning take turns.
            scheduler: The phases of the training.
            budget: How many updates are due.
            timesteps: Gives the environment steps of the run so far, over all environments.
            n_stored: Gives the transitions that the buffers of all processes were ever given. Those
                that they hold may become fewer than learning needs, where old ones are dropped
                early, and learning that has begun would wait for ever.
        """
        self.pace, self.scheduler, self.budget = pace, scheduler, budget
        self._timesteps, self._n_stored = timesteps, n_stored

    def rounds(self) -> Iterator[Round]:
        """Yield what is due in one epoch; each must be carried out before the next is asked for.

        An epoch is `steps_per_epoch` vector steps and their updates, fewer where a phase or the run
        ends; in a phase without collecting as many updates as such an epoch has; or one evaluation.
        A phase that collects ends with the timesteps of the run, too, if one that takes none of
        them is still to come: that one has its turn.

        Raises:
            RunFailedError: A phase without collecting has too little to learn from.
        """
        phase = self.scheduler.current
        if phase.type == "online":
            yield from self._online_rounds()
        elif phase.type == "offline":
            due = self._next_offline()
            yield due
            self._advance(updates=due.n_updates, cycles=due.n_updates)
        else:
            yield Round(is_evaluation=True)
            self._advance(cycles=1)
        if self.is_spent and self.scheduler.leave_online():
            self.budget.restart()

    def _online_rounds(self) -> Iterator[Round]:
        n_left, index = self.pace.steps_per_epoch, self.scheduler.index
        while n_left > 0 and self.scheduler.index == index and not self.is_spent:
            due = self._next_online(n_left)
            yield due
            n_left -= due.n_vec_steps
            self.budget.spend(due.n_updates)
            timesteps = due.n_vec_steps * self.pace.n_envs
            self._advance(timesteps=timesteps, updates=due.n_updates, cycles=1)

    def _next_online(self, n_left: int) -> Round:
        """Plan a round of at most `n_left` vector steps, and pay its steps in."""
        pace, phase = self.pace, self.scheduler.current
        n_random = self._vec_steps(pace.random_timesteps - self._timesteps())
        n = min(n_left, self._vec_steps(pace.max_timesteps - self._timesteps()))
        remaining = self.scheduler.remaining("timesteps")
        if remaining is not None:
            n = min(n, self._vec_steps(remaining))
        if n_random > 0:
            n = min(n, n_random)
        is_random, n_missing = n_random > 0, self._n_missing()
        if n_missing > 0:  # nothing comes between the steps of a warm-up
            return Round(min(n, n_missing), is_random)
        n = min(n, pace.train_every_vec_steps)
        if not phase.update_hooks:
            return Round(n, is_random)
        self.budget.pay_in(n * pace.n_envs)
        wanted = self.scheduler.remaining("updates")
        n_updates = self.budget.due if wanted is None else min(self.budget.due, wanted)
        return Round(n, is_random, n_updates, phase.update_hooks)

    def _next_offline(self) -> Round:
        phase, pace = self.scheduler.current, self.pace
        if self._n_missing() > 0:
            raise RunFailedError(
                f"phase '{phase.name}' learns from what is stored, {self._n_stored():,} "
                f"transitions, and learning needs {pace.timesteps_before_updates:,}"
            )
        remaining = self.scheduler.remaining(phase.unit)
        assert remaining is not None, phase
        per_epoch = max(1, int(pace.steps_per_epoch * pace.n_envs * self.budget.ratio))
        n_updates = min(per_epoch, remaining)
        return Round(n_updates=n_updates, hooks=phase.update_hooks)

    def _n_missing(self) -> int:
        """Vector steps until there is enough to learn from; 0 or less where there is."""
        return self._vec_steps(self.pace.timesteps_before_updates - self._n_stored())

    def _vec_steps(self, timesteps: int) -> int:
        """Return the vector steps that make at least so many timesteps."""
        return -(-timesteps // self.pace.n_envs)

    def _advance(self, **work: int) -> None:
        if self.scheduler.advance(**work):
            self.budget.restart()  # what one phase did not spend is no debt of the next

    @property
    def is_spent(self) -> bool:
        """Whether the run has made its timesteps."""
        return self._timesteps() >= self.pace.max_timesteps

    @property
    def end_reason(self) -> str | None:
        """Say why there is nothing left to do; None while there is."""
        if self.scheduler.is_complete:
            return ALL_COMPLETE
        # Phases that collect nothing have their turn after the last step.
        is_online = self.scheduler.current.type == "online"
        return "max_timesteps reached" if self.is_spent and is_online else None

    def state_dict(self) -> dict[str, Any]:
        """Return the place in the phases and the budget as plain values."""
        return {"phases": self.scheduler.state_dict(), "budget": self.budget.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.scheduler.load_state_dict(state["phases"])
        self.budget.load_state_dict(state["budget"])
