import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.silence import leave_elsewhere
from utils.checkpoints import point, save_checkpoint
from utils.config import load_config
from utils.reproduction import Job, find_result, run_jobs
from utils.reproduction.runner import find_unfinished
from utils.run import Run
from utils.run.lock import RunLock

JOBS = [Job("CartPole-v1:ppo", seed) for seed in (1, 2, 3)]

# What train.py leaves behind, without training; it fails for seed 2 if it is told to.
FAKE = """
import json, os, pathlib, sys
folder, config, seed, fails = sys.argv[1:]
if fails == seed:
    sys.exit("diverged")
run = pathlib.Path(folder, str(os.getpid()))
run.mkdir()
(run / "config.json").write_text(config)
test = {"best": {"mean": 10.0 * int(seed)}}
(run / "results.json").write_text(json.dumps({"seed": int(seed), "test": test}))
"""


@pytest.fixture
def fake(monkeypatch):
    """Replace the training; the returned list says which jobs were started."""
    started = []
    settings = {"fails": "none", "code": FAKE}

    def command(job, out):
        started.append(job.seed)
        config = json.dumps(load_config(job.config_id, job.settings).to_dict())
        arguments = [str(job.folder(out)), config, str(job.seed), settings["fails"]]
        return [sys.executable, "-c", settings["code"], *arguments]

    monkeypatch.setattr(Job, "command", command)
    return started, settings


def run(jobs, out, told, n_processes=2):
    return run_jobs(jobs, out, n_processes=n_processes, tell=told.append)


def test_all_jobs_are_trained_and_found(fake, tmp_path):
    told = []
    assert run(JOBS, tmp_path, told) == []
    assert sorted(fake[0]) == [1, 2, 3]
    assert [find_result(job, tmp_path)[1]["test"]["best"]["mean"] for job in JOBS] == [10, 20, 30]
    assert told[0] == "0 of 3 trainings are there already"
    assert any(line.startswith("CartPole-v1:ppo seed 2: best policy 20.00") for line in told)
    assert told[-1].endswith("0 left")


def test_finished_trainings_are_not_repeated(fake, tmp_path):
    run(JOBS[:2], tmp_path, [])
    fake[0].clear()
    told = []
    run(JOBS, tmp_path, told)
    assert fake[0] == [3]
    assert told[0] == "2 of 3 trainings are there already"


def test_a_result_of_other_settings_does_not_count(fake, tmp_path):
    run(JOBS[:1], tmp_path, [])
    assert find_result(JOBS[0], tmp_path) is not None
    assert find_result(Job("CartPole-v1:ppo", 1, ("gamma=0.5",)), tmp_path) is None


def test_a_run_from_before_a_setting_was_there_counts_while_that_is_at_its_default(fake, tmp_path):
    run(JOBS[:1], tmp_path, [])
    (path,) = tmp_path.rglob("config.json")
    stored = json.loads(path.read_text())
    assert stored.pop("gae_lambda") == 0.8  # the default is another
    path.write_text(json.dumps(stored))
    assert find_result(JOBS[0], tmp_path) is None
    assert stored.pop("vf_coef") == 0.5  # the default
    path.write_text(json.dumps(stored | {"gae_lambda": 0.8}))
    assert find_result(JOBS[0], tmp_path) is not None


