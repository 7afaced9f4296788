import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.wandb_server import Server, client_environment
from utils.metrics_config import load_metrics_config

pytest.importorskip("wandb_workspaces")

ROOT = Path(__file__).resolve().parents[3]
TWO_RUNS = """
import wandb
for name in ("older", "newer"):
    run = wandb.init(project="gymnasium-solver", id=name, settings=wandb.Settings(silent=True))
    run.log({"a": 1})
    run.finish()
"""


def run_python(*arguments, environment):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def setup(*arguments, environment):
    done = run_python("scripts/setup_wandb_dashboard.py", *arguments, environment=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_the_view_is_made_once_put_back_when_asked_and_shows_the_newest_run(tmp_path):
    with Server() as server:
        environment = server.environment(tmp_path)
        (line,) = setup(environment=environment)
        url = f"{server.url}/someone/gymnasium-solver?nw=gymsolverv1"
        assert line == f"created: {url}"
        ((name, first),) = server.state()["views"].items()
        assert first["displayName"] == "gymnasium-solver"
        check_panels(json.loads(first["spec"]))

        (line,) = setup(environment=environment)
        assert line.startswith("is there already")
        assert server.state()["views"] == {name: first}

        run_python("-c", TWO_RUNS, environment=environment).check_returncode()
        assert setup("--select-latest", environment=environment)[-1] == "shown: newer"
        selected = json.loads(server.state()["views"][name]["spec"])
        (run_set,) = selected["section"]["runSets"]
        assert run_set["selections"] == {"root": 1, "bounds": [], "tree": ["older"]}  # all but it
        check_panels(selected)  # which the choice of a run leaves alone

        (line,) = setup("--overwrite", environment=environment)
        assert line == f"panels put back: {url}"
        state = server.state()
    assert list(state["views"]) == [name]
    assert state["unknown"] == []


def check_panels(spec):
    """Every metric has a curve over the timesteps, and the films are shown."""
    sections = spec["section"]["panelBankConfig"]["sections"]
    panels = [panel for section in sections for panel in section["panels"]]
    curves = [panel["config"] for panel in panels if panel["viewType"] == "Run History Line Plot"]
    shown = {key for curve in curves for key in curve["metrics"]}
    groups = load_metrics_config().groups.items()
    assert shown == {f"{group}/{name}" for group, spec in groups for name in spec.metrics}
    assert {curve["xAxis"] for curve in curves} == {"train/cnt/timesteps"}
    (films,) = [panel["config"] for panel in panels if panel["viewType"] == "Media Browser"]
    assert films["mediaKeys"] == ["val/video/episode"]


def test_without_a_login_it_says_so(tmp_path):
    environment = client_environment(tmp_path) | {"WANDB_API_KEY": ""}
    done = run_python("scripts/setup_wandb_dashboard.py", environment=environment)
    assert done.returncode == 2
    assert done.stderr == "error: a view lives on W&B's server: log in first with  wandb login\n"
