import os
import shutil
import tarfile
from pathlib import Path

import pytest

from tests.helpers.finished_runs import finished_run
from utils.checkpoints import point
from utils.errors import ConfigError, UserError
from utils.experiments.archives import (
    read_index,
    remove_archived,
    restore_archive,
    write_archive,
)
from utils.experiments.commands import archive
from utils.run.lock import RunLock


def contents(folder: Path) -> dict[str, bytes | str]:
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def make_runs(runs_dir, n=2):
    runs = [finished_run(runs_dir, seed=seed) for seed in range(n)]
    for run in runs:
        point(run.checkpoints_dir, "best", run.checkpoints_dir / "epoch=01.ckpt")
    return runs


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tgz", "deep/a.tar.xz"])
def test_runs_come_back_as_they_were(tmp_path, name):
    runs = make_runs(tmp_path / "runs")
    before = {run.id: contents(run.path) for run in runs}
    path = tmp_path / name
    n_files = write_archive(path, runs)
    assert n_files == sum(map(len, before.values()))
    assert set(read_index(path)) == set(before)
    restored = restore_archive(path, tmp_path / "back")
    assert all(item.is_new for item in restored)
    after = {folder.name: contents(folder) for folder in (tmp_path / "back").iterdir()}
    assert after == before
    assert any(isinstance(value, str) for files in before.values() for value in files.values())


def test_runs_that_are_there_are_left_alone(tmp_path):
    first, second = make_runs(tmp_path / "runs")
    path = tmp_path / "a.tar.gz"
    write_archive(path, [first, second])
    shutil.rmtree(first.path)
    restored = {item.run_id: item.is_new for item in restore_archive(path, tmp_path / "runs")}
    assert restored == {first.id: True, second.id: False}
    shutil.rmtree(first.path)
    (second.path / "report.md").write_text("changed")
    with pytest.raises(ConfigError, match="is there already and is not the same"):
        restore_archive(path, tmp_path / "runs")
    assert not first.path.exists()
    assert not list((tmp_path / "runs").glob(".restore-*"))


def test_a_run_that_is_trained_is_refused(tmp_path):
    (run,) = make_runs(tmp_path / "runs", 1)
    run.write_status("running")
    with pytest.raises(ConfigError, match="is being trained"):
        write_archive(tmp_path / "a.tar", [run])
    assert not (tmp_path / "a.tar").exists()


@pytest.mark.parametrize("share", [0.02, 0.5, 0.99])
def test_an_archive_cut_short_is_refused_and_leaves_nothing(tmp_path, share):
    path = tmp_path / "a.tar.gz"
    runs = make_runs(tmp_path / "runs")
    (runs[0].path / "noise").write_bytes(os.urandom(50_000))
    write_archive(path, runs)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(ConfigError):
        restore_archive(path, tmp_path / "back")
    assert list((tmp_path / "back").iterdir()) == []


def test_a_changed_byte_is_noticed(tmp_path):
    path = tmp_path / "a.tar"
    (run,) = make_runs(tmp_path / "runs", 1)
    write_archive(path, [run])
    content = path.read_bytes()
    assert content.count(b"weightsweights") > 0
    path.write_bytes(content.replace(b"weightsweights", b"weightsWeights", 1))
    with pytest.raises(ConfigError, match="is not what it was"):
        restore_archive(path, tmp_path / "back")
    assert list((tmp_path / "back").iterdir()) == []


