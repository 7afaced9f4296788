"""The rollouts of several processes as one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from agents.shared_episodes import SharedEpisodes
from agents.whole_rollout import WholeRollout
from utils.dataloaders import UpdateBatch
from utils.distributed.share import Share
from utils.distributed.team import Team
from utils.rollouts import Minibatch, RolloutBuffer, RolloutSummary
from utils.rollouts.reshape import flatten_env_major
from utils.rollouts.stepper import Stepper


class SharePart(NamedTuple):
    """What a process has of one minibatch."""

    minibatch: Minibatch
    n_own: int
    """Samples of it that count: all, or 0 where one sample stands for none."""
    n_all: int
    """Samples of the whole minibatch."""


class SharedRollouts:
    """Joins what the processes collected, and says what each has of every minibatch.

    Every process holds the samples of its own environments. The order of minibatches is drawn over
    the samples of all, so that the parts of a minibatch are together the minibatch of one process.
    """

    def __init__(self, team: Team, share: Share) -> None:
        """Take the processes and the environments of this one."""
        self.team, self.share = team, share
        self.episodes = SharedEpisodes(team, share)
        self.n_counted = 0
        """Samples of this process in the minibatch at hand."""
        self._first_unit = self._n_units = self._n_all_units = 0
        self._advantage = torch.empty(0)

    def join(
        self, summary: RolloutSummary, stepper: Stepper, buffer: RolloutBuffer
    ) -> tuple[RolloutSummary, WholeRollout]:
        """Return summary and rollout of all environments; all processes get the same."""
        return self.episodes.join(summary, stepper), WholeRollout(buffer, self.team)

    def own(self, field: Tensor) -> Tensor:
        """Return the columns of this process's environments, (T, n)."""
        return field[:, self.share.first : self.share.first + self.share.n]

    def finish(self, whole: WholeRollout, advantage: Tensor, buffer: RolloutBuffer) -> None:
        """Note where the samples of this process lie among all.

        Args:
            whole: The rollout.
            advantage: (T, N), scaled, of all environments.
            buffer: Finished, of this process.
        """
        counts = self.team.gather(buffer.n_units)
        self._first_unit = sum(counts[: self.team.rank])
        self._n_units, self._n_all_units = counts[self.team.rank], sum(counts)
        is_valid = flatten_env_major(whole.is_valid)
        self._advantage = flatten_env_major(advantage)[is_valid].to(buffer.samples.returns.device)

    @property
    def n_all_units(self) -> int:
        """Samples, or sequences of a policy with a memory, of all processes."""
        return self._n_all_units

    def parts(self, batch: UpdateBatch) -> Iterator[SharePart]:
        """Yield this process's part of one minibatch after another, in the order of the table."""
        buffer = batch.buffer
        for index in batch.index_table.cpu():
            own = index[(index >= self._first_unit) & (index < self._first_unit + self._n_units)]
            own = (own - self._first_unit).to(batch.index_table.device)
            whole = self._whole_advantage(index)
            if len(index) == self._n_all_units:
                minibatch = buffer.samples
            else:  # one sample stands for none: a loss needs something to be the loss of
                minibatch = buffer.gather(own if len(own) else own.new_zeros(1))
            self.n_counted = len(minibatch.returns) if len(own) else 0
            yield SharePart(minibatch._replace(whole_advantage=whole), self.n_counted, len(whole))

    def _whole_advantage(self, index: Tensor) -> Tensor:
        """Return the advantages of a whole minibatch, in the order of one process."""
        if len(index) == self._n_all_units:
            return self._advantage
        # Minibatches are of equal sequences, or of samples, which are sequences of one.
        by_unit = self._advantage.view(self._n_all_units, -1)
        return by_unit[index.to(by_unit.device)].reshape(-1)

    def state_dict(self) -> dict[str, Any]:
        """Return the window of finished episodes, the same in each process."""
        return self.episodes.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.episodes.load_state_dict(state)
