"""A run that goes on from an earlier checkpoint is as it was then."""

from __future__ import annotations

import pytest

from utils.checkpoints import point, resolve, rewind
from utils.storage import write_json

SCORES = {1: 37.0, 2: 263.0, 3: 15.0, 4: 72.0, 5: 269.0, 7: 500.0}
"""Of the evaluations after these epochs; 2, 5 and 7 are the best so far."""


@pytest.fixture
def folder(tmp_path):
    best = float("-inf")
    for epoch, score in SCORES.items():
        path = tmp_path / f"epoch={epoch:02}.ckpt"
        path.write_bytes(b"state")
        is_best, best = score > best, max(score, best)
        write_json(path.with_suffix(".json"), {"is_best_so_far": is_best, "best_score": best})
    (tmp_path / "epoch=07.replay").write_bytes(b"buffer")
    point(tmp_path, "best", "epoch=07.ckpt")
    point(tmp_path, "last", "epoch=07.ckpt")
    return tmp_path


def go_back(folder, epoch):
    return rewind(folder, folder / f"epoch={epoch:02}.ckpt", epoch=epoch)


def names(folder):
    return [resolve(folder, name).stem for name in ("best", "last")]


@pytest.mark.parametrize(
    ("epoch", "best", "n_removed"), [(1, 1, 5), (3, 2, 3), (4, 2, 2), (5, 5, 1)]
)
def test_the_best_and_the_last_are_those_of_then(folder, epoch, best, n_removed):
    assert go_back(folder, epoch) == n_removed
    assert names(folder) == [f"epoch={best:02}", f"epoch={epoch:02}"]
    left = {f"epoch={k:02}{suffix}" for k in SCORES if k <= epoch for suffix in (".ckpt", ".json")}
    assert {path.name for path in folder.iterdir()} == left | {"best.ckpt", "last.ckpt"}


def test_the_newest_is_no_way_back(folder):
    before = sorted(path.name for path in folder.iterdir())
    assert go_back(folder, 7) == 0
    assert names(folder) == ["epoch=07", "epoch=07"]
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_best_that_was_removed_is_replaced_by_where_the_run_goes_on(folder):
    (folder / "epoch=02.ckpt").unlink()
    (folder / "epoch=02.json").unlink()
    go_back(folder, 4)
    assert names(folder) == ["epoch=04", "epoch=04"]


def test_a_best_that_a_killed_run_had_just_named_is_forgotten(folder):
    """`best` is moved before `last`: what goes on from `last` may never see that score again."""
    point(folder, "last", "epoch=05.ckpt")
    assert go_back(folder, 5) == 1
    assert names(folder) == ["epoch=05", "epoch=05"]


def test_without_a_best_only_the_last_goes_back(folder):
    (folder / "best.ckpt").unlink()
    go_back(folder, 3)
    assert resolve(folder, "last").stem == "epoch=03"
    assert not (folder / "best.ckpt").exists()


def test_a_copy_by_hand_is_left_alone(folder):
    (folder / "epoch=07-copy.ckpt").write_bytes(b"mine")
    assert go_back(folder, 5) == 1
    assert (folder / "epoch=07-copy.ckpt").read_bytes() == b"mine"
