import os
import resource
from pathlib import Path

import pytest

from utils.errors import StorageError
from utils.storage import (
    atomic_file,
    read_json,
    remove_temporary_files,
    temporary_folder,
    write_bytes,
    write_json,
)


@pytest.fixture
def small_disk():
    """Let no file grow beyond 64 KiB, as a disk without room would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_body_that_raises_leaves_the_old_content_and_no_temporary_file(tmp_path):
    path = tmp_path / "a.json"
    write_bytes(path, b"old")

    def write_half():
        with atomic_file(path) as file:
            file.write(b"new")
            raise KeyError

    with pytest.raises(KeyError):
        write_half()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.json"]


def test_full_disk_is_a_storage_error_and_leaves_the_old_content(tmp_path, small_disk):
    path = tmp_path / "a.bin"
    write_bytes(path, b"old")
    with pytest.raises(StorageError, match=r"cannot write '.*a\.bin': File too large"):
        write_bytes(path, b"x" * 100_000)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_temporary_folder_is_gone_at_the_end_unless_it_was_moved(tmp_path):
    with temporary_folder(tmp_path, prefix=".made-") as folder:
        assert folder.parent == tmp_path
        assert folder.name.startswith(".made-")
        assert folder.stat().st_mode & 0o077 == 0
        (folder / "file").write_text("x")
    assert os.listdir(tmp_path) == []
    with temporary_folder(tmp_path, prefix=".made-") as folder:
        folder.rename(tmp_path / "kept")
    assert os.listdir(tmp_path) == ["kept"]


def test_an_interrupt_at_the_making_of_a_temporary_folder_leaves_none(tmp_path, monkeypatch):
    make = Path.mkdir

    def make_and_be_interrupted(self, **kwargs):
        make(self, **kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "mkdir", make_and_be_interrupted)
    with pytest.raises(KeyboardInterrupt), temporary_folder(tmp_path, prefix="made-"):
        pass
    assert os.listdir(tmp_path) == []


def test_a_temporary_folder_that_cannot_be_made_is_a_storage_error(tmp_path):
    missing = tmp_path / "none"
    with pytest.raises(StorageError, match="none"), temporary_folder(missing, prefix="made-"):
        pass


def test_old_content_is_in_place_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "a.bin"
    write_bytes(path, b"old")
    with atomic_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


def test_missing_folder_is_a_storage_error(tmp_path):
    with pytest.raises(StorageError, match="No such file or directory"):
        write_bytes(tmp_path / "nowhere" / "a", b"x")


def test_json_refuses_nan_and_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"a": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"a": float("nan")})
    assert read_json(path) == {"a": 1}


@pytest.mark.parametrize("content", [b"", b'{"a": 1', b"[1]", b"\xff"])
def test_read_json_gives_none_for_what_is_not_a_whole_object(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    assert read_json(path) is None
    assert read_json(tmp_path / "missing.json") is None


def test_only_leftovers_are_removed(tmp_path):
    (tmp_path / ".a.ckpt.7-0.tmp").write_bytes(b"half")
    (tmp_path / "a.ckpt").write_bytes(b"whole")
    assert remove_temporary_files(tmp_path) == 1
    assert os.listdir(tmp_path) == ["a.ckpt"]
