import pytest

from tests.helpers.played_runs import make_config, make_run
from utils.errors import CheckpointError, UserError
from utils.export import parse_export_args, plan_export
from utils.run.selection import select_checkpoint


def test_best_then_last_then_newest_each_with_its_note(tmp_path):
    run = make_run(tmp_path, make_config(), states=[{}, {}, {}], best=1)

    def found():
        selection = select_checkpoint("@last", None, runs_dir=tmp_path)
        return selection.checkpoint.stem, selection.notes

    assert found() == ("epoch=01", ())
    (run.checkpoints_dir / "best.ckpt").unlink()
    name, (note,) = found()
    assert (name, "no best checkpoint yet" in note) == ("epoch=02", True)
    # What is marked by a copy with links to elsewhere is not followed.
    (run.checkpoints_dir / "last.ckpt").unlink()
    (run.checkpoints_dir / "last.ckpt").symlink_to("/etc/passwd")
    selection = select_checkpoint(str(run.path), None, runs_dir=tmp_path)
    assert selection.checkpoint.stem == "epoch=02"
    assert "the newest is used" in selection.notes[0]
    plan = plan_export(parse_export_args(["--format", "torch-export", "--", str(run.path)]))
    assert (plan.checkpoint, plan.notes) == (selection.checkpoint, selection.notes)


def test_what_is_named_must_exist(tmp_path):
    make_run(tmp_path, make_config(), best=None)
    for name in ("@best", "epoch=07", ""):
        with pytest.raises(CheckpointError, match="there are epoch=00"):
            select_checkpoint("@last", name, runs_dir=tmp_path)
    with pytest.raises(UserError, match="two checkpoints"):
        select_checkpoint("@last/@best", "@last", runs_dir=tmp_path)
