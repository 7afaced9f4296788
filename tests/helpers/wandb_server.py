"""A server on this machine that answers W&B's real client, agent and workspaces, from memory.

It knows the GraphQL operations that these send, hands out the points of a grid to sweep agents,
and keeps what it was sent; `GET /state` returns that as JSON. It runs as a process of its own, so
that a test can kill it. Operations that it does not know are kept in `unknown`.
"""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import os
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
ENTITY = "someone"
KEY = "0123456789" * 4
_NOW = "2026-01-01T00:00:00Z"


class Server:
    """The server process, and what it was sent."""

    def __init__(self) -> None:
        """Start it on a free port."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.wandb_server"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """End the process as a power failure would."""
        self.process.kill()
        self.process.wait()

    def environment(self, folder: Path) -> dict[str, str]:
        """Return the variables by which W&B's client finds this server and leaves no trace."""
        return client_environment(folder) | {"WANDB_BASE_URL": self.url, "WANDB_API_KEY": KEY}

    def state(self) -> dict[str, Any]:
        """Return what was sent so far."""
        with urllib.request.urlopen(f"{self.url}/state", timeout=10) as answer:
            return json.load(answer)


def client_environment(folder: Path) -> dict[str, str]:
    """Return variables by which W&B finds no login and keeps its own files in a folder."""
    return {
        "NETRC": str(folder / "no-netrc"),
        "WANDB_DIR": str(folder),
        "WANDB_CONFIG_DIR": str(folder / "wandb-config"),
        "WANDB_CACHE_DIR": str(folder / "wandb-cache"),
        "WANDB_DATA_DIR": str(folder / "wandb-data"),
        "WANDB_ERROR_REPORTING": "false",
    }