def test_other_archives_are_refused(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive_:
        archive_.add(__file__, arcname="x.py")
    with pytest.raises(ConfigError, match=r"has no archive\.json"):
        restore_archive(path, tmp_path / "back")
    with pytest.raises(ConfigError, match="there is no archive"):
        restore_archive(tmp_path / "none.tar", tmp_path / "back")
    with pytest.raises(ConfigError, match="an archive ends in"):
        write_archive(tmp_path / "a.zip", [])


def test_the_command_archives_and_removes(tmp_path, capsys):
    runs_dir, path = tmp_path / "runs", tmp_path / "old.tar.gz"
    runs = make_runs(runs_dir)
    where = ["--runs-dir", str(runs_dir)]
    archive.main(["status=completed", "--out", str(path), "--remove", "--yes", *where])
    assert not any(run.path.exists() for run in runs)
    archive.main(["--list", str(path)])
    archive.main(["--restore", str(path), *where])
    assert all(run.path.exists() for run in runs)
    assert "2 runs, " in capsys.readouterr().out
    for words, expected in {
        ("--out", str(path)): "which runs?",
        ("seed=0", "--out", str(path)): "is there already",
        ("seed=0",): "give one of",
        ("seed=0", "--list", str(path)): "have no effect with --list",
        ("seed=0", "--out", "x.tar", "--yes"): "no effect without --remove",
    }.items():
        with pytest.raises(UserError, match=expected):
            archive.main([*words, *where])


def test_an_archive_inside_a_run_is_refused(tmp_path):
    (run,) = make_runs(tmp_path / "runs", 1)
    words = ["seed=0", "--remove", "--yes", "--runs-dir", str(tmp_path / "runs")]
    with pytest.raises(ConfigError, match="lies in run"):
        archive.main([*words, "--out", str(run.path / "exports" / "a.tar")])
    assert run.checkpoints_dir.exists()


def test_links_come_back_or_what_they_led_to(tmp_path):
    (run,) = make_runs(tmp_path / "runs", 1)
    (tmp_path / "log").write_text("elsewhere")
    os.symlink(tmp_path / "log", run.path / "absolute.log")
    os.symlink("../../log", run.path / "relative.log")
    os.symlink(tmp_path / "nothing", run.path / "dangling.log")
    os.symlink("checkpoints", run.path / "folder")
    path = tmp_path / "a.tar.gz"
    write_archive(path, [run])
    assert not restore_archive(path, tmp_path / "runs")[0].is_new
    assert remove_archived(path, [run]) == []
    restore_archive(path, tmp_path / "runs")
    for name in ("absolute.log", "relative.log"):
        assert not (run.path / name).is_symlink()
        assert (run.path / name).read_text() == "elsewhere"
    assert os.readlink(run.path / "folder") == "checkpoints"
    assert not os.path.lexists(run.path / "dangling.log")


def test_a_linked_folder_is_not_left_out_in_silence(tmp_path):
    (run,) = make_runs(tmp_path / "runs", 1)
    os.rename(run.checkpoints_dir, tmp_path / "disk")
    os.symlink(tmp_path / "disk", run.checkpoints_dir)
    with pytest.raises(ConfigError, match="is a link to a folder elsewhere"):
        write_archive(tmp_path / "a.tar", [run])
    assert not (tmp_path / "a.tar").exists()


def test_only_what_is_in_the_archive_is_removed(tmp_path):
    trained, changed, linked, same = runs = make_runs(tmp_path / "runs", 4)
    path = tmp_path / "a.tar"
    write_archive(path, runs)
    (changed.path / "report.md").write_text("more")
    os.rename(linked.path, tmp_path / "moved")
    os.symlink(tmp_path / "moved", linked.path)
    with RunLock(trained.path):
        left = remove_archived(path, runs)
    assert [run.path.exists() for run in runs] == [True, True, True, False]
    assert [line.split("' ")[1].split(":")[0] for line in left] == [
        "is being trained by another process",
        "has changed since it was archived",
        "is a link",
    ]
    assert not same.path.exists()


def test_a_folder_of_another_program_is_not_removed(tmp_path, capsys):
    folder = tmp_path / "runs" / "model"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "bert"}')
    words = ["status=unknown", "--out", str(tmp_path / "a.tar"), "--remove", "--yes"]
    assert archive.main([*words, "--runs-dir", str(tmp_path / "runs")]) == 0
    assert (folder / "config.json").exists()
    shown = capsys.readouterr()
    assert "removed the folders of 0 runs" in shown.out
    assert f"note: not removed: '{folder}' is no run of this program" in shown.err
