"""Logins and runs on the W&B server of the tests."""

from __future__ import annotations

import json
from typing import Any

from tests.helpers.wandb_state import ENTITY, State, identifier, operation, project_of


@operation("Viewer")
def _viewer(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    viewer = {
        "id": identifier("User", 1),
        "entity": ENTITY,
        "username": ENTITY,
        "name": ENTITY,
        "email": "someone@example.org",
        "admin": False,
        "flags": "{}",
        "teams": {"edges": []},
        "apiKeys": {"edges": []},
    }
    versions = {"cliVersionInfo": {"max_cli_version": "99.0.0"}, "latestLocalVersionInfo": None}
    return {"viewer": viewer, "serverInfo": {**versions, "features": []}}


@operation("GetDefaultEntity")
def _default_entity(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    return {"viewer": {"id": identifier("User", 1), "entity": ENTITY}}


@operation("ServerFeaturesQuery")
def _features(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    return {"serverInfo": {"features": []}}


@operation("OrganizationCoreWeaveOrganizationID")
def _organization(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    return {"entity": {"organization": None}}


@operation("RunResumeStatus")
def _resume_status(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    run = state.runs.get(variables["name"])
    if run is None:
        return {"model": {**project_of(variables), "bucket": None}}
    tail = json.dumps([json.dumps(row) for row in run["history"][-1:]])
    bucket = {
        "id": identifier("Run", variables["name"]),
        "name": variables["name"],
        "summaryMetrics": json.dumps(run["summary"]),
        "displayName": run.get("displayName"),
        "logLineCount": 0,
        "historyLineCount": len(run["history"]),
        "eventsLineCount": 0,
        "historyTail": tail,
        "eventsTail": "[]",
        "config": json.dumps(run["config"]),
        "tags": run.get("tags") or [],
        "wandbConfig": json.dumps({"t": 1}),
    }
    return {"model": {**project_of(variables), "bucket": bucket}}


@operation("UpsertBucket")
def _upsert_run(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    name = variables["name"]
    is_new = name not in state.runs
    run = state.run(name)
    if variables.get("config"):
        run["config"] = json.loads(variables["config"])
    for key in ("groupName", "displayName", "tags", "sweep", "project"):
        if variables.get(key):
            run[key] = variables[key]
    bucket = {
        "id": identifier("Run", name),
        "name": name,
        "displayName": variables.get("displayName") or name,
        "description": None,
        "config": None,
        "sweepName": run.get("sweep"),
        "project": project_of(variables),
        "historyLineCount": len(run["history"]),
    }
    return {"upsertBucket": {"bucket": bucket, "inserted": is_new}}


@operation("CreateRunFiles")
def _create_run_files(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    run = variables["run"]
    files = [{"name": n, "uploadUrl": f"{base}/upload/{run}/{n}"} for n in variables["files"]]
    return {
        "createRunFiles": {"runID": identifier("Run", run), "uploadHeaders": [], "files": files}
    }


@operation("NotifyScriptableRunAlert")
def _alert(state: State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    state.alerts.append(variables)
    return {"notifyScriptableRunAlert": {"success": True}}