class _State:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.runs: dict[str, dict[str, Any]] = {}
        self.sweeps: dict[str, dict[str, Any]] = {}
        self.agents: dict[str, str] = {}
        self.artifacts: dict[str, dict[str, Any]] = {}
        self.views: dict[str, dict[str, Any]] = {}
        self.uploads: dict[str, int] = {}
        self.alerts: list[dict[str, Any]] = []
        self.unknown: list[str] = []

    def to_json(self) -> bytes:
        names = ("runs", "sweeps", "artifacts", "views", "uploads", "alerts", "unknown")
        return json.dumps({name: getattr(self, name) for name in names}).encode()

    def run(self, name: str) -> dict[str, Any]:
        return self.runs.setdefault(
            name,
            {
                "config": {},
                "summary": {},
                "history": [],
                "exit_code": None,
                "order": len(self.runs),
            },
        )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: _State

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._answer(self.state.to_json() if self.path == "/state" else b"{}")

    def do_PUT(self) -> None:
        body = self._read()
        with self.state.lock:
            self.state.uploads[self.path.partition("?")[0]] = len(body)
        self._answer(b"{}")

    def do_POST(self) -> None:
        body = self._read()
        stream = re.fullmatch(r"/files/[^/]+/[^/]+/([^/]+)/file_stream", self.path)
        with self.state.lock:
            if stream:
                _take_stream(self.state.run(stream[1]), json.loads(body))
                answer: Any = {"exitcode": None, "limits": {}}
            elif self.path == "/graphql":
                answer = self._graphql(json.loads(body))
            else:
                answer = {}
        self._answer(json.dumps(answer).encode())

    def _graphql(self, request: dict[str, Any]) -> dict[str, Any]:
        found = re.search(r"(?:query|mutation)\s+(\w+)", request["query"])
        name = found[1] if found else "?"
        operation = OPERATIONS.get(name)
        if operation is None:
            self.state.unknown.append(name)
            return {"data": None, "errors": [{"message": f"unknown operation {name}"}]}
        base = f"http://{self.headers['Host']}"
        return {"data": operation(self.state, request.get("variables") or {}, base)}

    def _read(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = b""
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _take_stream(run: dict[str, Any], message: dict[str, Any]) -> None:
    """Take lines of a run's history and its last summary."""
    for name, part in (message.get("files") or {}).items():
        lines = [json.loads(line) for line in part.get("content", []) if line.strip()]
        if name == "wandb-history.jsonl":
            offset = part.get("offset", len(run["history"]))
            run["history"][offset:] = lines
        elif name == "wandb-summary.json" and lines:
            run["summary"] = lines[-1]
    if message.get("complete"):
        run["exit_code"] = message.get("exitcode")


Operation = Callable[[_State, dict[str, Any], str], dict[str, Any]]
OPERATIONS: dict[str, Operation] = {}


def _operation(*names: str) -> Callable[[Operation], Operation]:
    def register(function: Operation) -> Operation:
        OPERATIONS.update(dict.fromkeys(names, function))
        return function

    return register


def _id(kind: str, name: object) -> str:
    return base64.b64encode(f"{kind}:{name}".encode()).decode()


def _project(variables: dict[str, Any]) -> dict[str, Any]:
    name = variables.get("projectName") or variables.get("project") or variables.get("name")
    entity = {"id": _id("Entity", ENTITY), "name": ENTITY}
    return {"id": _id("Project", name), "name": name, "entity": entity}


@_operation("Viewer")
def _viewer(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    viewer = {
        "id": _id("User", 1),
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


@_operation("GetDefaultEntity")
def _default_entity(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    return {"viewer": {"id": _id("User", 1), "entity": ENTITY}}


@_operation("ServerFeaturesQuery")
def _features(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    return {"serverInfo": {"features": []}}


@_operation("OrganizationCoreWeaveOrganizationID")
def _organization(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    return {"entity": {"organization": None}}


@_operation("RunResumeStatus")
def _resume_status(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    run = state.runs.get(variables["name"])
    if run is None:
        return {"model": {**_project(variables), "bucket": None}}
    tail = json.dumps([json.dumps(row) for row in run["history"][-1:]])
    bucket = {
        "id": _id("Run", variables["name"]),
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
    return {"model": {**_project(variables), "bucket": bucket}}


@_operation("UpsertBucket")
def _upsert_run(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    name = variables["name"]
    is_new = name not in state.runs
    run = state.run(name)
    if variables.get("config"):
        run["config"] = json.loads(variables["config"])
    for key in ("groupName", "displayName", "tags", "sweep", "project"):
        if variables.get(key):
            run[key] = variables[key]
    bucket = {
        "id": _id("Run", name),
        "name": name,
        "displayName": variables.get("displayName") or name,
        "description": None,
        "config": None,
        "sweepName": run.get("sweep"),
        "project": _project(variables),
        "historyLineCount": len(run["history"]),
    }
    return {"upsertBucket": {"bucket": bucket, "inserted": is_new}}


@_operation("CreateRunFiles")
def _create_run_files(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    run = variables["run"]
    files = [{"name": n, "uploadUrl": f"{base}/upload/{run}/{n}"} for n in variables["files"]]
    return {"createRunFiles": {"runID": _id("Run", run), "uploadHeaders": [], "files": files}}


@_operation("NotifyScriptableRunAlert")
def _alert(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    state.alerts.append(variables)
    return {"notifyScriptableRunAlert": {"success": True}}


@_operation("CreateArtifact")
def _create_artifact(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    asked = variables["input"]
    name = _id("Artifact", len(state.artifacts) + 1)
    aliases = [alias["alias"] for alias in asked.get("aliases") or []]
    state.artifacts[name] = {
        "name": asked["artifactCollectionName"],
        "type": asked["artifactTypeName"],
        "run": asked.get("runName"),
        "aliases": aliases,
        "files": [],
        "state": "PENDING",
    }
    artifact = {"id": name, "state": "PENDING", "artifactSequence": {"latestArtifact": None}}
    return {"createArtifact": {"artifact": artifact}}


@_operation("CreateArtifactManifest", "UpdateArtifactManifest")
def _manifest(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    name = variables.get("artifactID") or variables["artifactManifestID"]
    file = {"id": _id("File", name), "uploadUrl": f"{base}/upload/manifest", "uploadHeaders": []}
    key = "createArtifactManifest" if "artifactID" in variables else "updateArtifactManifest"
    return {key: {"artifactManifest": {"id": name, "file": file}}}


@_operation("CreateArtifactFiles")
def _artifact_files(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    asked = variables.get("artifactFiles") or variables["input"]["artifactFiles"]
    edges = []
    for file in asked:
        artifact, name = file["artifactID"], file["name"]
        state.artifacts[artifact]["files"].append(name)
        node = {
            "storagePath": name,
            "uploadUrl": f"{base}/upload/artifact/{artifact}/{name}",
            "uploadHeaders": [],
            "uploadMultipartUrls": None,
            "artifact": {"id": artifact},
        }
        edges.append({"node": node})
    return {"createArtifactFiles": {"files": {"edges": edges}}}


@_operation("CommitArtifact")
def _commit_artifact(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    state.artifacts[variables["artifactID"]]["state"] = "COMMITTED"
    return {"commitArtifact": {"artifact": {"id": variables["artifactID"], "digest": "d"}}}


@_operation("ArtifactType")
def _artifact_type(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    return {"project": {"artifact": None}}


@_operation("ArtifactByID")
def _artifact(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    known = state.artifacts[variables["id"]]
    project = {**_project({"name": "gymnasium-solver"}), "internalId": _id("ProjectInternal", 1)}
    artifact = {
        "__typename": "Artifact",
        "id": variables["id"],
        "artifactSequence": {
            "__typename": "ArtifactSequence",
            "name": known["name"],
            "project": project,
        },
        "versionIndex": list(state.artifacts).index(variables["id"]),
        "artifactType": {"name": known["type"]},
        "ttlDurationSeconds": -2,
        "ttlIsInherited": True,
        "tags": [],
        "state": known["state"],
        "size": 1,
        "digest": "d",
        "fileCount": len(known["files"]),
        "createdAt": _NOW,
        "aliases": [],
    }
    absent = ("description", "metadata", "historyStep", "commitHash", "updatedAt")
    return {"artifact": artifact | dict.fromkeys(absent)}


@_operation("UpsertSweep")
def _upsert_sweep(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    name = f"sweep{len(state.sweeps) + 1}"
    state.sweeps[name] = {"config": yaml.safe_load(variables["config"]), "handed_out": []}
    sweep = {"name": name, "project": _project(variables)}
    return {"upsertSweep": {"sweep": sweep, "configValidationWarnings": []}}


@_operation("SweepWithRuns", "Sweep", "GetSweep")
def _sweep(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    name = variables.get("sweep") or variables.get("sweepName") or variables["name"]
    config = state.sweeps[name]["config"]
    sweep = {
        "id": _id("Sweep", name),
        "name": name,
        "method": config["method"],
        "state": "RUNNING",
        "description": None,
        "config": yaml.safe_dump(config),
        "createdAt": _NOW,
        "heartbeatAt": _NOW,
        "updatedAt": _NOW,
        "earlyStopJobRunning": False,
        "bestLoss": None,
        "controller": None,
        "scheduler": None,
        "runs": {"edges": []},
    }
    return {"project": {"sweep": sweep}}


@_operation("View")
def _view(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    node = state.views.get(variables["viewName"])
    return {"project": {"allViews": {"edges": [{"node": node}] if node else []}}}


@_operation("UpsertView2")
def _upsert_view(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    name = variables["name"]
    is_new = name not in state.views
    node = {"id": _id("View", name), "displayName": variables["displayName"]}
    state.views[name] = {**node, "spec": variables["spec"]}
    return {"upsertView": {"view": {"id": node["id"], "name": name}, "inserted": is_new}}


@_operation("Runs")
def _list_runs(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    """List the runs in the order in which they began, or backwards."""
    names = list(state.runs)[:: -1 if "-created" in variables["order"] else 1]
    edges = [{"node": _run_node(state, name), "cursor": name} for name in names]
    page = {"endCursor": None, "hasNextPage": False}
    runs = {"edges": edges, "pageInfo": page}
    return {"project": {"internalId": "1", "runCount": len(names), "readOnly": False, "runs": runs}}


def _run_node(state: _State, name: str) -> dict[str, Any]:
    run = state.runs[name]
    return {
        "id": _id("Run", name),
        "name": name,
        "displayName": run.get("displayName") or name,
        "projectId": "1",
        "state": "finished",
        "createdAt": _NOW,
        "heartbeatAt": _NOW,
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


@_operation("CreateAgent")
def _create_agent(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
    name = f"agent{len(state.agents) + 1}"
    state.agents[name] = variables["sweep"]
    return {"createAgent": {"agent": {"id": name}}}


@_operation("Heartbeat")
def _heartbeat(state: _State, variables: dict[str, Any], base: str) -> dict[str, Any]:
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


def main() -> None:
    """Serve until killed; the port is the first line of the output."""
    handler = type("Handler", (_Handler,), {"state": _State()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    print(server.server_address[1], flush=True)
    parent = os.getppid()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    while os.getppid() == parent:  # not longer than the tests
        threading.Event().wait(0.5)


if __name__ == "__main__":
    main()
