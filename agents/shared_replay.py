"""What processes that learn from replay have in common, each with a buffer of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from agents.shared_episodes import SharedEpisodes
from agents.shared_update import average_gradients
from utils.distributed.share import Share
from utils.distributed.team import Team
from utils.rollouts import RolloutSummary
from utils.rollouts.stepper import Stepper


class SharedReplay:
    """Joins episodes, gradients and numbers of processes that have equal parts of every batch.

    A loss is a mean over the rows of a batch, so its gradient is the mean of the parts' gradients.
    """

    def __init__(self, team: Team, share: Share) -> None:
        """Take the processes and the environments of this one."""
        self.team = team
        self._episodes = SharedEpisodes(team, share)

    def join(self, summary: RolloutSummary, stepper: Stepper) -> RolloutSummary:
        """Return the summary of all environments; all processes get the same."""
        return self._episodes.join(summary, stepper)

    def average_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace gradients by their means over the processes; who has none is left alone."""
        learning = [p for p in parameters if p.grad is not None]
        if learning:
            average_gradients(learning, self.team, weight=1.0 / self.team.size)

    def mean(self, values: Tensor) -> Tensor:
        """Return the means over the processes, of any shape; nothing waits for the device."""
        mean = values.clone()
        self.team.mean_(mean)
        return mean

    def sum(self, count: int) -> int:
        """Return the sum over the processes."""
        total = torch.tensor(count)
        self.team.sum_(total)
        return int(total)

    def state_dict(self) -> dict[str, Any]:
        """Return the window of finished episodes, the same in each process."""
        return self._episodes.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._episodes.load_state_dict(state)
