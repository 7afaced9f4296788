import importlib
import signal
import sys

import pytest

from tests.helpers.played_runs import make_config, make_run
from tests.test_run_play import state_of
from utils.checkpoints import load, point
from utils.errors import CheckpointError, UserError
from utils.export import parse_export_args, plan_export
from utils.run.selection import select_checkpoint, work_on_checkpoint


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


def test_what_training_has_removed_since_is_chosen_anew_and_what_cannot_be_loaded_is_not(tmp_path):
    run = make_run(tmp_path, make_config(), states=[{}, {}], best=0)
    args = parse_export_args(["--format", "torch-export", "--", str(run.path)])
    tried = []

    def work(plan):
        tried.append(plan.checkpoint.stem)
        return load.load_checkpoint(plan.checkpoint)

    plan = plan_export(args)
    replace(run.checkpoint("@best"))
    assert work_on_checkpoint(plan, work, choose=lambda: plan_export(args)) == {}
    assert tried == ["epoch=00", "epoch=01"]

    plan = plan_export(args)
    plan.checkpoint.write_bytes(b"cut")
    with pytest.raises(CheckpointError, match="cut short"):
        work_on_checkpoint(plan, work, choose=lambda: plan_export(args))
    assert tried == ["epoch=00", "epoch=01", "epoch=01"]


def replace(checkpoint):
    """Do to the best checkpoint what training does once a better one is there."""
    checkpoint.unlink()
    point(checkpoint.parent, "best", checkpoint.with_name("epoch=01.ckpt"))


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ("run_play", ["--render", "none", "--episodes", "1"]),
        ("run_publish", ["--dry-run", "--no-video", "--episodes", "2"]),
        ("scripts.export_policy", ["@last", "--format", "torch-export"]),
    ],
)
def test_a_run_may_go_on_training_while_its_best_policy_is_used(
    tmp_path, monkeypatch, capsys, script, arguments
):
    pytest.importorskip("huggingface_hub")
    config = make_config()
    state = state_of(config)
    make_run(tmp_path, config, states=[state, state], best=0)
    loaded = load.load_checkpoint

    def remove_first(path):
        if path.stem == "epoch=00":
            replace(path)
        return loaded(path)

    monkeypatch.setattr(load, "load_checkpoint", remove_first)
    monkeypatch.setattr(sys, "argv", [script, *arguments, "--runs-dir", str(tmp_path)])
    handler = signal.getsignal(signal.SIGTERM)
    try:
        assert importlib.import_module(script).main() == 0
    finally:
        signal.signal(signal.SIGTERM, handler)
    captured = capsys.readouterr()
    assert "epoch=01" in captured.out
    assert captured.err == ""
