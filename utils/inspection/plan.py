"""What one call of run_inspect.py will show and where, before anything heavy is imported."""

from __future__ import annotations

import errno
import importlib.util
import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path

from utils.config import load_config_json
from utils.errors import MissingDependencyError, UserError
from utils.inspection.cli import InspectArgs
from utils.run import Run, split_reference


@dataclass(frozen=True, kw_only=True, slots=True)
class InspectPlan:
    """A run that exists, and a port that is ours."""

    run: Run
    """The run that the page opens with."""
    checkpoint: str | None
    """Its checkpoint that the page opens with, `epoch=XX`; None for the best, or else the last."""
    runs_dir: Path
    """Absolute; the page lists its runs."""
    listener: socket.socket
    """Bound to the address of the page, so that no other program can take it meanwhile."""

    @property
    def address(self) -> str:
        """The page's URL as one types it on this machine."""
        host, port = self.listener.getsockname()[:2]
        if ipaddress.ip_address(host).is_unspecified:
            host = "127.0.0.1" if self.listener.family == socket.AF_INET else "::1"
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    @property
    def is_loopback(self) -> bool:
        """Whether nobody but this machine reaches the page."""
        return ipaddress.ip_address(self.listener.getsockname()[0]).is_loopback

    @property
    def warnings(self) -> list[str]:
        """What the person should know, one line each."""
        if self.is_loopback:
            return []
        host, port = self.listener.getsockname()[:2]
        return [
            f"whoever reaches {host} at port {port} can watch the runs in '{self.runs_dir}' and "
            "let them play: there is no password (--host)"
        ]


def plan_inspect(args: InspectArgs) -> InspectPlan:
    """Find the run and take the port.

    Raises:
        UserError: The run or the checkpoint does not exist, its config cannot be read, Gradio is
            not installed, or the port is not to be had.
    """
    if importlib.util.find_spec("gradio") is None:
        raise MissingDependencyError("gradio", extra="inspect", needed_for="run_inspect.py")
    reference, name = split_reference(args.run)
    run = Run.open(reference, runs_dir=args.runs_dir)
    run = Run(run.path.resolve())
    load_config_json(run.config_path)
    checkpoint = None if name is None else run.checkpoint(name).stem
    return InspectPlan(
        run=run,
        checkpoint=checkpoint,
        runs_dir=args.runs_dir.resolve(),
        listener=_listen(args.host, args.port),
    )


def _listen(host: str, port: int) -> socket.socket:
    """Bind a socket to the address.

    Raises:
        UserError: It is in use, forbidden, or not an address of this machine.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise UserError(f"--host {host}: this is no address ({error.strerror})") from error
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen()
    except OSError as error:
        listener.close()
        raise UserError(_why_not(host, port, error)) from error
    return listener


def _why_not(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"--port {port}: another program uses this port; choose another one, or --port 0 for "
            "one that is free"
        )
    if error.errno == errno.EACCES:
        return f"--port {port}: this port is reserved for the system; choose one above 1023"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"--host {host}: this machine has no such address"
    return f"--host {host} --port {port}: {error.strerror}"
