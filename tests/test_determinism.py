"""The same seed gives the same run, whatever is watched beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.commands import csv_rows, only_run, rows, small, train
from tests.helpers.saved_states import differences, state_differences
from utils.checkpoints import load_checkpoint
from utils.run import Run

NO_EVALUATION = {
    "eval_freq_epochs": "null",
    "eval_warmup_epochs": None,
    "eval_episodes": None,
    "eval_n_envs": None,
    "early_stop_on_eval_reward": False,
}
NORMALIZED = {"normalize_obs": "rolling", "normalize_reward": True}


def trained(folder: Path, config_id: str = "CartPole-v1:ppo", **changes) -> Run:
    finished = train(*small(config_id, **changes), runs_dir=folder)
    assert finished.code == 0, finished.err
    return only_run(folder)


def training_rows(run: Run) -> list[dict[str, float]]:
    return [
        {key: value for key, value in row.items() if not key.startswith("val/")}
        for row in rows(run)
    ]


def learnt(run: Run) -> dict[str, object]:
    state = load_checkpoint(run.checkpoint("@last"))
    return {key: state[key] for key in ("policy", "optimizer", "counters", "source", "generators")}


@pytest.mark.parametrize(
    ("config_id", "changes"),
    [
        ("CartPole-v1:ppo", NORMALIZED),
        ("Pendulum-v1:ppo", {}),
        ("CartPole-v1:ppo", {"vectorization": "torch"}),
        (
            "CartPole-v1:reinforce",
            {"n_steps": None, "batch_size": None, "n_epochs": None, "max_timesteps": 1000},
        ),
    ],
)
def test_the_same_seed_gives_the_same_run(config_id, changes, tmp_path):
    first = trained(tmp_path / "a", config_id, **changes)
    second = trained(tmp_path / "b", config_id, **changes)
    assert differences(first.checkpoint("@last"), second.checkpoint("@last")) == []
    assert rows(first) == rows(second)
    assert csv_rows(first) == csv_rows(second)
    tests = [json.loads(run.results_path.read_text())["test"] for run in (first, second)]
    for test in tests:
        for result in test.values():
            del result["seconds"]
    assert tests[0] == tests[1]


def test_another_seed_gives_another_run(tmp_path):
    first = trained(tmp_path / "a", max_timesteps=128)
    second = trained(tmp_path / "b", max_timesteps=128, seed=1)
    changed = state_differences(learnt(first)["policy"], learnt(second)["policy"])
    assert len(changed) >= 8, changed
    assert rows(first) != rows(second)


def test_watching_changes_nothing(tmp_path):
    """Evaluation off, each fourth epoch, and each epoch with films: one training."""
    silent = trained(tmp_path / "off", **NORMALIZED, **NO_EVALUATION)
    assert not any(key.startswith("val/") for row in rows(silent) for key in row)
    for name, changes in {
        "some": {},
        "sampled": {"eval_freq_epochs": 3, "eval_deterministic": False, "eval_n_envs": 3},
        "films": {
            "eval_freq_epochs": 1,
            "eval_warmup_epochs": 1,
            "video": "every",
            "video_max_steps": 10,
        },
    }.items():
        watched = trained(tmp_path / name, **NORMALIZED, **changes)
        assert any("val/roll/ep_rew_mean" in row for row in rows(watched))
        assert state_differences(learnt(watched), learnt(silent)) == [], name
        assert training_rows(watched) == training_rows(silent), name
    assert len(list(only_run(tmp_path / "films").videos_dir.glob("*.mp4"))) == 12


def test_processes_train_what_one_process_trains(tmp_path):
    here = trained(tmp_path / "sync", vectorization="sync")
    apart = trained(tmp_path / "async", vectorization="async", n_workers=2)
    assert state_differences(learnt(here), learnt(apart)) == []
    assert rows(here) == rows(apart)


def test_what_could_explain_a_difference_is_stored(tmp_path):
    run = trained(tmp_path, max_timesteps=128, torch_threads=2)
    (facts,) = run.read_environment_facts()
    assert facts["torch_threads"] == 2
    assert facts["device"] == "cpu"
    assert facts["vectorization"] == "simd"
    stored = json.dumps(facts)
    for package in ("python", "torch", "numpy", "gymnasium", "lightning"):
        assert package in stored
