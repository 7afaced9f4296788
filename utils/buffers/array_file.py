"""Large arrays in one file, written and read piece by piece, with a checksum of each piece."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor

from utils.errors import CheckpointError
from utils.storage import atomic_file

_MAGIC = b"RLARRAY1"
_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
_PIECE_BYTES = 16 * 2**20

Counters = dict[str, Any]


def save_arrays(
    path: Path, layout: Mapping[str, Any], counters: Counters, arrays: Mapping[str, Tensor]
) -> None:
    """Write arrays so that a kill at any byte leaves the last good file.

    Args:
        path: The file to write or replace. Its folder must exist.
        layout: What the arrays are for, as JSON; a loader must have the same.
        counters: What else is needed to go on, as JSON.
        arrays: Tensors on any device, contiguous but for their first dimensions.

    Raises:
        StorageError: The disk is full or read-only. An older file at `path` is as it was.
    """
    header = {
        "layout": layout,
        "counters": counters,
        "arrays": [
            {"name": name, "shape": list(array.shape), "dtype": str(array.dtype)}
            for name, array in arrays.items()
        ],
    }
    content = json.dumps(header).encode()
    with atomic_file(path) as file:
        file.write(_MAGIC + _LENGTH.pack(len(content)) + content)
        file.write(_CHECKSUM.pack(zlib.crc32(content)))
        for array in arrays.values():
            for piece in _pieces(array):
                block = memoryview(piece.cpu().numpy())
                file.write(block)
                file.write(_CHECKSUM.pack(zlib.crc32(block)))


def load_arrays(
    path: Path,
    layout: Mapping[str, Any],
    restore_counters: Callable[[Counters], None],
    find_arrays: Callable[[], Mapping[str, Tensor]],
) -> None:
    """Read arrays into place.

    Args:
        path: The file.
        layout: What the reader expects.
        restore_counters: Is given the counters before the arrays are asked for.
        find_arrays: Returns the tensors to read into, as they were saved.

    Raises:
        CheckpointError: The file is missing, damaged, or of another layout. Of a damaged file some
            arrays may have been read.
    """
    try:
        with path.open("rb") as file:
            header = _read_header(path, file)
            _check_layout(path, header["layout"], layout)
            restore_counters(header["counters"])
            for name, array in find_arrays().items():
                for piece in _pieces(array):
                    _read_piece(path, name, file, piece)
            if file.read(1):
                raise CheckpointError(f"'{path}' is damaged: it goes on after its end")
    except OSError as error:
        raise CheckpointError(f"cannot read '{path}': {error.strerror or error}") from error


def _read_header(path: Path, file: BinaryIO) -> dict[str, Any]:
    start = file.read(len(_MAGIC) + _LENGTH.size)
    if not start.startswith(_MAGIC) or len(start) < len(_MAGIC) + _LENGTH.size:
        raise CheckpointError(f"'{path}' is not a saved buffer")
    (length,) = _LENGTH.unpack(start[len(_MAGIC) :])
    content = file.read(min(length, path.stat().st_size))
    if len(content) < length or _stored_checksum(file) != zlib.crc32(content):
        raise CheckpointError(f"'{path}' is damaged: its header")
    return json.loads(content)


def _check_layout(path: Path, saved: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    for key, value in expected.items():
        if saved.get(key) != value:
            raise CheckpointError(
                f"'{path}' was saved with {key} {saved.get(key)}, and it is {value} now"
            )


def _read_piece(path: Path, name: str, file: BinaryIO, piece: Tensor) -> None:
    target = piece if piece.device.type == "cpu" else torch.empty_like(piece, device="cpu")
    block = memoryview(target.numpy())
    n_read = file.readinto(block)  # type: ignore[attr-defined]
    if n_read < len(block) or _stored_checksum(file) != zlib.crc32(block):
        raise CheckpointError(f"'{path}' is damaged: {name}")
    if target is not piece:
        piece.copy_(target)


def _stored_checksum(file: BinaryIO) -> int | None:
    content = file.read(_CHECKSUM.size)
    return _CHECKSUM.unpack(content)[0] if len(content) == _CHECKSUM.size else None


def _pieces(array: Tensor) -> Iterator[Tensor]:
    """Cut an array into runs of bytes, views."""
    if not array.is_contiguous():
        for part in array:
            yield from _pieces(part)
        return
    flat = array.view(-1).view(torch.uint8)
    for start in range(0, flat.numel(), _PIECE_BYTES):
        yield flat[start : start + _PIECE_BYTES]
