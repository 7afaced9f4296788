"""Where the arrays of a buffer lie: ordinary memory, a GPU's, or mapped files."""

from __future__ import annotations

import math
import mmap
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from utils.errors import ConfigError
from utils.storage import storage_errors

_CGROUP = Path("/sys/fs/cgroup")
_MEMORY_INFO = Path("/proc/meminfo")
_NUMPY_DTYPES = {
    torch.float32: np.dtype(np.float32),
    torch.float16: np.dtype(np.float16),
    torch.float64: np.dtype(np.float64),
    torch.uint8: np.dtype(np.uint8),
    torch.int32: np.dtype(np.int32),
    torch.int64: np.dtype(np.int64),
    torch.bool: np.dtype(np.bool_),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A device, or for the CPU a folder of mapped files.

    Ordinary memory is taken from the system page by page as it is first written, so a buffer that
    is not full yet takes less than it declares. The bytes of files are reserved at once. A mapped
    file has no name: it goes with the process, however that ends, and leaves nothing to clean up.
    """

    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    folder: Path | None = None
    """Folder on a disk for the arrays; the system keeps in memory what is used most."""

    def __post_init__(self) -> None:
        """Check that only ordinary memory is mapped."""
        assert self.folder is None or self.device.type == "cpu", (self.device, self.folder)

    @property
    def is_ordinary(self) -> bool:
        """Whether NumPy and compiled code can reach the arrays; elsewhere tensors do the work."""
        return self.device.type == "cpu"

    def free_bytes(self) -> int:
        """Return how many bytes can be had there now."""
        if self.folder is not None:
            with storage_errors(self.folder):
                return shutil.disk_usage(self.folder).free
        if self.device.type == "cuda":
            return torch.cuda.mem_get_info(self.device)[0]
        return _free_memory()

    def check_room(self, n_bytes: int, *, what: str) -> None:
        """Refuse what does not fit, before anything is allocated.

        Args:
            n_bytes: Declared size.
            what: Of which thing, for the message.

        Raises:
            ConfigError: There is less room than that.
        """
        free = self.free_bytes()
        if n_bytes <= free:
            return
        if self.folder is not None:
            where, way_out = f"on the disk of '{self.folder}'", "choose another disk"
        elif self.device.type == "cuda":
            where, way_out = f"on {self.device}", "train on the cpu"
        else:
            where, way_out = "of memory", "keep it on a disk (buffer_folder)"
        raise ConfigError(
            f"{what} needs {_gib(n_bytes)} {where}, and {_gib(free)} are free: "
            f"make it smaller, or {way_out}"
        )

    def allocate(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Return zeros of a shape there.

        Raises:
            StorageError: The disk is full.
        """
        if self.device.type != "cpu":
            return torch.zeros(shape, dtype=dtype, device=self.device)
        if self.folder is None or math.prod(shape) == 0:
            array = np.zeros(shape, numpy_dtype(dtype))
        else:
            array = _map_nameless_file(self.folder, shape, numpy_dtype(dtype))
        return torch.from_numpy(array).view(dtype)


def numpy_dtype(dtype: torch.dtype) -> np.dtype:
    """Return NumPy's dtype; for what it lacks one of the same size."""
    return np.dtype(np.int16) if dtype == torch.bfloat16 else _NUMPY_DTYPES[dtype]


def _map_nameless_file(folder: Path, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Reserve zeros on the disk; the file is gone once nobody maps it."""
    n_bytes = math.prod(shape) * dtype.itemsize
    with storage_errors(folder), tempfile.TemporaryFile(dir=folder) as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, n_bytes)
        else:
            file.truncate(n_bytes)
        block = mmap.mmap(file.fileno(), n_bytes)
    return np.frombuffer(block, dtype).reshape(shape)


def _free_memory() -> int:
    """Return the bytes that this process may still take."""
    if not _MEMORY_INFO.exists():
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    lines = dict(line.split(":", 1) for line in _MEMORY_INFO.read_text().splitlines())
    free = int(lines["MemAvailable"].split()[0]) * 1024
    limit, used = _CGROUP / "memory.max", _CGROUP / "memory.current"
    if limit.exists() and used.exists() and limit.read_text().strip() != "max":
        free = min(free, int(limit.read_text()) - int(used.read_text()))
    return free


def _gib(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:.2f} GiB"
