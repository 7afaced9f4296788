"""What the command line decides, without a training."""

import json

import pytest

from utils.config import load_config
from utils.errors import UserError
from utils.reproduction import command
from utils.reproduction.cli import read_options
from utils.reproduction.entries import Entry
from utils.reproduction.regressions import compare_suites
from utils.reproduction.store import read_suite

ENTRY = Entry("CartPole-v1:ppo", 2, None)


def told(capsys, *words):
    assert command.run_suite(read_options([*words])) == 0
    return capsys.readouterr().err.splitlines()


def store(folder, name, *, overrides=(), value=400.0, seconds=60.0):
    seeds = [
        {
            "seed": seed,
            "value": value + seed,
            "last": value,
            "timesteps": 1000,
            "seconds": seconds,
            "steps_per_second": 10.0,
            "machine": 0,
        }
        for seed in range(101, 104)
    ]
    record = {
        "schema": "gymnasium-solver/benchmark",
        "schema_version": 1,
        "written_at": "then",
        "git_commit": None,
        "overrides": list(overrides),
        "machines": [{}],
        "entries": [{"config_id": "CartPole-v1:ppo", "metric": "return", "seeds": seeds}],
    }
    folder.mkdir(exist_ok=True)
    path = folder / f"benchmark-20260101-00000{name}.json"
    path.write_text(json.dumps(record))
    return path


def test_a_plan_ends_with_the_cost_of_all(capsys, tmp_path):
    store(tmp_path, 1, overrides=["gamma=0.9"], seconds=600.0)
    plan = ["--plan", "--filter", "CartPole-v1:ppo*", "--set", "gamma=0.9", "--out", str(tmp_path)]
    lines = told(capsys, *plan, "--seeds", "3", "--jobs", "2")
    assert lines[0] == "3 configs, 9 trainings"
    assert "  CartPole-v1:ppo: 3 of 3 to train, some 10 min each" in lines
    assert lines[4] == (
        "total: 9 to train, about 15 min with --jobs 2 by earlier results (30 min of a core); "
        "and 6 that nobody knows of"
    )
    plan[4] = "gamma=0.8"
    lines = told(capsys, *plan, "--seeds", "3")  # of these settings nobody knows
    assert "total: 9 to train; nobody knows yet how long that takes" in lines


def test_a_setting_that_some_configs_lack_leaves_those_out(capsys, tmp_path):
    plan = ["--plan", "--filter", "CartPole-v1:*", "--out", str(tmp_path)]
    lines = told(capsys, *plan, "--set", "n_epochs=3")
    (left_out,) = [line for line in lines if line.startswith("left out: ")]
    assert left_out.startswith("left out: CartPole-v1:dqn, CartPole-v1:dreamer, CartPole-v1:random")
    assert ": --set n_epochs=3: unknown key 'n_epochs'" in left_out
    with pytest.raises(UserError, match="'n_epoch': did you mean 'n_epochs'"):
        told(capsys, *plan, "--set", "n_epoch=3")


def test_demonstrations_that_are_not_here_are_a_reason(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    lines = told(capsys, "--plan", "--all", "--filter", "CartPole-v1:bc", "--out", str(tmp_path))
    assert lines[:2] == ["0 configs, 0 trainings", "total: nothing that this machine can train"]
    assert "there is no Minari dataset 'cartpole/ppo-v0'" in lines[-1]


def test_brief_trainings_are_small_and_stay_by_themselves(capsys, tmp_path):
    options = read_options(["--brief", "--set", "gamma=0.5"])
    (first, _) = command.make_jobs(ENTRY, options)
    config = load_config(first.config_id, first.settings)
    assert (config.max_timesteps, config.n_envs, config.gamma) == (100, 2, 0.5)
    store(tmp_path, 1)
    compare = ["--filter", "CartPole-v1:ppo", "--out", str(tmp_path), "--no-training", "--compare"]
    with pytest.raises(UserError, match=r"no results of these settings \(--brief 100\)"):
        told(capsys, "--brief", *compare)
    path = store(tmp_path, 2, overrides=["--brief 7"])
    with pytest.raises(UserError, match=r"of other settings \(--brief 7\) than .*configs' own"):
        told(capsys, *compare, str(path))


def test_a_fall_in_a_stored_file_is_a_regression(tmp_path):
    old, new = (read_suite(store(tmp_path, i, value=v)) for i, v in ((1, 400.0), (2, 300.0)))
    (found,) = compare_suites(old, new)
    assert found.verdict == "regression"
