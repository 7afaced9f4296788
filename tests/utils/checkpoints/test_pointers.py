import os

import pytest

from utils.checkpoints import load_checkpoint, point, resolve, save_checkpoint
from utils.errors import CheckpointError


@pytest.fixture
def folder(tmp_path):
    for epoch in (1, 2):
        save_checkpoint(tmp_path / f"epoch={epoch:02}.ckpt", {"epoch": epoch})
    return tmp_path


@pytest.fixture(params=["links", "no links"])
def linking(request, monkeypatch):
    if request.param == "no links":

        def refuse(*args, **kwargs):
            raise OSError(1, "Operation not permitted")

        monkeypatch.setattr(os, "symlink", refuse)
    return request.param


def test_pointer_resolves_and_moves(folder, linking):
    for epoch in (1, 2, 2):
        pointer = point(folder, "last", folder / f"epoch={epoch:02}.ckpt")
        assert pointer.is_symlink() == (linking == "links")
        assert resolve(folder, "last") == folder / f"epoch={epoch:02}.ckpt"
        assert load_checkpoint(pointer) == {"epoch": epoch}
    assert sorted(os.listdir(folder)) == ["epoch=01.ckpt", "epoch=02.ckpt", "last.ckpt"]


def test_pointing_at_a_pointer_leads_to_its_file_in_one_hop(folder, linking):
    point(folder, "last", folder / "epoch=01.ckpt")
    point(folder, "best", folder / "last.ckpt")
    point(folder, "last", folder / "epoch=02.ckpt")
    assert resolve(folder, "best").name == "epoch=01.ckpt"


def test_pointing_at_itself_keeps_the_file(folder, linking):
    point(folder, "last", folder / "epoch=01.ckpt")
    point(folder, "last", folder / "last.ckpt")
    assert resolve(folder, "last") == folder / "epoch=01.ckpt"
    assert not resolve(folder, "last").is_symlink()


def test_link_survives_moving_the_folder(folder, tmp_path_factory):
    point(folder, "last", folder / "epoch=01.ckpt")
    moved = tmp_path_factory.mktemp("elsewhere") / "run"
    folder.rename(moved)
    assert resolve(moved, "last") == moved / "epoch=01.ckpt"


def test_change_from_link_to_pointer_file(folder, monkeypatch):
    point(folder, "last", folder / "epoch=01.ckpt")
    monkeypatch.setattr(os, "symlink", lambda *args: (_ for _ in ()).throw(OSError(1, "no")))
    point(folder, "last", folder / "epoch=02.ckpt")
    assert not (folder / "last.ckpt").is_symlink()
    assert resolve(folder, "last").name == "epoch=02.ckpt"
    assert load_checkpoint(folder / "epoch=01.ckpt") == {"epoch": 1}


@pytest.mark.parametrize("target", ["last.ckpt", "missing.ckpt", "../secret.ckpt", "best.ckpt"])
def test_broken_link_is_a_checkpoint_error(folder, target):
    (folder.parent / "secret.ckpt").write_bytes(b"x")
    os.symlink("last.ckpt", folder / "best.ckpt")
    os.symlink(target, folder / "last.ckpt")
    with pytest.raises(CheckpointError, match="not a checkpoint beside it"):
        resolve(folder, "last")


def test_missing_pointer_and_missing_target(folder):
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        resolve(folder, "best")
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        point(folder, "best", folder / "epoch=09.ckpt")
    assert not (folder / "best.ckpt").is_symlink()
