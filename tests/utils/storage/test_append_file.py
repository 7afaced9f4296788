import resource

import pytest

from utils.errors import StorageError
from utils.storage import AppendFile


def test_lines_are_on_the_disk_without_closing(tmp_path):
    file = AppendFile(tmp_path / "a")
    file.append(b"1\n")
    file.append(b"2\n")
    assert (tmp_path / "a").read_bytes() == b"1\n2\n"


def test_no_line_no_file(tmp_path):
    file = AppendFile(tmp_path / "a")
    assert file.read_lines() == []
    file.close()
    assert not (tmp_path / "a").exists()


def test_tail_that_was_cut_short_is_dropped(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"1\n2\n3 is cut")
    file = AppendFile(path)
    assert file.read_lines() == [b"1", b"2"]
    file.append(b"3\n")
    assert path.read_bytes() == b"1\n2\n3\n"


def test_line_that_does_not_fit_leaves_the_lines_before_it(tmp_path):
    path = tmp_path / "a"
    file = AppendFile(path)
    file.append(b"a" * 59 + b"\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(StorageError, match="the disk is full"):
            file.append(b"b" * 59 + b"\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"a" * 59 + b"\n"


def test_replace_then_append(tmp_path):
    file = AppendFile(tmp_path / "a")
    file.append(b"1\n")
    file.append(b"2\n")
    file.replace([b"1"])
    file.append(b"3\n")
    assert file.read_lines() == [b"1", b"3"]
