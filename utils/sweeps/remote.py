"""A sweep on W&B's server, worked off by agents of this machine."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from utils.errors import MissingDependencyError, RunFailedError, UserError
from utils.sweeps.spec import SweepSpec

ROOT = Path(__file__).resolve().parents[2]
_DEFAULT_PROJECT = "gymnasium-solver"


def create_sweep(spec: SweepSpec) -> str:
    """Register a sweep with W&B.

    Returns:
        `entity/project/id`, as `wandb agent` takes it.

    Raises:
        MissingDependencyError: The package `wandb` is not installed.
        UserError: W&B cannot be reached, or refuses the sweep or the key.
    """
    try:
        import wandb
    except ImportError as error:
        raise MissingDependencyError(
            "wandb", extra="wandb", needed_for="--backend wandb"
        ) from error
    content = {"program": "train.py", **spec.content}
    project = os.environ.get("WANDB_PROJECT") or content.get("project") or _DEFAULT_PROJECT
    entity: Any = os.environ.get("WANDB_ENTITY") or content.get("entity")
    try:
        with contextlib.redirect_stdout(sys.stderr):
            sweep_id = wandb.sweep(content, entity=entity, project=project)
            entity = entity or wandb.Api().default_entity
    except (wandb.errors.Error, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise UserError(
            f"W&B does not take the sweep: {first}; --backend local needs no server"
        ) from error
    return f"{entity}/{project}/{sweep_id}"


def run_agents(sweep_path: str, *, n_trials: int | None, n_jobs: int) -> None:
    """Start agents and wait for them; Ctrl-C ends them, and W&B hands their trials out again.

    Args:
        sweep_path: `entity/project/id`.
        n_trials: Trials in all, shared among the agents; None for as many as the sweep has.
        n_jobs: Agents side by side.

    Raises:
        RunFailedError: An agent failed.
    """
    shares = [None] * n_jobs
    if n_trials is not None:
        shares = [n_trials // n_jobs + (i < n_trials % n_jobs) for i in range(n_jobs)]
    agents = []
    try:
        for share in shares:
            if share == 0:
                continue
            count = [] if share is None else ["--count", str(share)]
            command = [sys.executable, "-m", "wandb", "agent", *count, sweep_path]
            agents.append(subprocess.Popen(command, cwd=ROOT, env=_agent_environment()))
        codes = [agent.wait() for agent in agents]
    finally:
        for agent in agents:
            agent.terminate()
        for agent in agents:
            agent.wait()
    if any(codes):
        raise RunFailedError(f"an agent of {sweep_path} ended with exit code {max(codes, key=abs)}")


def agent_command(sweep_path: str) -> str:
    """Return what to type for one more agent, here or on another machine."""
    return f"wandb agent {shlex.quote(sweep_path)}"


def _agent_environment() -> dict[str, str]:
    """Return variables by which the agent's `python` is this one."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {"OMP_NUM_THREADS": "1", **os.environ, "PATH": path}