def test_a_run_whose_config_cannot_be_read_today_does_not_count(fake, tmp_path):
    run(JOBS[:1], tmp_path, [])
    (path,) = tmp_path.rglob("config.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"no_such_setting": 1}))
    assert find_result(JOBS[0], tmp_path) is None


def test_a_run_without_result_does_not_count(fake, tmp_path):
    run(JOBS[:1], tmp_path, [])
    (results,) = tmp_path.rglob("results.json")
    results.unlink()
    assert find_result(JOBS[0], tmp_path) is None


def test_a_failure_is_told_and_the_others_go_on(fake, tmp_path):
    fake[1]["fails"] = "2"
    (failure,) = run(JOBS, tmp_path, [])
    assert failure == "CartPole-v1:ppo seed 2: exit code 1: diverged"
    assert [find_result(job, tmp_path) is not None for job in JOBS] == [True, False, True]


def test_no_training_outlives_an_interrupt(fake, tmp_path):
    mark = tmp_path / "pid"
    fake[1]["code"] = (
        f"import os, pathlib, time; pathlib.Path({str(mark)!r}).write_text(str(os.getpid()))\n"
        "time.sleep(60)"
    )

    def tell(line):
        told.append(line)

    told = []
    real_sleep = time.sleep

    def interrupt(seconds):
        real_sleep(0.05)
        if mark.exists() and mark.read_text():
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("utils.reproduction.runner.time.sleep", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run_jobs(JOBS[:1], tmp_path, n_processes=1, tell=tell)
    assert not Path(f"/proc/{mark.read_text()}").exists()


def test_the_command_is_what_a_person_types(tmp_path):
    command = Job("ALE/Pong-v5:ppo", 4, ("gamma=0.5",)).command(tmp_path)
    assert Path(command[1]).name == "train.py"
    assert command[2:] == [
        "ALE/Pong-v5:ppo",
        "-q",
        "--seed",
        "4",
        "--runs-dir",
        str(tmp_path / "ALE-Pong-v5-ppo" / "seed=4"),
        "--set",
        "gamma=0.5",
    ]


def test_a_training_that_was_stopped_goes_on(fake, tmp_path, monkeypatch):
    job = JOBS[0]
    config = load_config(job.config_id, job.settings)
    folder = job.folder(tmp_path)
    assert find_unfinished(job, tmp_path) is None
    stopped = Run.create(folder, config_id=job.config_id, config_dict=config.to_dict())
    stopped.write_status("interrupted")
    assert find_unfinished(job, tmp_path) is None  # it has no checkpoint to go on from
    path = stopped.checkpoints_dir / "epoch=00.ckpt"
    save_checkpoint(path, {})
    point(stopped.checkpoints_dir, "last", path)
    assert find_unfinished(job, tmp_path) == stopped
    assert find_unfinished(Job(job.config_id, 1, ("gamma=0.5",)), tmp_path) is None
    stopped.write_status("completed")
    assert find_unfinished(job, tmp_path) is None
    stopped.write_status("interrupted")
    resumed = []

    def resume(found):
        resumed.append(found)
        return [sys.executable, "-c", "raise SystemExit('went on')"]

    monkeypatch.setattr("utils.reproduction.runner._resume", resume)
    (failure,) = run([job], tmp_path, [])
    assert failure.endswith("went on")
    assert (resumed, fake[0]) == ([stopped], [])


def test_what_another_process_trains_is_waited_for(fake, tmp_path):
    """The folder is locked as another suite locks it, which then leaves a result."""
    job, told = JOBS[0], []
    folder = job.folder(tmp_path)
    folder.mkdir(parents=True)
    lock = RunLock(folder)

    def tell(line):
        told.append(line)
        if "its result is waited for" in line:
            run_as_another(job, tmp_path)
            lock.release()

    assert run_jobs(JOBS[:2], tmp_path, n_processes=2, tell=tell) == []
    assert fake[0] == [1, 2]  # the first of them by the other process
    assert "CartPole-v1:ppo seed 1: another process has trained it" in told
    assert any(f"(which holds '{folder / '.lock'}') trains it" in line for line in told)
    assert find_result(job, tmp_path) is not None


def test_what_another_process_has_trained_meanwhile_is_not_trained_again(fake, tmp_path):
    told = []

    def tell(line):
        told.append(line)
        if line.startswith("CartPole-v1:ppo seed 1: best policy"):
            run_as_another(JOBS[1], tmp_path)  # this one has not come to it yet

    assert run_jobs(JOBS[:2], tmp_path, n_processes=1, tell=tell) == []
    assert fake[0] == [1, 2]
    assert told[-1] == "CartPole-v1:ppo seed 2: another process has trained it"


def run_as_another(job, out):
    job.folder(out).mkdir(parents=True, exist_ok=True)
    subprocess.run(job.command(out), check=True)


def test_a_training_that_a_killed_suite_has_left_is_waited_for(fake, tmp_path):
    job = JOBS[0]
    config = load_config(job.config_id, job.settings)
    left = Run.create(job.folder(tmp_path), config_id=job.config_id, config_dict=config.to_dict())
    left.write_status("running")
    told = []

    def tell(line):
        told.append(line)
        if "its result is waited for" in line:
            left.write_status("interrupted")  # it saves itself when its suite is gone

    assert run_jobs([job], tmp_path, n_processes=1, tell=tell) == []
    assert fake[0] == [1]
    assert any(line.startswith("CartPole-v1:ppo seed 1: best policy 10.00") for line in told)


def test_a_training_of_another_machine_is_waited_for_until_that_says_nothing_more(fake, tmp_path):
    job = JOBS[0]
    config = load_config(job.config_id, job.settings)
    left = Run.create(job.folder(tmp_path), config_id=job.config_id, config_dict=config.to_dict())
    leave_elsewhere(left)
    told = []

    def tell(line):
        told.append(line)
        if "its result is waited for" in line:
            leave_elsewhere(left, silent_seconds=7200.0)

    assert run_jobs([job], tmp_path, n_processes=1, tell=tell) == []
    assert fake[0] == [1]
    name = "CartPole-v1:ppo seed 1"
    assert told[1] == f"{name}: another process on elsewhere trains it; its result is waited for"
    assert told[2] == (
        f"{name}: run {left.id} was trained on elsewhere, which has given no sign of life for "
        "2.0 h: it counts as lost"
    )
    assert find_result(job, tmp_path) is not None


def test_a_test_without_an_end_is_told(fake, tmp_path):
    fake[1]["code"] = FAKE.replace('{"mean": 10.0 * int(seed)}', '{"mean": None, "returns": []}')
    told = []
    assert run(JOBS[:1], tmp_path, told) == []
    assert "seed 1: no test episode ended in time after" in told[-1]
