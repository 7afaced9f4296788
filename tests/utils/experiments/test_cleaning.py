import errno
import os
import shutil

import pytest

from tests.helpers.finished_runs import finished_run
from utils.checkpoints import point, save_checkpoint
from utils.errors import ConfigError, UserError
from utils.experiments.cache import read_records
from utils.experiments.cleaning import clean_run, plan_cleaning
from utils.experiments.commands import clean
from utils.run import Labels
from utils.run.lock import RunLock


def plans(runs_dir, **options):
    records = sorted(read_records(runs_dir), key=lambda r: -r.columns["seed"])
    options = {"keep_best": 1, "keep_recent": 1, "metric": "test", **options}
    return {p.record.columns["seed"]: p for p in plan_cleaning(records, **options)}


def test_the_best_of_each_config_the_newest_and_the_tagged_stay_whole(tmp_path):
    finished_run(tmp_path, seed=0, test=500.0)
    finished_run(tmp_path, seed=1, test=100.0)
    finished_run(tmp_path, seed=2, test=90.0, labels=Labels(tags=("keep",)))
    finished_run(tmp_path, seed=3, test=80.0, variant="other")
    finished_run(tmp_path, seed=4, test=None)
    running = finished_run(tmp_path, seed=5, test=70.0)
    running.write_status("running")
    finished_run(tmp_path, seed=6, test=1.0)
    reasons = {seed: plan.reason for seed, plan in plans(tmp_path).items()}
    assert reasons == {
        0: "among the best",
        1: "",
        2: "tagged keep",
        3: "among the best",
        4: "",
        5: "running",
        6: "among the newest",
    }


def test_what_goes_and_what_stays(tmp_path):
    run = finished_run(tmp_path, labels=Labels(note="n"))
    (run.path / "videos").mkdir()
    (run.path / "videos" / "epoch=01.mp4").write_bytes(b"film" * 100)
    for name in ("metrics.csv", "config.version_1.json", "report.md", "mine.txt"):
        (run.path / name).write_text("x")
    (run.path / "exports").mkdir()
    plan = plans(tmp_path, keep_best=0, keep_recent=0)[0]
    assert [path.name for path in plan.paths] == ["checkpoints", "videos"]
    assert plan.n_bytes == 7000 + 400
    before = read_records(tmp_path)
    clean_run(run, plan.paths)
    assert sorted(path.name for path in run.path.iterdir() if path.name != ".lock") == [
        "config.json",
        "config.version_1.json",
        "exports",
        "labels.json",
        "metrics.csv",
        "metrics.jsonl",
        "mine.txt",
        "report.md",
        "results.json",
        "status.json",
    ]
    assert read_records(tmp_path) == before
    assert plans(tmp_path, keep_best=0, keep_recent=0)[0].reason == "cleaned already"


@pytest.mark.parametrize("content", ['{"model_type": "bert"}', "[]", "{"])
def test_a_folder_of_another_program_is_left_alone(tmp_path, content):
    folder = tmp_path / "model"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "config.json").write_text(content)
    (plan,) = plan_cleaning(read_records(tmp_path), keep_best=0, keep_recent=0, metric="test")
    assert plan.reason == "no run of this program"
    with pytest.raises(ConfigError, match="is no run of this program"):
        clean_run(plan.record.run, [folder / "checkpoints"])
    assert (folder / "checkpoints").exists()


def test_a_run_that_is_trained_meanwhile_is_left_alone(tmp_path):
    run = finished_run(tmp_path)
    plan = plans(tmp_path, keep_best=0, keep_recent=0)[0]
    with RunLock(run.path), pytest.raises(ConfigError, match="is being trained"):
        clean_run(run, plan.paths)
    run.write_status("running")
    with pytest.raises(ConfigError, match="is being trained"):
        clean_run(run, plan.paths)
    assert run.checkpoints_dir.exists()


def test_what_cannot_be_removed_is_told_and_the_others_are_cleaned(tmp_path, monkeypatch, capsys):
    stubborn, other = finished_run(tmp_path, seed=0), finished_run(tmp_path, seed=1)
    remove = shutil.rmtree

    def refuse(path, *args, **kwargs):
        if path == stubborn.checkpoints_dir:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        remove(path, *args, **kwargs)

    monkeypatch.setattr("utils.experiments.cleaning.shutil.rmtree", refuse)
    words = ["--runs-dir", str(tmp_path), "--keep-best", "0", "--keep-recent", "0", "--yes"]
    assert clean.main(words) == 0
    assert stubborn.checkpoints_dir.exists()
    assert not other.checkpoints_dir.exists()
    shown = capsys.readouterr()
    assert "of 1 run" in shown.out.splitlines()[-1]
    assert f"note: not cleaned: cannot write '{stubborn.checkpoints_dir}'" in shown.err


def test_it_asks_first(tmp_path, monkeypatch, capsys):
    run = finished_run(tmp_path)
    words = ["--runs-dir", str(tmp_path), "--keep-best", "0", "--keep-recent", "0"]
    with pytest.raises(UserError, match="give --yes"):  # nobody is there
        clean.main(words)
    assert clean.main([*words, "--dry-run"]) == 0
    assert "to clean: 1 run, 0.0 MB" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: "n")
    assert clean.main(words) == 0
    assert run.checkpoints_dir.exists()
    monkeypatch.setattr("builtins.input", lambda question: "y")
    assert clean.main(words) == 0
    assert not run.checkpoints_dir.exists()
    assert clean.main([*words, "--yes"]) == 0
    assert "nothing to clean" in capsys.readouterr().out


def test_runs_that_could_still_be_resumed_are_named_before_they_are_cleaned(tmp_path, capsys):
    stopped = [finished_run(tmp_path, seed=seed) for seed in (1, 2)]
    done = finished_run(tmp_path, seed=3)
    without = finished_run(tmp_path, seed=4)
    for run in (*stopped, without):
        run.write_status("interrupted")
    for run in (*stopped, done):
        path = run.checkpoints_dir / "epoch=01.ckpt"
        save_checkpoint(path, {"policy": {}})
        point(run.checkpoints_dir, "last", path)
    words = ["--runs-dir", str(tmp_path), "--keep-best", "0", "--keep-recent", "0", "--dry-run"]
    assert clean.main(words) == 0
    (warning,) = [ln for ln in capsys.readouterr().out.splitlines() if ln.startswith("warning")]
    assert warning.startswith("warning: 2 runs stopped before the end and cannot be resumed")
    assert all(run.id in warning for run in stopped)
    assert done.id not in warning
    assert without.id not in warning
