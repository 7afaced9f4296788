import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.silence import leave_elsewhere
from utils.checkpoints import point, save_checkpoint
from utils.errors import CheckpointError, RunNotFoundError, StorageError
from utils.run import Run, list_runs, split_reference

ROOT = Path(__file__).resolve().parents[3]
FROZEN = time.struct_time((2030, 1, 2, 3, 4, 5, 2, 2, 0))


def make_run(runs_dir, config_id="CartPole-v1:ppo", *, epochs=()):
    run = Run.create(runs_dir, config_id=config_id, config_dict={"config_id": config_id})
    for epoch in epochs:
        path = run.checkpoints_dir / f"epoch={epoch:02}.ckpt"
        save_checkpoint(path, {"epoch": epoch})
        point(run.checkpoints_dir, "last", path)
    return run


def _create_frozen(runs_dir, number, barrier, ids):
    strftime = time.strftime
    time.strftime = lambda form, moment=FROZEN: strftime(form, moment)
    barrier.wait()
    ids.put(Run.create(runs_dir, config_id="a:b", config_dict={"number": number}).id)


def test_simultaneous_starts_get_folders_of_their_own(tmp_path):
    context = multiprocessing.get_context("fork")
    barrier, ids = context.Barrier(8), context.Queue()
    processes = [
        context.Process(target=_create_frozen, args=(tmp_path, number, barrier, ids))
        for number in range(8)
    ]
    for process in processes:
        process.start()
    found = {ids.get(timeout=120) for _ in processes}
    for process in processes:
        process.join()
    assert found == {"20300102-030405-a-b", *(f"20300102-030405-a-b-{i}" for i in range(2, 9))}
    runs = list_runs(tmp_path)
    assert {run.id for run in runs} == found
    assert {run.read_config_dict()["number"] for run in runs} == set(range(8))
    assert Run.open("@last", runs_dir=tmp_path, needs_checkpoint=False).id in found


def test_id_with_slash_and_colon_is_one_folder_name(tmp_path):
    run = make_run(tmp_path, "ALE/Pong-v5:ppo")
    assert run.id.endswith("-ALE-Pong-v5-ppo")
    assert run.path.parent == tmp_path


def test_last_is_the_newest_run_that_can_be_loaded(tmp_path):
    good = make_run(tmp_path, epochs=[1])
    make_run(tmp_path)
    cut = make_run(tmp_path, epochs=[1])
    checkpoint = cut.checkpoint("@last")
    checkpoint.write_bytes(checkpoint.read_bytes()[:-50])
    broken = make_run(tmp_path, epochs=[1])
    broken.config_path.write_text("{")
    (tmp_path / "notes").mkdir()
    assert Run.open("@last", runs_dir=tmp_path) == good


def test_newest_goes_by_creation_not_by_name(tmp_path):
    first = make_run(tmp_path, "z:z", epochs=[1])
    second = make_run(tmp_path, "a:a", epochs=[1])
    os.utime(first.config_path, ns=(10**18, 10**18))
    os.utime(second.config_path, ns=(10**18 + 1, 10**18 + 1))
    assert [run.id for run in list_runs(tmp_path)] == [second.id, first.id]
    assert Run.open("@last", runs_dir=tmp_path) == second


def test_age_goes_by_the_name_then_the_number_then_the_config_file(tmp_path):
    oldest_first = [
        "copy-of-20300102-030405-a-b",  # names of people: all older, by the age of the config
        "a-name-of-ours",
        "20291231-235959-z-z",
        "20300102-030405-a-b",
        "20300102-030405-a-b-2",
        "20300102-030405-a-b-9",
        "20300102-030405-a-b-10",
        "20300102-030406-a-b",
    ]
    for i, name in enumerate(oldest_first):
        run = Run(tmp_path / name)
        run.path.mkdir()
        run.config_path.write_text("{}")
        # Copying scrambles these ages, and a run that is lengthened writes the file anew.
        age = 10**18 + (i if i < 2 else -i)
        os.utime(run.config_path, ns=(age, age))
    assert [run.id for run in list_runs(tmp_path)] == oldest_first[::-1]
    newest = Run.open("@last", runs_dir=tmp_path, needs_checkpoint=False)
    assert newest.id == oldest_first[-1]


