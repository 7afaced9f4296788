"""Sweeps by processes of this machine; a quick program stands in for train.py."""

import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from tests.helpers.commands import Command, processes_left
from utils.config import load_config
from utils.errors import ConfigError, RunFailedError
from utils.sweeps import read_sweep
from utils.sweeps.cli import parse_sweep_args

pytest.importorskip("optuna")

import utils.sweeps.trial
from utils.sweeps.local import LocalSweep
from utils.sweeps.report import draw_sweep
from utils.sweeps.session import run_session
from utils.sweeps.study import PROCESS, SETTINGS, SweepStudy, state_of
from utils.sweeps.trial import TrialWork

ROOT = Path(__file__).resolve().parents[3]
ONE_SEED = {"seed": 0, "n_seeds": 1}
SWEEP = """\
program: train.py
command: ["${env}", "${interpreter}", "${program}", "CartPole-v1:ppo", "-q", "--wandb_sweep"]
method: %s
metric: {name: val/roll/ep_rew_mean, goal: maximize}
parameters:
"""
GRID = SWEEP % "grid" + "  gamma: {values: [0.1, 0.5, 0.9]}\n  n_epochs: {values: [1, 2]}\n"
RANDOM = SWEEP % "random" + "  gamma: {min: 0.1, max: 0.9}\n"


@pytest.fixture
def quick(tmp_path, monkeypatch):
    """Let a quick program stand in for train.py, and run sweeps in this process."""
    shutil.copy(ROOT / "tests" / "helpers" / "quick_training.py", tmp_path / "train.py")
    monkeypatch.setattr(utils.sweeps.trial, "ROOT", tmp_path)

    def sweep(text, *options):
        path = tmp_path / "sweep.yaml"
        path.write_text(text)
        args = parse_sweep_args([str(path), "--out", str(tmp_path / "out"), *options])
        return run_session(read_sweep(path), args)

    return sweep


def trials(folder, text=None):
    spec = read_sweep(folder / "sweep.yaml")
    return SweepStudy(spec, folder / "out", **ONE_SEED).trials


def settings_in_runs(folder):
    paths = sorted((folder / "out" / "trials").glob("*/*/config.json"))
    return [json.loads(path.read_text()) for path in paths]


def test_a_grid_is_tried_once_and_its_best_becomes_a_config(quick, tmp_path, capsys):
    assert quick(GRID, "--jobs", "2") == 0
    shown = capsys.readouterr()
    points = [(s["gamma"], s["n_epochs"]) for s in settings_in_runs(tmp_path)]
    assert sorted(points) == [(g, n) for g in (0.1, 0.5, 0.9) for n in (1, 2)]
    assert "6 complete" in shown.out
    (line,) = [line for line in shown.out.splitlines() if line.startswith("best: trial ")]
    config_id = line.rpartition(" ")[2]
    config = load_config(config_id)
    assert (config.gamma, config.config_id) == (0.9, "CartPole-v1:ppo_sweep")
    given = {"gamma": 0.9, "n_epochs": config.n_epochs}
    expected = load_config("CartPole-v1:ppo", sweep=given)
    names = {"config_id": config.config_id, "description": config.description}
    assert config.to_dict() == expected.to_dict() | names
    assert config.description == "Trial 4 of sweep: val/roll/ep_rew_mean 100"
    page = (tmp_path / "out" / "report.md").read_text()
    assert f"python train.py {config_id}" in page
    assert (tmp_path / "out" / "sweep.png").stat().st_size > 10_000
    check_picture(SweepStudy(read_sweep(tmp_path / "sweep.yaml"), tmp_path / "out", **ONE_SEED))
    assert quick(GRID) == 0  # nothing is left to do
    assert len(trials(tmp_path)) == 6


def check_picture(study):
    """Trials are counted by whole numbers, and the best so far is drawn to the last of them."""
    history, *slices = draw_sweep(study).axes
    assert all(float(tick).is_integer() for tick in history.get_xticks())
    (line,) = history.get_lines()
    assert list(line.get_xdata()) == [0, 1, 2, 3, 4, 5, 5]
    assert max(line.get_ydata()) == line.get_ydata()[-1] == 100
    assert [axis.get_title() for axis in slices if axis.axison] == ["gamma", "n_epochs"]


def test_a_sweep_can_be_lengthened_and_draws_what_it_would_have_drawn(quick, tmp_path):
    quick(RANDOM, "--n-trials", "5")
    whole = [trial.user_attrs[SETTINGS] for trial in trials(tmp_path)]
    shutil.rmtree(tmp_path / "out")
    quick(RANDOM, "--n-trials", "2")
    quick(RANDOM, "--n-trials", "5")
    parts = [trial.user_attrs[SETTINGS] for trial in trials(tmp_path)]
    assert parts == whole
    assert len({s["gamma"] for s in whole}) == 5
    shutil.rmtree(tmp_path / "out")
    quick(RANDOM, "--n-trials", "1", "--seed", "1")
    assert trials(tmp_path)[0].user_attrs[SETTINGS] != whole[0]


