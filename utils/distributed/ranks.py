"""Which of several processes this one is, as its launcher says; nothing heavy is imported."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from utils.errors import ConfigError, UserError

STORE_FILE = "GYM_SOLVER_STORE"
"""File through which the processes that `train.py --devices` has started find each other."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """One of `size` processes that train together."""

    rank: int
    """0 is the leader, which alone writes and speaks."""
    size: int
    local_rank: int
    """Number of this process on its machine, which is that of its GPU."""
    local_size: int
    """Processes on this machine."""
    launcher: str
    """train.py, torchrun or slurm."""

    @property
    def is_leader(self) -> bool:
        """Whether this process writes and speaks for all."""
        return self.rank == 0


def read_ranks(environ: Mapping[str, str] | None = None) -> Ranks | None:
    """Read what torchrun, SLURM or `train.py` itself has said in the environment variables.

    Args:
        environ: The variables; None for those of the process.

    Returns:
        None for a process that trains alone.

    Raises:
        ConfigError: A launcher's variables are not whole.
    """
    environ = os.environ if environ is None else environ
    if STORE_FILE in environ or "TORCHELASTIC_RUN_ID" in environ:
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
        launcher = "train.py" if STORE_FILE in environ else "torchrun"
    elif int(environ.get("SLURM_NTASKS", "1")) > 1 and "SLURM_PROCID" in environ:
        # Without srun there is one process, which has SLURM_NTASKS and no SLURM_STEP_ID.
        if "SLURM_STEP_ID" not in environ:
            return None
        names = ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE")
        launcher = "slurm"
    else:
        return None
    return _read(environ, names, launcher)


def _read(environ: Mapping[str, str], names: tuple[str, ...], launcher: str) -> Ranks | None:
    missing = [name for name in names if not environ.get(name, "").isdecimal()]
    if missing:
        hint = "; give sbatch --ntasks-per-node" if launcher == "slurm" else ""
        raise ConfigError(f"{launcher} has set no {' and no '.join(missing)}{hint}")
    rank, size, local_rank, local_size = (int(environ[name]) for name in names)
    return None if size == 1 else Ranks(rank, size, local_rank, local_size, launcher)


@contextlib.contextmanager
def calling_off(ranks: Ranks | None) -> Iterator[None]:
    """Let the other processes go if the leader cannot begin; they wait for it.

    Args:
        ranks: Of the leader; None where nobody waits.
    """
    try:
        yield
    except UserError:
        if ranks is not None:
            from utils.distributed.team import call_off

            call_off(ranks)
        raise


def check_ranks(ranks: Ranks | None, *, devices: int, num_nodes: int) -> None:
    """Refuse a number of processes that is not what the config says.

    Args:
        ranks: This process among the others; None if it is alone.
        devices: Processes on each machine, >= 1.
        num_nodes: Machines, >= 1.

    Raises:
        ConfigError: It says how to start what the config asks for.
    """
    asked = f"--devices {devices}" + (f" --num-nodes {num_nodes}" if num_nodes > 1 else "")
    if ranks is None:
        if num_nodes > 1:
            raise ConfigError(
                f"{asked}: on several machines start train.py by torchrun or srun, see "
                "VIBES/SCALING_GUIDE.md"
            )
        return
    if (ranks.size, ranks.local_size) != (devices * num_nodes, devices):
        nodes = ranks.size // max(1, ranks.local_size)
        raise ConfigError(
            f"{ranks.launcher} has started {ranks.size} processes, {ranks.local_size} on a "
            f"machine, and the config asks for {devices * num_nodes}: give "
            f"--devices {ranks.local_size}" + (f" --num-nodes {nodes}" if nodes > 1 else "")
        )