def test_open_by_id_prefix_and_path(tmp_path):
    run = make_run(tmp_path)
    twin = Run(tmp_path / f"{run.id}-2")
    shutil.copytree(run.path, twin.path)
    assert Run.open(run.id, runs_dir=tmp_path) == run
    assert Run.open(f"{run.id}-", runs_dir=tmp_path) == twin
    assert Run.open(str(twin.path), runs_dir="elsewhere").id == twin.id
    assert Run.open(f"{twin.path}/", runs_dir="elsewhere").id == twin.id
    with pytest.raises(RunNotFoundError, match="fits 2 runs"):
        Run.open(run.id[:8], runs_dir=tmp_path)


@pytest.mark.parametrize("reference", ["", "nonsense", "no/such/path", "@last"])
def test_reference_that_leads_nowhere(tmp_path, reference):
    with pytest.raises(RunNotFoundError):
        Run.open(reference, runs_dir=tmp_path)
    with pytest.raises(RunNotFoundError):
        Run.open(reference, runs_dir=tmp_path / "missing")


def test_error_names_near_runs(tmp_path):
    run = make_run(tmp_path)
    with pytest.raises(RunNotFoundError, match=f"did you mean {run.id}"):
        Run.open(run.id.replace("Pole", "Pool"), runs_dir=tmp_path)
    with pytest.raises(RunNotFoundError, match=r"none of the 1 runs in .* can be loaded"):
        Run.open("@last", runs_dir=tmp_path)


def test_read_only_folder_is_a_storage_error(tmp_path, monkeypatch):
    def refuse(path, *args, **kwargs):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(StorageError, match="Read-only file system"):
        Run.create(tmp_path / "runs", config_id="a:b", config_dict={})


def test_runs_dir_that_is_a_file_is_a_storage_error(tmp_path):
    (tmp_path / "runs").write_text("x")
    with pytest.raises(StorageError, match="runs"):
        Run.create(tmp_path / "runs", config_id="a:b", config_dict={})


def test_failed_creation_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        Run.create(tmp_path, config_id="a:b", config_dict={"x": float("nan")})
    assert list(tmp_path.iterdir()) == []


def test_checkpoint_references(tmp_path):
    run = make_run(tmp_path, epochs=[3, 12, 100])
    point(run.checkpoints_dir, "best", run.checkpoints_dir / "epoch=12.ckpt")
    names = {
        "@last": "epoch=100.ckpt",
        "@best": "epoch=12.ckpt",
        "epoch=03": "epoch=03.ckpt",
        "epoch=3": "epoch=03.ckpt",
        "epoch=100.ckpt": "epoch=100.ckpt",
        str(run.checkpoints_dir / "epoch=12.ckpt"): "epoch=12.ckpt",
    }
    for reference, name in names.items():
        assert run.checkpoint(reference) == run.checkpoints_dir / name, reference
    with pytest.raises(CheckpointError, match="there are epoch=03, epoch=12, epoch=100"):
        run.checkpoint("epoch=4")


def test_run_without_checkpoint_says_so(tmp_path):
    with pytest.raises(CheckpointError, match="it has none yet"):
        make_run(tmp_path).checkpoint("@best")


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("abc", ("abc", None)),
        ("@last/@best", ("@last", "@best")),
        ("runs/abc/epoch=03", ("runs/abc", "epoch=03")),
        ("abc/epoch=03.ckpt", ("abc", "epoch=03")),
        ("runs/abc", ("runs/abc", None)),
        ("/@best", ("/@best", None)),
    ],
)
def test_split_reference(reference, parts):
    assert split_reference(reference) == parts


