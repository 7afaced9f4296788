"""What processes that train together say to each other."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from torch import Tensor

from utils.distributed.ranks import STORE_FILE, Ranks
from utils.errors import RunFailedError

_MEETING = datetime.timedelta(minutes=10)
"""How long a process waits for the others at the start."""
_PATIENCE = datetime.timedelta(days=1)
"""How long one waits for another in the run: the leader evaluates and films meanwhile."""
_NOTES = "notes"
_FAILURE = "failure"
_LEADER, _HERE, _CALLED_OFF = "leader", "here", "called off"
_CALLED_OFF_SECONDS = datetime.timedelta(seconds=20)
_FAILURE_SECONDS = 5.0
"""How long a failure may take from the process that has it to the others."""


class PeerFailedError(RunFailedError):
    """Another process of the run has failed, and has told the person why."""

    def __init__(self, message: str, *, exit_code: int, is_told: bool) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.is_told = is_told


class Team:
    """One process among those that train an agent together.

    Every method but `tell_failure` is called by all of them, in the same order. Numbers on the CPU
    and objects go by Gloo, gradients on GPUs by NCCL. What all compute from what they hear is the
    same on all, bit for bit.
    """

    def __init__(self, ranks: Ranks, *, store_file: Path | None = None) -> None:
        """Meet the others.

        Args:
            ranks: Who this process is.
            store_file: File that the leader shares with the processes it has started; None for
                what the launcher says.

        Raises:
            RunFailedError: Not all of them came.
        """
        self.rank, self.size = ranks.rank, ranks.size
        self.is_leader = ranks.is_leader
        self.ranks = ranks
        self.before_end: Callable[[PeerFailedError], object] = lambda _: None
        """Is called where this process is ended because it waits for one that is gone."""
        self.is_over = False
        """Whether the last exchange is made: from then on the end of another does no harm."""
        store_file = store_file or _store_file()
        _import_takers_of_the_group()
        try:
            store = _open_store(ranks, store_file)
            # The processes say good-bye through the same store, under names of their own.
            self._notes = dist.PrefixStore(_NOTES, store)
            _wait_for_leader(self._notes, ranks)
            if store_file is not None and "GLOO_SOCKET_IFNAME" not in os.environ:
                _stay_on_this_machine()
            backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
            dist.init_process_group(
                backend,
                store=dist.PrefixStore("group", store),
                rank=self.rank,
                world_size=self.size,
                timeout=_PATIENCE,
            )
        except (RuntimeError, ValueError) as error:
            first = str(error).splitlines()[0]
            raise RunFailedError(f"rank {self.rank}: the processes did not meet: {first}") from None

    # -- what they share ------------------------------------------------------------------------

    def share(self, value: Any = None) -> Any:
        """Return what the leader gives; the others give nothing."""
        with self._talking():
            box = [value]
            dist.broadcast_object_list(box, src=0, device=torch.device("cpu"))
            return box[0]

    def gather(self, value: Any) -> list[Any]:
        """Return what each process gives, by rank; plain containers, arrays and tensors."""
        with self._talking():
            box: list[Any] = [None] * self.size
            _all_gather_object(box, value)
            return box

    def gather_columns(self, field: Tensor) -> Tensor:
        """Join what the processes have of all environments: (T, n, ...) each, (T, N, ...) in all.

        Args:
            field: On the CPU; of the same shape and dtype in each process.
        """
        return torch.cat(self._gather_tensor(field.contiguous()), dim=1)

    def gather_rows(self, rows: Tensor) -> Tensor:
        """Join rows, (n_r, ...) of each process, which may differ in number, by rank.

        Args:
            rows: On any device; float32, float64, integers or bool.
        """
        counts = self._gather_tensor(torch.tensor([len(rows)]))
        longest = max(int(count) for count in counts)
        padded = rows.new_zeros((longest, *rows.shape[1:]))
        padded[: len(rows)] = rows
        parts = self._gather_tensor(padded)
        return torch.cat([p[: int(c)] for p, c in zip(parts, counts, strict=True)])

    def gather_stack(self, field: Tensor) -> Tensor:
        """Return what the processes have, (W, ...), by rank.

        Args:
            field: Of the same shape and dtype in each process, on any device.
        """
        return torch.stack(self._gather_tensor(field.contiguous()))

    def sum_(self, tensor: Tensor) -> None:
        """Replace a tensor by its sum over all processes, in place."""
        with self._talking():
            dist.all_reduce(tensor)

    def mean_(self, tensor: Tensor) -> None:
        """Replace a tensor of floats by its mean over all processes, in place."""
        if not tensor.is_cuda:
            self.sum_(tensor)
            tensor.div_(self.size)
            return
        with self._talking():
            dist.all_reduce(tensor, op=dist.ReduceOp.AVG)

    def mean(self, values: Tensor, *, weight: int) -> float:
        """Return the mean over the samples of all processes.

        Args:
            values: The samples of this process, any shape.
            weight: How many of them count: all, or 0 where they stand for none.
        """
        own = torch.tensor([float(values.double().sum()) if weight else 0.0, float(weight)])
        own = own.double()
        totals = torch.stack(self._gather_tensor(own)).sum(dim=0)
        return float(totals[0] / totals[1])

    def any(self, value: bool) -> bool:
        """Say whether it is true of any process."""
        own = torch.tensor([bool(value)], dtype=torch.uint8)
        return bool(torch.cat(self._gather_tensor(own)).any())

    def _gather_tensor(self, tensor: Tensor) -> list[Tensor]:
        with self._talking():
            # Gloo has no bool.
            raw = tensor.view(torch.uint8) if tensor.dtype is torch.bool else tensor
            whole = raw.new_empty((self.size, *raw.shape))
            if raw.is_cuda:  # one operation, which can be captured
                dist.all_gather_into_tensor(whole, raw)
            else:
                dist.all_gather(list(whole.unbind()), raw)
            return list(whole.view(tensor.dtype).unbind())

    # -- how they end ---------------------------------------------------------------------------

    def tell_failure(self, message: str, *, exit_code: int) -> bool:
        """Leave word of why this process ends.

        Returns:
            Whether this is the first failure, whose words the person shall see.
        """
        word = json.dumps({"rank": self.rank, "message": message, "exit_code": exit_code})
        try:
            return self._notes.compare_set(_FAILURE, "", word) == word.encode()
        except RuntimeError:  # the leader, who keeps the store, is gone
            return True

    def failure_of_another(self) -> PeerFailedError | None:
        """Wait a moment for word from another process that failed; None if there is none."""
        deadline = time.monotonic() + _FAILURE_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(RuntimeError):
                if (word := self._word_of_failure()) is not None:
                    return self._failure_in(word)
            time.sleep(0.05)
        return None

    def told_failure(self) -> PeerFailedError | None:
        """Return what another process that failed has left word of; does not wait for any."""
        with contextlib.suppress(RuntimeError):
            if (word := self._word_of_failure()) is not None:
                return self._failure_in(word)
        return None

    def _word_of_failure(self) -> dict[str, Any] | None:
        return json.loads(self._notes.get(_FAILURE)) if self._notes.check([_FAILURE]) else None

    def _failure_in(self, word: dict[str, Any]) -> PeerFailedError | None:
        if word["rank"] == self.rank:
            return None
        return PeerFailedError(word["message"], exit_code=word["exit_code"], is_told=True)

    @contextlib.contextmanager
    def _talking(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            self.raise_lost(error)

    def raise_lost(self, error: Exception) -> NoReturn:
        """Raise why another process does not answer.

        Raises:
            PeerFailedError: Always.
        """
        told = self.failure_of_another()
        if told is not None:
            raise told from error
        said = next(iter(str(error).splitlines()), type(error).__name__)
        raise PeerFailedError(
            "another process of the run is gone without a word: killed, out of memory, or its "
            f"machine is lost (torch says: {said})",
            exit_code=RunFailedError.exit_code,
            is_told=False,
        ) from error

    def close(self) -> None:
        """Leave the others; a second call does nothing."""
        if dist.is_initialized():
            dist.destroy_process_group()


def call_off(ranks: Ranks) -> None:
    """Let the processes that wait for the leader go: there is nothing to do together.

    Called by the leader in the place of making a `Team`.
    """
    with contextlib.suppress(RuntimeError, ValueError):
        notes = dist.PrefixStore(_NOTES, _open_store(ranks, _store_file()))
        notes.set(_LEADER, _CALLED_OFF)
        for rank in range(1, ranks.size):  # the store goes with the leader
            notes.wait([f"{_CALLED_OFF}-{rank}"], _CALLED_OFF_SECONDS)


def _wait_for_leader(notes: dist.Store, ranks: Ranks) -> None:
    """Meet the leader, or learn that it will not come.

    Raises:
        PeerFailedError: It has called the meeting off.
    """
    if ranks.is_leader:
        notes.set(_LEADER, _HERE)
    elif notes.get(_LEADER) != _HERE.encode():
        notes.set(f"{_CALLED_OFF}-{ranks.rank}", "heard")
        raise PeerFailedError("there is nothing to do", exit_code=2, is_told=True)


def _open_store(ranks: Ranks, store_file: Path | None) -> dist.Store:
    if store_file is not None:
        store: dist.Store = dist.FileStore(str(store_file), ranks.size)
    elif ranks.launcher == "slurm":
        host, port = _slurm_address()
        store = dist.TCPStore(host, port, ranks.size, ranks.is_leader, timeout=_MEETING)
    else:
        store = next(dist.rendezvous("env://", timeout=_MEETING))[0]
    store.set_timeout(_MEETING)
    return store


def _all_gather_object(box: list[Any], value: Any) -> None:
    """Gather by the CPU's group whatever the default device is."""
    if dist.get_backend() == "gloo":
        dist.all_gather_object(box, value)
        return
    import pickle

    data = torch.frombuffer(bytearray(pickle.dumps(value)), dtype=torch.uint8)
    size = torch.tensor([len(data)])
    sizes = [torch.empty_like(size) for _ in box]
    dist.all_gather(sizes, size)
    longest = int(max(sizes))
    padded = torch.zeros(longest, dtype=torch.uint8)
    padded[: len(data)] = data
    parts = [torch.empty_like(padded) for _ in box]
    dist.all_gather(parts, padded)
    for rank, (part, length) in enumerate(zip(parts, sizes, strict=True)):
        box[rank] = pickle.loads(part[: int(length)].numpy().tobytes())


def _store_file() -> Path | None:
    name = os.environ.get(STORE_FILE)
    return None if name is None else Path(name)


def _import_takers_of_the_group() -> None:
    """Import what takes the group that there is when it is imported for a default of functions.

    Later it would keep that group for ever, and its threads, which must not outlive `close`: one
    that lets go of a tensor while the interpreter ends aborts the process.
    """
    import torch.distributed.nn  # noqa: F401


def _stay_on_this_machine() -> None:
    """Let Gloo use the loopback device: names of machines are not always known to themselves."""
    names = [name for _, name in socket.if_nameindex()]
    for name in ("lo", "lo0"):
        if name in names:
            os.environ["GLOO_SOCKET_IFNAME"] = name
            return


def _slurm_address() -> tuple[str, int]:
    """Return where the leader of a SLURM job listens: its first machine, a port of the job's id."""
    from lightning.fabric.plugins.environments import SLURMEnvironment

    slurm = SLURMEnvironment(auto_requeue=False)
    return slurm.main_address, slurm.main_port
