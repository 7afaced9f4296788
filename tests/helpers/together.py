"""`train.py` as several processes that a launcher such as torchrun has started."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.helpers.commands import Command, Finished
from utils.distributed.ranks import STORE_FILE

MODULES = (
    "agents.dqn.dqn_agent",
    "agents.dreamer.dreamer_agent",
    "agents.sac.sac_agent",
    "agents.shared_replay",
    "agents.shared_rollouts",
    "agents.shared_update",
    "agents.together",
    "utils.distributed.lightning_strategy",
)


def start_together(
    n: int,
    *arguments: str,
    runs_dir: Path,
    store: Path,
    faults: Mapping[int, str] | None = None,
    n_machines: int = 1,
) -> list[Command]:
    """Start `train.py -q` as n processes; the leader alone gets the arguments.

    Args:
        n: Processes.
        arguments: Of train.py.
        runs_dir: Where the run goes.
        store: Folder of the file through which they meet; empty.
        faults: What befalls a process, by its rank.
        n_machines: Machines that they take themselves to be on, with as many on each.
    """
    faults = faults or {}
    commands = []
    for rank in range(n):
        words = ("-q", "--runs-dir", str(runs_dir), *arguments) if rank == 0 else ()
        commands.append(
            Command(
                "train",
                *words,
                environment=variables_of(rank, n, store=store, n_machines=n_machines),
                fault=faults.get(rank),
                modules=MODULES,
            )
        )
    return commands


def variables_of(rank: int, n: int, *, store: Path, n_machines: int = 1) -> dict[str, str]:
    """Return what tells a process that it is one of n that meet in the folder `store`."""
    n_local = n // n_machines
    return {
        STORE_FILE: str(store / "store"),
        "RANK": str(rank),
        "LOCAL_RANK": str(rank % n_local),
        "WORLD_SIZE": str(n),
        "LOCAL_WORLD_SIZE": str(n_local),
    }


def run_together(
    n: int, module: str, arguments: Callable[[int], tuple[str, ...]], *, modules: Sequence[str] = ()
) -> list[Finished]:
    """Run the `main` of a module as n processes to their ends, by rank.

    Args:
        n: Processes.
        module: Its name.
        arguments: Rank -> arguments.
        modules: What it imports.
    """
    store = Path(tempfile.mkdtemp(prefix="together-"))
    try:
        commands = [
            Command(
                module,
                *arguments(rank),
                environment=variables_of(rank, n, store=store),
                modules=modules,
            )
            for rank in range(n)
        ]
        return [command.wait() for command in commands]
    finally:
        shutil.rmtree(store)


def train_together(
    n: int,
    *arguments: str,
    runs_dir: Path,
    faults: Mapping[int, str] | None = None,
    n_machines: int = 1,
) -> list[Finished]:
    """Run `train.py -q` as n processes to their ends, by rank."""
    store = Path(tempfile.mkdtemp(prefix="together-"))
    try:
        commands = start_together(
            n, *arguments, runs_dir=runs_dir, store=store, faults=faults, n_machines=n_machines
        )
        return [command.wait() for command in commands]
    finally:
        shutil.rmtree(store)
