"""Arrays in files: whole or not at all, checked, and without a second copy in memory."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest
import torch
from torch import Tensor

from utils.buffers import array_file
from utils.buffers.array_file import load_arrays, save_arrays
from utils.errors import CheckpointError, StorageError

LAYOUT = {"kind": "numbers", "n": 3}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_file, "_PIECE_BYTES", 64)


def arrays(shift: int) -> dict[str, Tensor]:
    return {
        "floats": torch.arange(100.0).view(20, 5) + shift,
        "nothing": torch.zeros(0, 3),
        "bytes": torch.arange(200, dtype=torch.uint8) + shift,
        "flags": torch.arange(70) % 3 == shift,
    }


def read(
    path: Path, layout: dict[str, object] = LAYOUT
) -> tuple[dict[str, int], dict[str, Tensor]]:
    found = {name: torch.zeros_like(array) for name, array in arrays(0).items()}
    counters: dict[str, int] = {}
    load_arrays(path, layout, counters.update, lambda: found)
    return counters, found


def is_equal(found: dict[str, Tensor], shift: int) -> bool:
    return all(torch.equal(found[name], array) for name, array in arrays(shift).items())


def test_what_was_saved_is_read(tmp_path: Path) -> None:
    save_arrays(tmp_path / "a", LAYOUT, {"head": 7}, arrays(1))
    counters, found = read(tmp_path / "a")
    assert counters == {"head": 7}
    assert is_equal(found, 1)


@pytest.mark.parametrize("n_pieces", [0, 1, 5, 12])
def test_a_kill_amid_a_save_leaves_the_last_good_one(tmp_path: Path, n_pieces: int) -> None:
    path = tmp_path / "a"
    save_arrays(path, LAYOUT, {"head": 1}, arrays(1))
    child = os.fork()
    if child == 0:
        checksum, calls = array_file.zlib.crc32, 0

        class Deadly:
            @staticmethod
            def crc32(content: bytes) -> int:
                nonlocal calls
                calls += 1
                if calls > n_pieces:
                    os.kill(os.getpid(), 9)
                return checksum(content)

        array_file.zlib = Deadly
        save_arrays(path, LAYOUT, {"head": 2}, arrays(2))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 9
    counters, found = read(path)
    assert counters == {"head": 1}
    assert is_equal(found, 1)


def test_a_full_disk_leaves_the_last_good_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    save_arrays(path, LAYOUT, {"head": 1}, arrays(1))

    class Full(dict):
        def values(self):
            yield from arrays(2).values()
            raise OSError(28, "No space left on device")

    with pytest.raises(StorageError, match="No space left"):
        save_arrays(path, LAYOUT, {"head": 2}, Full(arrays(2)))
    assert is_equal(read(path)[1], 1)
    assert [item.name for item in tmp_path.iterdir()] == ["a"]


def test_every_changed_or_missing_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    save_arrays(path, LAYOUT, {"head": 1}, arrays(1))
    content = path.read_bytes()
    for at in (*range(0, len(content), 13), len(content) - 1):
        path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        with pytest.raises(CheckpointError, match=r"is damaged|is not a saved buffer"):
            read(path)
        path.write_bytes(content[:at])
        with pytest.raises(CheckpointError, match=r"is damaged|is not a saved buffer"):
            read(path)
    path.write_bytes(content + b"x")
    with pytest.raises(CheckpointError, match="is damaged"):
        read(path)


def test_another_layout_is_refused_with_both_values(tmp_path: Path) -> None:
    save_arrays(tmp_path / "a", LAYOUT, {}, arrays(1))
    with pytest.raises(CheckpointError, match="saved with n 3, and it is 4 now"):
        read(tmp_path / "a", LAYOUT | {"n": 4})


def test_saving_and_loading_copy_no_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    large = torch.zeros(40 * 2**20, dtype=torch.uint8)
    tracemalloc.start()
    save_arrays(tmp_path / "a", LAYOUT, {}, {"large": large})
    load_arrays(tmp_path / "a", LAYOUT, lambda counters: None, lambda: {"large": large})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20
