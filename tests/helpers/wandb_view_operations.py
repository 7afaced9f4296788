"""Saved views, and the list of runs that they choose from, on the W&B server of the tests."""

from __future__ import annotations

import json
from typing import Any

from tests.helpers.wandb_state import ENTITY, NOW, State, identifier, operation


@operation("View")
def _view(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    node = state.views.get(variables["viewName"])
    return {"project": {"allViews": {"edges": [{"node": node}] if node else []}}}


@operation("UpsertView2")
def _upsert_view(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    name = variables["name"]
    is_new = name not in state.views
    node = {"id": identifier("View", name), "displayName": variables["displayName"]}
    state.views[name] = {**node, "spec": variables["spec"]}
    return {"upsertView": {"view": {"id": node["id"], "name": name}, "inserted": is_new}}


@operation("Runs")
def _list_runs(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    """List the runs in the order in which they began, or backwards."""
    names = list(state.runs)[:: -1 if "-created" in variables["order"] else 1]
    edges = [{"node": _run_node(state, name), "cursor": name} for name in names]
    page = {"endCursor": None, "hasNextPage": False}
    runs = {"edges": edges, "pageInfo": page}
    return {"project": {"internalId": "1", "runCount": len(names), "readOnly": False, "runs": runs}}


def _run_node(state: State, name: str) -> dict[str, Any]:
    run = state.runs[name]
    return {
        "id": identifier("Run", name),
        "name": name,
        "displayName": run.get("displayName") or name,
        "projectId": "1",
        "state": "finished",
        "createdAt": NOW,
        "heartbeatAt": NOW,
        "tags": [],
        "group": run.get("groupName"),
        "jobType": None,
        "description": None,
        "commit": None,
        "readOnly": False,
        "user": {"name": ENTITY, "username": ENTITY},
        "historyLineCount": len(run["history"]),
        "config": json.dumps(run["config"]),
        "summaryMetrics": json.dumps(run["summary"]),
        "systemMetrics": "{}",
        "historyKeys": None,
        "sweepName": run.get("sweep"),
    }
