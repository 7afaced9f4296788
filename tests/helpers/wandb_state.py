"""What the W&B server of the tests knows, and how its operations are registered."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from typing import Any

ENTITY = "someone"
NOW = "2026-01-01T00:00:00Z"


class State:
    """What the server was sent."""

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
        """Return all that a test may read."""
        names = ("runs", "sweeps", "artifacts", "views", "uploads", "alerts", "unknown")
        return json.dumps({name: getattr(self, name) for name in names}).encode()

    def run(self, name: str) -> dict[str, Any]:
        """Return a run, made where it is not known."""
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


Operation = Callable[[State, dict[str, Any], str], dict[str, Any]]
OPERATIONS: dict[str, Operation] = {}


def operation(*names: str) -> Callable[[Operation], Operation]:
    """Register what answers GraphQL operations of these names."""

    def register(function: Operation) -> Operation:
        OPERATIONS.update(dict.fromkeys(names, function))
        return function

    return register


def identifier(kind: str, name: object) -> str:
    """Return an id as W&B makes them."""
    return base64.b64encode(f"{kind}:{name}".encode()).decode()


def project_of(variables: dict[str, Any]) -> dict[str, Any]:
    """Return the project that an operation names."""
    name = variables.get("projectName") or variables.get("project") or variables.get("name")
    entity = {"id": identifier("Entity", ENTITY), "name": ENTITY}
    return {"id": identifier("Project", name), "name": name, "entity": entity}
