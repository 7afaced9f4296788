"""A Hub on the loopback interface: as much of its HTTP API as publishing and fetching need.

Repositories live in memory. A test can make requests fail, and let the server die at one of them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import urllib.parse
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import yaml

USER = "ann"
ORGANISATION = "lab"
WRITE_TOKEN = "hf_loopbackWriteTokenOfAnn"
READ_TOKEN = "hf_loopbackReadTokenOfAnn"

_LARGE = (".safetensors", ".mp4", ".onnx")
_CARD_MATTER = re.compile(r"^---\n(.*?)\n---", re.DOTALL)


@dataclass
class Repository:
    """A repository: every commit with all its files."""

    is_private: bool
    commits: list[tuple[str, str, dict[str, bytes]]] = field(default_factory=list)
    """(id, summary, files by name), oldest first."""

    @property
    def files(self) -> dict[str, bytes]:
        """The files of the newest commit."""
        return self.commits[-1][2]

    @property
    def head(self) -> str:
        """The newest commit."""
        return self.commits[-1][0]

    @property
    def summaries(self) -> list[str]:
        """First line of each commit, oldest first."""
        return [summary for _, summary, _ in self.commits]

    def commit(self, summary: str, files: dict[str, bytes]) -> str:
        """Add a commit that leaves the repository with these files."""
        text = repr((len(self.commits), summary, sorted(files.items())))
        commit = hashlib.sha1(text.encode()).hexdigest()
        self.commits.append((commit, summary, dict(files)))
        return commit

    def at(self, revision: str) -> tuple[str, dict[str, bytes]] | None:
        """Return a commit and its files."""
        if revision == "main":
            return self.head, self.files
        return next(((c, files) for c, _, files in self.commits if c == revision), None)

    @property
    def matter(self) -> dict[str, Any]:
        """Front matter of the card."""
        match = _CARD_MATTER.match(self.files.get("README.md", b"").decode())
        return yaml.safe_load(match[1]) if match else {}


class LoopbackHub:
    """The server; use it as a context manager.

    Attributes:
        repositories: By `<user>/<name>`.
        requests: `<method> <path>` of each request so far.
        failures: (pattern, status, times): requests that match fail so often.
        death: Pattern of the request at which the server dies without an answer.
    """

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.requests: list[str] = []
        self.failures: list[list[Any]] = []
        self.death: str | None = None
        self.objects: dict[str, bytes] = {}
        self.lock = threading.RLock()
        handler = type("Handler", (_Handler,), {"hub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.is_dead = False
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def fail(self, pattern: str, status: int, *, times: int = 1) -> None:
        """Let the next requests that match fail with a status."""
        self.failures.append([pattern, status, times])

    def die(self) -> None:
        """Answer nothing any more: new connections are refused, old ones closed."""
        self.is_dead = True
        self._server.socket.close()

    def __enter__(self) -> LoopbackHub:
        # Daemonic: a thread that answers may outlive its test.
        thread = threading.Thread(target=self._serve, daemon=True)
        thread.start()
        return self

    def _serve(self) -> None:
        self._server.serve_forever(poll_interval=0.01)

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: LoopbackHub

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def answer_request(self) -> None:
        hub = self.hub
        url = urllib.parse.urlsplit(self.path)
        self.route = urllib.parse.unquote(url.path)
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = f"{self.command} {self.route}"
        with hub.lock:
            if hub.is_dead or (hub.death is not None and re.search(hub.death, request)):
                hub.die()
                self.close_connection = True
                return
            hub.requests.append(request)
            for failure in hub.failures:
                if failure[2] > 0 and re.search(failure[0], request):
                    failure[2] -= 1
                    self.refuse(failure[1], "arranged by the test")
                    return
            self.dispatch(request)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer_request  # noqa: N815

    def dispatch(self, request: str) -> None:
        for pattern, name in _ROUTES.items():
            match = re.fullmatch(pattern, request)
            if match:
                getattr(self, name)(*match.groups())
                return
        self.refuse(404, f"no such address: {request}")

    def reply(self, content: Any = None, *, status: int = 200, **headers: str) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status: int, message: str, code: str = "") -> None:
        headers = {"X_Error_Message": message} | ({"X_Error_Code": code} if code else {})
        self.reply({"error": message}, status=status, **headers)

    @property
    def token(self) -> str | None:
        return (self.headers.get("Authorization") or "").removeprefix("Bearer ") or None

    def may_write(self, owner: str) -> bool:
        """Refuse a request that may not write, and say whether it may."""
        if self.token not in (WRITE_TOKEN, READ_TOKEN):
            self.refuse(401, "Invalid credentials in Authorization header")
            return False
        if self.token != WRITE_TOKEN or owner not in (USER, ORGANISATION):
            self.refuse(403, f'You don\'t have the rights to write under "{owner}"')
            return False
        return True

    def find(self, repo_id: str) -> Repository | None:
        """Return a repository that may be seen; refuse the request otherwise."""
        if self.token not in (None, WRITE_TOKEN, READ_TOKEN):
            self.refuse(401, "Invalid credentials in Authorization header")
            return None
        repository = self.hub.repositories.get(repo_id)
        if repository is None or (repository.is_private and self.token is None):
            self.refuse(404 if self.token else 401, "Repository not found", "RepoNotFound")
            return None
        return repository

    def whoami(self) -> None:
        if self.token not in (WRITE_TOKEN, READ_TOKEN):
            self.refuse(401, "Invalid username or password.")
            return
        self.reply({"type": "user", "name": USER, "orgs": [{"name": ORGANISATION}]})

    def create(self) -> None:
        wanted = json.loads(self.body)
        owner = wanted["organization"] or USER
        if not self.may_write(owner):
            return
        repo_id = f"{owner}/{wanted['name']}"
        url = f"{self.hub.endpoint}/{repo_id}"
        if repo_id in self.hub.repositories:
            self.reply({"error": "You already created this model repo", "url": url}, status=409)
            return
        repository = Repository(wanted.get("visibility") == "private")
        repository.commit("initial commit", {".gitattributes": b"*.mp4 filter=lfs\n"})
        self.hub.repositories[repo_id] = repository
        self.reply({"url": url, "id": repo_id, "name": repo_id})

    def delete(self) -> None:
        wanted = json.loads(self.body)
        owner = wanted["organization"] or USER
        if self.may_write(owner):
            del self.hub.repositories[f"{owner}/{wanted['name']}"]
            self.reply({})

    def validate_card(self) -> None:
        errors = []
        match = _CARD_MATTER.match(json.loads(self.body)["content"])
        matter = yaml.safe_load(match[1]) if match else None
        if not isinstance(matter, dict):
            errors.append("no front matter")
        else:
            if not all(isinstance(tag, str) for tag in matter.get("tags", [])):
                errors.append('"tags" must be an array of strings')
            for model in matter.get("model-index", []):
                errors += _faults_of_model(model)
        told = [{"message": error} for error in errors]
        self.reply({"errors": told, "warnings": []}, status=400 if errors else 200)

    def model_info(self, repo_id: str) -> None:
        repository = self.find(repo_id)
        if repository is None:
            return
        self.reply(
            {
                "id": repo_id,
                "sha": repository.head,
                "private": repository.is_private,
                "tags": repository.matter.get("tags", []),
                "library_name": repository.matter.get("library_name"),
                "siblings": [{"rfilename": name} for name in sorted(repository.files)],
            }
        )

    def preupload(self, repo_id: str) -> None:
        repository = self.find(repo_id)
        if repository is None or not self.may_write(repo_id.split("/")[0]):
            return
        files = []
        for wanted in json.loads(self.body)["files"]:
            name = wanted["path"]
            is_large, held = name.endswith(_LARGE), repository.files.get(name)
            oid = None if held is None else (_sha256(held) if is_large else _git_sha1(held))
            mode = "lfs" if is_large else "regular"
            files.append({"path": name, "uploadMode": mode, "shouldIgnore": False, "oid": oid})
        self.reply({"files": files})

    def large_files(self, repo_id: str) -> None:
        objects = []
        for wanted in json.loads(self.body)["objects"]:
            answer = {"oid": wanted["oid"], "size": wanted["size"]}
            if wanted["oid"] not in self.hub.objects:
                address = f"{self.hub.endpoint}/large/{wanted['oid']}"
                answer["actions"] = {"upload": {"href": address, "header": {}}}
            objects.append(answer)
        self.reply({"transfer": "basic", "objects": objects})

    def put_large(self, oid: str) -> None:
        assert _sha256(self.body) == oid
        self.hub.objects[oid] = self.body
        self.reply({})

    def commit(self, repo_id: str) -> None:
        repository = self.find(repo_id)
        if repository is None or not self.may_write(repo_id.split("/")[0]):
            return
        files, summary = dict(repository.files), ""
        for line in self.body.splitlines():
            entry = json.loads(line)
            value = entry["value"]
            match entry["key"]:
                case "header":
                    summary = value["summary"]
                    if value.get("parentCommit") not in (None, repository.head):
                        self.refuse(412, "A commit has happened since. Please refresh")
                        return
                case "file":
                    files[value["path"]] = base64.b64decode(value["content"])
                case "lfsFile":
                    files[value["path"]] = self.hub.objects[value["oid"]]
                case "deletedFile":
                    del files[value["path"]]
        commit = repository.commit(summary, files)
        url = f"{self.hub.endpoint}/{repo_id}/commit/{commit}"
        self.reply({"success": True, "commitOid": commit, "commitUrl": url})

    def file(self, repo_id: str, revision: str, name: str) -> None:
        repository = self.find(repo_id)
        if repository is None:
            return
        found = repository.at(revision)
        if found is None:
            self.refuse(404, "Revision not found", "RevisionNotFound")
        elif name not in found[1]:
            self.refuse(404, "Entry not found", "EntryNotFound")
        else:
            content = found[1][name]
            self.reply(content, ETag=f'"{_sha256(content)}"', X_Repo_Commit=found[0])


_ID = r"([\w.-]+/[\w.-]+)"
_ROUTES = {
    r"GET /api/whoami-v2": "whoami",
    r"POST /api/repos/create": "create",
    r"DELETE /api/repos/delete": "delete",
    r"POST /api/validate-yaml": "validate_card",
    rf"GET /api/models/{_ID}(?:/revision/main)?": "model_info",
    rf"POST /api/models/{_ID}/preupload/main": "preupload",
    rf"POST /api/models/{_ID}/commit/main": "commit",
    rf"POST /{_ID}\.git/info/lfs/objects/batch": "large_files",
    r"PUT /large/(\w{64})": "put_large",
    rf"(?:GET|HEAD) /{_ID}/resolve/([^/]+)/(.+)": "file",
}


def _faults_of_model(model: dict[str, Any]) -> list[str]:
    faults = []
    for result in model["results"]:
        for place, keys in {"task": ["type"], "dataset": ["type", "name"]}.items():
            faults += [
                f'"{place}.{key}" is missing' for key in keys if not result.get(place, {}).get(key)
            ]
        if not all({"type", "value"} <= metric.keys() for metric in result.get("metrics", [{}])):
            faults.append('"metrics" needs type and value')
    return faults


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _git_sha1(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
