"""Sweeps and their agents on the W&B server of the tests."""

from __future__ import annotations

import itertools
import json
from typing import Any

import yaml

from tests.helpers.wandb_state import NOW, State, identifier, operation, project_of


@operation("UpsertSweep")
def _upsert_sweep(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    name = f"sweep{len(state.sweeps) + 1}"
    state.sweeps[name] = {"config": yaml.safe_load(variables["config"]), "handed_out": []}
    sweep = {"name": name, "project": project_of(variables)}
    return {"upsertSweep": {"sweep": sweep, "configValidationWarnings": []}}


@operation("SweepWithRuns", "Sweep", "GetSweep")
def _sweep(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    name = variables.get("sweep") or variables.get("sweepName") or variables["name"]
    config = state.sweeps[name]["config"]
    sweep = {
        "id": identifier("Sweep", name),
        "name": name,
        "method": config["method"],
        "state": "RUNNING",
        "description": None,
        "config": yaml.safe_dump(config),
        "createdAt": NOW,
        "heartbeatAt": NOW,
        "updatedAt": NOW,
        "earlyStopJobRunning": False,
        "bestLoss": None,
        "controller": None,
        "scheduler": None,
        "runs": {"edges": []},
    }
    return {"project": {"sweep": sweep}}


@operation("CreateAgent")
def _create_agent(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    name = f"agent{len(state.agents) + 1}"
    state.agents[name] = variables["sweep"]
    return {"createAgent": {"agent": {"id": name}}}


@operation("Heartbeat")
def _heartbeat(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    """Hand out the next point of the grid once the agent has nothing to do."""
    name = state.agents[variables["id"]]
    sweep = state.sweeps[name]
    commands: list[dict[str, Any]] = []
    if not json.loads(variables.get("runState") or "{}"):
        points = _grid(sweep["config"]["parameters"])
        number = len(sweep["handed_out"])
        if number == len(points):
            commands = [{"type": "exit"}]
        else:
            run, point = f"{name}-run{number + 1}", points[number]
            sweep["handed_out"].append({"run": run, "settings": point})
            args = {key: {"value": value} for key, value in point.items()}
            program = sweep["config"]["program"]
            commands = [{"type": "run", "run_id": run, "args": args, "program": program}]
    answer = {"agent": {"id": variables["id"]}, "commands": json.dumps(commands)}
    return {"agentHeartbeat": answer}


def _grid(parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the points; nested parameters stay nested, as W&B's server sends them."""
    choices = []
    for entry in parameters.values():
        if "parameters" in entry:
            choices.append(_grid(entry["parameters"]))
        else:
            choices.append(entry["values"] if "values" in entry else [entry["value"]])
    return [dict(zip(parameters, point, strict=True)) for point in itertools.product(*choices)]
