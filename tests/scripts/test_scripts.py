import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(path.name for path in (ROOT / "scripts").glob("*.py"))
TINY = ["--windows", "1", "--seconds", "0.01"]


def run(script, *arguments, environment=None, timeout=300):
    return subprocess.run(
        [sys.executable, str(ROOT / "scripts" / script), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
        timeout=timeout,
        check=False,
    )


def test_there_are_the_scripts_that_the_makefile_names():
    makefile = (ROOT / "Makefile").read_text()
    for name in SCRIPTS:
        assert name in makefile or name in {
            "judge_bandits.py",
            "judge_ccas_ccar.py",
            "monitor.py",
            "reproduce_results.py",
            "setup_wandb_dashboard.py",
            "sweep.py",
            "benchmark_training.py",
            "benchmark_replay_rounds.py",
            "benchmark_replay_training.py",
            "export_policy.py",
            "benchmark_gpu_training.py",
            "brax_eval_policy.py",
            "brax_train_policy.py",
            "import_sb3.py",
            "benchmark_scaling.py",
            "experiments.py",
            "record_dataset.py",
            "tune.py",
        }
    for word in makefile.split():
        if word.startswith("scripts/"):
            assert (ROOT / word).is_file(), word


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_and_mistakes_need_nothing_heavy(script, tmp_path):
    # A torch that cannot be imported stands before the real one.
    (tmp_path / "torch.py").write_text("raise ImportError('torch was imported')")
    shadow = {"PYTHONPATH": str(tmp_path)}
    helped = run(script, "--help", environment=shadow)
    assert helped.returncode == 0, helped.stderr
    assert "usage:" in helped.stdout
    refused = run(script, "--jsn", environment=shadow)
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: unknown option '--jsn'")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--envs", "CartPole-v1,CartPole-v3"], "there is no environment 'CartPole-v3'"),
        (["--env-threads", "9999"], "--env-threads 9999: this machine has"),
    ],
)
def test_mistakes_are_told_before_anything_is_measured(arguments, message):
    pytest.importorskip("stable_baselines3")
    refused = run("benchmark_vecenv_fps.py", *arguments)
    assert refused.returncode == 2
    assert message in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "arguments", "n_tables"),
    [
        ("benchmark_vecenv_fps.py", [*TINY, "--envs", "CartPole-v1", "--n-envs", "2"], 1),
        ("benchmark_collectors.py", [*TINY, "--envs", "CartPole-v1", "--n-envs", "2"], 1),
        ("benchmark_dataloaders.py", [*TINY, "--epochs", "2"], 3),
        (
            "benchmark_replay.py",
            [*TINY, "--capacity=2000", "--pictures=400", "--batch-size=32", "--n-envs=4"],
            5,
        ),
        ("benchmark_training.py", ["--windows", "1", "--timesteps", "512"], 1),
        (
            "benchmark_gpu_training.py",
            ["--device=cpu", "--n-envs=16,32", "--windows=2", "--iterations=2"],
            2,
        ),
        ("benchmark_training.py", ["--time-to-solve", "--seeds", "1"], 2),
    ],
)
def test_benchmarks_print_and_write_their_tables(script, arguments, n_tables, tmp_path):
    if "dataloaders" not in script:
        pytest.importorskip("stable_baselines3")
    done = run(script, *arguments, "--json", str(tmp_path / "out.json"))
    assert done.returncode == 0, done.stderr
    assert "torch thread" in done.stdout
    tables = json.loads((tmp_path / "out.json").read_text())["tables"]
    assert len(tables) == n_tables
    assert all(table["title"] in done.stdout for table in tables)


@pytest.mark.slow
def test_every_environment_passes_the_smoke_test():
    done = run("smoke_test_envs.py", "--timesteps", "40")
    assert done.returncode == 0, done.stdout
    assert "failed" not in done.stdout


@pytest.mark.slow
def test_every_environment_steps_renders_and_leaves_no_process():
    done = run("smoke_test_envs.py", timeout=1800)
    assert done.returncode == 0, done.stdout
    assert "failed" not in done.stdout


@pytest.mark.slow
def test_every_config_trains_for_a_moment():
    done = run("smoke_train_envs.py", timeout=1800)
    assert done.returncode == 0, done.stdout
    assert "failed" not in done.stdout


@pytest.mark.slow
def test_results_are_reproduced_and_kept(tmp_path):
    trial = [
        "--filter",
        "FrozenLake-v1:ppo",
        "--seeds",
        "2",
        "--jobs",
        "2",
        "--out",
        str(tmp_path / "out"),
    ]
    small = ["--set", "max_timesteps=8192", "--set", "video=none"]
    first = run("reproduce_results.py", *trial, *small)
    assert first.returncode == 0, first.stderr
    assert "| FrozenLake-v1:ppo | return | 101 to 102 |" in first.stdout
    page = tmp_path / "page.md"
    second = run("reproduce_results.py", *trial, *small, "--write", str(page))
    assert "2 of 2 trainings are there already" in second.stderr
    assert page.read_text() == first.stdout.removesuffix("\n")