def test_a_failure_is_counted_and_named_and_the_others_go_on(quick, tmp_path, capsys):
    text = SWEEP % "grid" + "  n_epochs: {values: [12, 13, 14]}\n"
    assert quick(text) == 0
    assert "2 complete, 1 failed" in (shown := capsys.readouterr()).out
    assert "failed: trial 1: exit code 3: thirteen is too many" in shown.out
    assert "thirteen is too many" in (tmp_path / "out" / "report.md").read_text()


def test_a_sweep_of_failures_is_one(quick):
    with pytest.raises(RunFailedError, match="all 1 trials failed"):
        quick(SWEEP % "grid" + "  n_epochs: {values: [13]}\n")


def test_a_metric_that_no_run_has_fails_the_trial_and_names_one_that_there_is(quick, capsys):
    text = RANDOM.replace("val/roll/ep_rew_mean", "val/roll/ep_rew_meen")
    with pytest.raises(RunFailedError):
        quick(text, "--n-trials", "1")
    assert (
        "it has no 'val/roll/ep_rew_meen': did you mean 'val/roll/ep_rew_mean'?"
        in capsys.readouterr().out
    )


def test_a_trial_is_judged_by_its_mean_over_seeds(quick, tmp_path):
    assert quick(RANDOM, "--n-trials", "1", "--seeds", "3", "--jobs", "2") == 0
    spec = read_sweep(tmp_path / "sweep.yaml")
    (trial,) = SweepStudy(spec, tmp_path / "out", seed=0, n_seeds=3).trials
    gamma = trial.user_attrs[SETTINGS]["gamma"]
    # The seeds add 0, 1 and 2, which is 1 on average.
    assert trial.value == pytest.approx(100 * (1 - (gamma - 0.9) ** 2) + 1)
    assert sorted(trial.intermediate_values) == list(range(1, 11))
    paths = tmp_path.glob("out/trials/*/*/*/config.json")
    seeds = [json.loads(path.read_text())["seed"] for path in paths]
    assert sorted(seeds) == [0, 1, 2]


def test_what_lags_behind_is_stopped(quick, tmp_path, capsys):
    text = SWEEP % "grid" + (
        "  gamma: {values: [0.9, 0.1]}\n  n_epochs: {values: [6]}\n"
        "early_terminate: {type: hyperband, min_iter: 2, eta: 3}\n"
    )
    quick(text, "--jobs", "2")
    first, second = trials(tmp_path)
    assert (state_of(first), state_of(second)) == ("complete", "pruned")
    assert len(second.intermediate_values) < 10
    assert "trial 1: pruned at" in capsys.readouterr().err


def test_the_target_ends_a_sweep(quick, tmp_path):
    text = GRID.replace("goal: maximize", "goal: maximize, target: 99")
    quick(text.replace("[0.1, 0.5, 0.9]", "[0.9, 0.5, 0.1]"))
    assert len([t for t in trials(tmp_path) if state_of(t) == "complete"]) == 1


def test_another_sweep_in_the_same_folder_is_refused(quick):
    quick(RANDOM, "--n-trials", "1")
    with pytest.raises(ConfigError, match=r"what is tried, .*, differs"):
        quick(RANDOM.replace("0.9", "0.8"), "--n-trials", "1")
    with pytest.raises(ConfigError, match="the metric differs"):
        quick(RANDOM.replace("maximize", "minimize"), "--n-trials", "1")
    with pytest.raises(ConfigError, match="--seeds differs"):
        quick(RANDOM, "--n-trials", "1", "--seeds", "2")


MODULES = ("tests.helpers.quick_sweep", "matplotlib.figure")


class EndsUnseen:
    """A training that ends after it was looked at, and leaves one value."""

    process = exit_code = None

    def start(self):
        self.process = self

    def is_running(self):
        return self.process is not None and not self.is_ended()

    def is_ended(self):
        return self.exit_code is not None

    def read_values(self):
        return [1.0] if self.is_ended() else []

    def stop(self, number):
        pass


class Laggards:
    """A study of one trial that lags behind by its first value."""

    def __init__(self):
        self.said = []

    def report(self, trial, value, *, step):
        self.said.append((value, step))
        return True

    def prune(self, trial):
        self.said.append("pruned")


class Bare:
    number = 0

    def set_user_attr(self, key, value):
        pass


def test_the_last_values_of_a_seed_are_read_before_the_next_one_is_started(tmp_path):
    spec = read_sweep(ROOT / "config" / "sweeps" / "cartpole_ppo.yaml")
    study = Laggards()
    sweep = LocalSweep(study, tmp_path, n_jobs=1, seeds=(0, 1), tell=lambda line: None)
    work = TrialWork(Bare(), {}, spec, tmp_path, seeds=(0, 1))
    first, second = work.trainings = [EndsUnseen(), EndsUnseen()]
    sweep._active.append(work)
    assert sweep._start(1)
    sweep._look_after(work)
    first.exit_code = 0  # between a look and the next start
    assert not sweep._start(1)
    sweep._look_after(work)
    assert study.said == [(1.0, 1)]
    assert work.waiting == []
    assert not sweep._start(1)  # nothing is chosen before that is noted
    sweep._look_after(work)
    assert study.said[-1] == "pruned"
    assert second.process is None