def test_status_of_this_process(tmp_path):
    run = make_run(tmp_path)
    assert run.read_status() == {"status": "unknown"}
    run.write_status("running", epoch=3)
    status = run.read_status()
    assert (status["status"], status["pid"], status["epoch"]) == ("running", os.getpid(), 3)
    run.write_status("completed", reason="max_timesteps reached")
    assert run.read_status()["status"] == "completed"
    assert "epoch" not in run.read_status()


def test_running_reads_as_died_when_its_process_is_gone(tmp_path):
    run = make_run(tmp_path)
    code = "import sys; from utils.run import Run; Run.open(sys.argv[1]).write_status('running')"
    subprocess.run([sys.executable, "-c", code, str(run.path)], cwd=ROOT, check=True)
    assert json.loads(run.status_path.read_text())["status"] == "running"
    assert run.read_status()["status"] == "died"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs start times of processes")
def test_process_id_that_was_used_again_is_not_the_run(tmp_path):
    run = make_run(tmp_path)
    run.write_status("running")
    record = json.loads(run.status_path.read_text())
    record["pid_started_ticks"] -= 1
    run.status_path.write_text(json.dumps(record))
    assert run.read_status()["status"] == "died"


def test_a_process_of_another_machine_lives_as_long_as_it_gives_signs(tmp_path):
    run = make_run(tmp_path)
    run.write_status("running")
    leave_elsewhere(run)
    assert run.read_status()["status"] == "running"
    leave_elsewhere(run, silent_seconds=1000.0)
    status = run.read_status()
    assert status["status"] == "died"
    assert status["silent_seconds"] == pytest.approx(1000.0, abs=60.0)
    (run.path / ".lock").touch()
    assert run.read_status()["status"] == "running"


def test_environment_facts_are_kept_per_process(tmp_path):
    run = make_run(tmp_path)
    run.write_environment_facts(device="cpu", torch_threads=1)
    run.write_environment_facts(device="cuda")
    first, second = run.read_environment_facts()
    assert (first["device"], first["torch_threads"], second["device"]) == ("cpu", 1, "cuda")
    assert first["python"].count(".") == 2
    assert {"torch", "lightning", "gymnasium", "numpy"} <= first["packages"].keys()
    assert first["usable_cores"] >= 1
    assert first["argv"] == sys.argv


def test_files_of_somebody_else_in_a_run_tell_nothing(tmp_path):
    run = make_run(tmp_path, epochs=[1])
    for content in ('{"x": 1}', '{"status": ["running"]}', '{"status": "dancing"}', "[1]"):
        run.status_path.write_text(content)
        assert run.read_status() == {"status": "unknown"}
    for content in ('{"sessions": {"a": 1}}', '{"sessions": [1, "x"]}', '{"sessions": null}'):
        run.environment_path.write_text(content)
        assert run.read_environment_facts() == []
    for content in ('{"a": 1}', '{"counters": 3}', '{"counters": {"timesteps": "many"}}'):
        run.checkpoint("@last").with_suffix(".json").write_text(content)
        assert run.saved_timesteps() is None


def test_what_may_not_be_read_is_told_in_one_line(tmp_path, monkeypatch):
    run = make_run(tmp_path, epochs=[1])

    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    for name in ("is_file", "is_symlink"):
        monkeypatch.setattr(Path, name, refuse)
    with pytest.raises(RunNotFoundError, match=r"config\.json' cannot be read: Permission denied$"):
        Run.open(run.path)
    with pytest.raises(CheckpointError, match=r"last\.ckpt' cannot be read: Permission denied$"):
        run.checkpoint("@last")
    assert not run.has_checkpoint()


def test_import_stays_light():
    code = (
        "import sys, utils.run\n"
        "heavy = {'torch', 'lightning', 'gymnasium', 'numpy', 'numba', 'pydantic'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
