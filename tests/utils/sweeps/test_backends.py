"""The same sweep by W&B's real agent, with a server on this machine, and without any server."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.commands import SMALL, settings
from tests.helpers.wandb_files import read_wandb_files
from tests.helpers.wandb_server import Server, client_environment
from utils.config import load_config
from utils.run import Run
from utils.run.registry import list_runs

ROOT = Path(__file__).resolve().parents[3]

# Nested keys, a schedule, a list and a whole number that the server may send as a float.
PARAMETERS = {
    "policy_lr": {"parameters": {"start": {"values": [0.01, 0.001]}, "end": {"value": 0}}},
    "policy_kwargs.hidden_dims": {"values": [[8], [16, 8]]},
    "policy_kwargs.activation": {"value": "silu"},
    "n_epochs": {"value": 2.0},
    "ent_coef": {"value": "lin_0.01"},
}


def write_sweep(folder, runs_dir):
    """Write the sweep as JSON, which is YAML too."""
    fixed = {key: value for key, value in SMALL.items() if key != "n_epochs"}
    small = settings(**fixed, vectorization="sync")
    words = ["CartPole-v1:ppo", "-q", *small, "--runs-dir", str(runs_dir), "--wandb_sweep"]
    sweep = {
        "program": "train.py",
        "command": ["${env}", "${interpreter}", "${program}", *words],
        "method": "grid",
        "metric": {"name": "val/roll/ep_rew_mean", "goal": "maximize"},
        "parameters": PARAMETERS,
    }
    path = folder / "four.yaml"
    path.write_text(json.dumps(sweep))
    return path


def run_sweep(*arguments, environment):
    done = subprocess.run(
        [sys.executable, "scripts/sweep.py", *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def chosen(run):
    """Return what the sweep chose, as config.json holds it."""
    config = run.read_config_dict()
    assert config["policy_kwargs"]["activation"] == "silu"
    assert config["policy_kwargs"]["memory"] == "none"  # what is not swept stays
    assert config["n_epochs"] == 2
    assert isinstance(config["n_epochs"], int)
    assert config["ent_coef"] == {"start": 0.01, "end": 0.0, "from": 0.0, "to": 1.0}
    assert config["policy_lr"]["end"] == 0.0
    return config["policy_lr"]["start"], tuple(config["policy_kwargs"]["hidden_dims"])


EXPECTED = [(lr, dims) for lr in (0.001, 0.01) for dims in ((8,), (16, 8))]


@pytest.mark.slow
def test_four_trials_by_the_agent_and_by_processes_get_the_same_configs(tmp_path):
    pytest.importorskip("wandb")
    pytest.importorskip("optuna")
    remote, local = tmp_path / "remote", tmp_path / "local"
    with Server() as server:
        environment = server.environment(tmp_path)
        path = write_sweep(tmp_path, remote)
        done = run_sweep(path, "--backend", "wandb", environment=environment)
        state = server.state()
    assert "wandb agent someone/gymnasium-solver/sweep1" in done.stdout
    remote_runs = list_runs(remote)
    assert sorted(chosen(run) for run in remote_runs) == EXPECTED
    assert state["unknown"] == []
    handed_out = [item["run"] for item in state["sweeps"]["sweep1"]["handed_out"]]
    assert list(state["runs"]) == handed_out  # distinct runs, by the names that the server gave
    for run in remote_runs:
        identity = json.loads((run.path / "wandb.json").read_text())
        sent = state["runs"][identity["id"]]
        assert sent["sweep"] == "sweep1"
        assert sent["exit_code"] == 0
        key = "val/roll/ep_rew_mean"
        values = [row[key] for row in sent["history"] if key in row]
        assert sent["summary"][key] == values[-1]
        (file,) = read_wandb_files(run.path)
        assert len(file.rows) == 12

    path = write_sweep(tmp_path, "unused")
    path.write_text(path.read_text().replace('"--runs-dir", "unused", ', ""))
    environment = client_environment(tmp_path)
    done = run_sweep(path, "--jobs", "2", "--out", local, environment=environment)
    assert "4 complete" in done.stdout
    local_runs = [Run(p.parent) for p in local.glob("trials/*/*/config.json")]
    assert sorted(chosen(run) for run in local_runs) == EXPECTED
    by_choice = {chosen(run): run.read_config_dict() for run in local_runs}
    for run in remote_runs:
        assert run.read_config_dict() == by_choice[chosen(run)] | {"wandb": True}
    best = next(line for line in done.stdout.splitlines() if line.startswith("best: "))
    assert load_config(best.rpartition(" ")[2]).n_epochs == 2


@pytest.mark.slow
def test_a_sweep_with_a_wrong_key_stops_before_any_server_is_asked(tmp_path):
    path = write_sweep(tmp_path, tmp_path / "runs")
    path.write_text(path.read_text().replace("policy_lr", "polcy_lr"))
    for options in (["--backend", "wandb"], ["--out", str(tmp_path / "out")]):
        done = subprocess.run(
            [sys.executable, "scripts/sweep.py", str(path), *options],
            cwd=ROOT,
            env=os.environ | client_environment(tmp_path),
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 2
        assert "unknown key 'polcy_lr': did you mean 'policy_lr'?" in done.stderr
        assert not (tmp_path / "out").exists()
