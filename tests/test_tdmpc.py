"""TD-MPC2 from end to end."""

from __future__ import annotations

import json

import pytest

from tests.helpers.commands import Command, only_run

THRESHOLDS = {"Pendulum-v1:tdmpc": -250}


def test_choices_and_ends_that_are_not_learnt_are_refused(tmp_path) -> None:
    for env_id, message in (
        ("CartPole-v1", "tdmpc plans actions of a Box"),
        ("Hopper-v5", "set episodic: true"),
    ):
        if env_id == "Hopper-v5":
            pytest.importorskip("mujoco", reason="needs the extra mujoco")
        arguments = ("--set", f"env_id={env_id}", "--set", "env_wrappers=[]", "--set", "video=none")
        small = ("--set", "eval_freq_epochs=null", "--set", "spec={}")
        finished = Command(
            "train", "Pendulum-v1:tdmpc", *arguments, *small, "-q", "--runs-dir", str(tmp_path)
        ).wait(300)
        assert finished.code == 2, finished.err
        assert message in finished.err
        assert "Traceback" not in finished.err


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2", "3"])
@pytest.mark.parametrize("config_id", THRESHOLDS)
def test_a_config_reaches_what_it_is_known_for(config_id, seed, tmp_path) -> None:
    arguments = (config_id, "--seed", seed, "--set", "video=none", "--runs-dir", str(tmp_path))
    finished = Command("train", "-q", *arguments).wait(1800)
    assert finished.code == 0, finished.err
    last = json.loads(only_run(tmp_path).results_path.read_text())["test"]["last"]
    assert last["mean"] >= THRESHOLDS[config_id]
