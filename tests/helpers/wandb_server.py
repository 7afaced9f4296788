"""A server on this machine that answers W&B's real client, agent and workspaces, from memory.

It knows the GraphQL operations that these send, hands out the points of a grid to sweep agents,
and keeps what it was sent; `GET /state` returns that as JSON. It runs as a process of its own, so
that a test can kill it. Operations that it does not know are kept in `unknown`.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import subprocess
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.helpers import (  # noqa: F401 - what they register
    wandb_artifact_operations,
    wandb_run_operations,
    wandb_sweep_operations,
    wandb_view_operations,
)
from tests.helpers.wandb_state import OPERATIONS, State

ROOT = Path(__file__).resolve().parents[2]
KEY = "0123456789" * 4


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
        with urllib.request.urlopen(f"{self.url}/state", timeout=60) as answer:
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


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: State

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

    def handle(self) -> None:
        """Answer one client; it may be killed at any moment."""
        with contextlib.suppress(ConnectionError):
            super().handle()

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _take_stream(run: dict[str, Any], message: dict[str, Any]) -> None:
    """Take lines of a run's history and its last summary."""
    for name, part in (message.get("files") or {}).items():
        if not name.endswith((".json", ".jsonl")):  # what a process has printed
            continue
        lines = [json.loads(line) for line in part.get("content", []) if line.strip()]
        if name == "wandb-history.jsonl":
            offset = part.get("offset", len(run["history"]))
            run["history"][offset:] = lines
        elif name == "wandb-summary.json" and lines:
            run["summary"] = lines[-1]
    if message.get("complete"):
        run["exit_code"] = message.get("exitcode")


def main() -> None:
    """Serve until killed; the port is the first line of the output."""
    handler = type("Handler", (_Handler,), {"state": State()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    print(server.server_address[1], flush=True)
    parent = os.getppid()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    while os.getppid() == parent:  # not longer than the tests
        threading.Event().wait(0.5)


if __name__ == "__main__":
    main()