LONGEST_SECONDS = 300.0


def start_sweep(folder, text, *options):
    """Start a sweep as a process in a session of its own."""
    shutil.copy(ROOT / "tests" / "helpers" / "quick_training.py", folder / "train.py")
    (folder / "sweep.yaml").write_text(text)
    return start_sweep_again(folder, *options)


def start_sweep_again(folder, *options):
    """Start the same sweep over what is there."""
    arguments = [str(folder), str(folder / "sweep.yaml"), "--out", str(folder / "out")]
    return Command("tests.helpers.quick_sweep", *arguments, *options, modules=MODULES)


def running_trainings(folder):
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if str(folder / "train.py").encode() in words:
            found.append(int(entry.name))
    return found


def wait_until(condition):
    deadline = time.monotonic() + LONGEST_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


SLOW_GRID = SWEEP % "grid" + "  n_epochs: {values: [1, 7, 8]}\n"


def test_after_kill_9_the_running_trial_is_done_again(tmp_path):
    sweep = start_sweep(tmp_path, SLOW_GRID, "--jobs", "2")
    wait_until(lambda: list(tmp_path.glob("out/trials/0001/*/metrics.jsonl")))
    sweep.send(signal.SIGKILL)
    sweep.wait()
    wait_until(lambda: not running_trainings(tmp_path))  # they do not outlive their sweep
    journal = tmp_path / "out" / "journal.log"
    journal.write_bytes(journal.read_bytes() + b'{"op_code": 4, "wor')  # killed while it wrote
    program = tmp_path / "train.py"
    program.write_text(program.read_text().replace("7: 2.0", "7: 0.0"))
    again = start_sweep_again(tmp_path).wait()
    assert again.code == 0, again.err
    assert "3 complete" in again.out
    found = trials(tmp_path)
    lost = [t for t in found if state_of(t) == "lost"]
    done = {t.user_attrs[SETTINGS]["n_epochs"] for t in found if state_of(t) == "complete"}
    assert done == {1, 7, 8}
    assert lost


def test_ctrl_c_leaves_no_process_and_says_how_to_go_on(tmp_path):
    sweep = start_sweep(tmp_path, SLOW_GRID, "--jobs", "2")
    wait_until(lambda: list(tmp_path.glob("out/trials/0001/*/metrics.jsonl")))
    sweep.send(signal.SIGINT)
    ended = sweep.wait()
    assert ended.code == 130, ended.err
    assert "interrupted; go on with: python" in ended.err
    assert "interrupted and done again" in ended.out
    assert running_trainings(tmp_path) == []
    assert processes_left(sweep.pid) == []
    assert any(state_of(trial) == "waiting" for trial in trials(tmp_path))


def test_a_process_does_again_what_another_was_at_when_it_died(tmp_path):
    (tmp_path / "sweep.yaml").write_text(RANDOM)
    spec = read_sweep(tmp_path / "sweep.yaml")
    killed, survivor = (SweepStudy(spec, tmp_path / "out", **ONE_SEED) for _ in range(2))
    trial, settings = killed.ask(1)
    assert survivor.ask(1) is None  # it is at work
    host, _, started = trial.user_attrs[PROCESS]
    trial.set_user_attr(PROCESS, [host, 2**30, started])  # beyond any process there is
    again, same_settings = survivor.ask(1)
    assert (again.number, same_settings) == (1, settings)
    assert survivor.ask(1) is None


def test_a_process_of_another_machine_is_gone_after_five_silent_minutes(tmp_path):
    (tmp_path / "sweep.yaml").write_text(RANDOM)
    spec = read_sweep(tmp_path / "sweep.yaml")
    far, near = (SweepStudy(spec, tmp_path / "out", **ONE_SEED) for _ in range(2))
    trial, settings = far.ask(1)
    trial.set_user_attr(PROCESS, ["another-machine", 7, 1])
    sign = tmp_path / "out" / "workers" / "another-machine-7"
    sign.touch()
    assert near.ask(1) is None  # it gave a sign a moment ago
    silent_since = sign.stat().st_mtime - 301.0
    os.utime(sign, (silent_since, silent_since))
    _, same_settings = near.ask(1)
    assert same_settings == settings


def test_two_sweep_processes_share_the_trials(tmp_path):
    first = start_sweep(tmp_path, GRID)
    wait_until(lambda: (tmp_path / "out" / "journal.log").exists())
    second = start_sweep_again(tmp_path)
    for process in (first, second):
        done = process.wait()
        assert done.code == 0, done.err
    found = trials(tmp_path)
    points = [tuple(t.user_attrs[SETTINGS].values()) for t in found]
    assert [state_of(t) for t in found] == ["complete"] * 6
    assert len(set(points)) == 6
