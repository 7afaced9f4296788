from __future__ import annotations

import sys

import pytest

from scripts import record_dataset
from tests.helpers.played_runs import make_config, make_run
from tests.test_run_play import state_of
from utils.errors import exit_on_user_error

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")


@pytest.fixture
def run_script(monkeypatch, capsys, tmp_path):
    """Run the script's main in this process; return its exit code, output and errors."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    runs_dir = tmp_path / "runs"
    config = make_config()
    make_run(runs_dir, config, states=[state_of(config)])

    def run_script(*arguments):
        words = ["record_dataset.py", *map(str, arguments), "--runs-dir", str(runs_dir)]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as stop:
            exit_on_user_error(record_dataset.main)
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return run_script


def test_a_run_becomes_a_dataset_and_a_name_is_given_once(run_script):
    code, out, err = run_script("@last", "--dataset", "toys/own-v0", "--episodes", 9, "--seed", 4)
    assert code == 0, err
    assert "toys/own-v0: 9 episodes of" in out
    assert "(greedy)" in out
    assert err.splitlines()[-1] == "9 of 9 episodes"
    dataset = minari.load_dataset("toys/own-v0")
    assert dataset.total_episodes == 9
    seeds = [facts["seed"] for facts in dataset.storage.get_episode_metadata(range(9))]
    assert seeds == list(range(4, 13))
    assert "greedy actions" in dataset.storage.metadata["description"]
    code, _, err = run_script("@last", "--dataset", "toys/own-v0")
    assert code == 2
    assert "there is one in" in err
    assert len(err.splitlines()) == 1


def test_a_quiet_recording_of_samples_takes_a_name_of_its_own(run_script):
    code, out, err = run_script("@last", "--episodes", 2, "--stochastic", "-q")
    assert (code, err) == (0, "")
    assert "(sampled)" in out
    (name,) = minari.list_local_datasets()
    assert name.endswith("-v0")
    assert f"dataset={name}" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nope",), "there is no run 'nope'"),
        (("@last", "--dataset", "toys/own"), "no name of a Minari dataset"),
        (("@last", "--dataset", "../own-v0"), "no name of a Minari dataset"),
        (("@last", "--episodes", "0"), "--episodes"),
        (("@last", "--epsodes", "3"), "did you mean '--episodes'?"),
        (("@last", "--checkpoint", "epoch=99"), "there is no checkpoint 'epoch=99'"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(run_script, tmp_path, arguments, message):
    code, out, err = run_script(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "datasets").exists()


def test_without_minari_the_extra_is_named(run_script, monkeypatch):
    from utils.demonstrations import record_plan

    monkeypatch.setattr(record_plan, "find_spec", lambda name: None)
    code, _, err = run_script("@last")
    assert code == 2
    assert "pip install 'gymnasium-solver[minari]'" in err
