"""Lightning's part in a training by several processes."""

from __future__ import annotations

from lightning.fabric.plugins.environments import ClusterEnvironment
from lightning.pytorch.strategies import DDPStrategy
from typing_extensions import override

from utils.distributed.ranks import Ranks


class TeamStrategy(DDPStrategy):
    """DDP that leaves the gradients to the agent.

    DDP's own hooks expect one backward pass for each `training_step`; here a step is a whole
    update, and gradients are weighted by the samples of each process.
    """

    @override
    def configure_ddp(self) -> None:
        """Leave the module as it is."""


class TeamEnvironment(ClusterEnvironment):
    """Tells Lightning who a process is; the processes have been started and have met already."""

    def __init__(self, ranks: Ranks) -> None:
        """Take what the launcher said."""
        super().__init__()
        self._ranks = ranks

    @property
    @override
    def creates_processes_externally(self) -> bool:
        return True

    @property
    @override
    def main_address(self) -> str:
        raise AssertionError("the processes have met already")

    @property
    @override
    def main_port(self) -> int:
        raise AssertionError("the processes have met already")

    @staticmethod
    @override
    def detect() -> bool:
        return False

    @override
    def world_size(self) -> int:
        return self._ranks.size

    @override
    def set_world_size(self, size: int) -> None:
        assert size == self._ranks.size, (size, self._ranks)

    @override
    def global_rank(self) -> int:
        return self._ranks.rank

    @override
    def set_global_rank(self, rank: int) -> None:
        assert rank == self._ranks.rank, (rank, self._ranks)

    @override
    def local_rank(self) -> int:
        return self._ranks.local_rank

    @override
    def node_rank(self) -> int:
        return self._ranks.rank // self._ranks.local_size
