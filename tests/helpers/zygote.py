"""A process that has loaded everything once and forks itself for each command of a test.

Starting Python and importing torch costs seconds; a fork costs milliseconds, and what it runs is
the command itself: its own process, session, output files, signals and exit code. Requests are
JSON lines on stdin, answers on stdout.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import signal
import sys
import threading
import traceback
from typing import Any, NoReturn

MODULES = (
    "agents.loading",
    "agents.ppo.ppo_agent",
    "agents.reinforce.reinforce_agent",
    "agents.training",
    "run_play",
    "run_publish",
    "train",
    "utils.playback.session",
    "utils.publishing.publication",
)
"""What the commands import sooner or later."""


def serve() -> None:
    """Answer requests until stdin ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "poll" in request:
            answer = _poll(request["poll"])
        else:
            for name in request["modules"]:
                importlib.import_module(name)
            sys.stdout.flush()
            pid = os.fork()
            if pid == 0:
                _become(request)
            answer = pid
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _poll(pid: int) -> int | None:
    """Return the exit code of a child, negative for a signal; None while it runs."""
    done, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


def _become(request: dict[str, Any]) -> NoReturn:
    """Turn this fork into the command, and leave with its exit code."""
    os.setsid()
    os.environ.update(request["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # The first terminal that the leader of a session opens is its own.
    for descriptor, path in ((0, request["in"]), (1, request["out"]), (2, request["err"])):
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(opened, descriptor)
        os.close(opened)
    try:
        _run(request)
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:  # noqa: BLE001 - like Python itself at the end of a program
        traceback.print_exc()
        code = 1
    # As Python leaves, but for taking every module apart, which takes a second after a fork.
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run(request: dict[str, Any]) -> None:
    program, *arguments = request["argv"]
    sys.argv = [f"{program}.py", *arguments]
    if not request["reports"]:
        import agents.training

        agents.training.write_report = lambda *args, **kwargs: None
    if request["fault"]:
        from tests.helpers.faults import arrange

        arrange(request["fault"])
    from utils.errors import exit_on_user_error

    exit_on_user_error(importlib.import_module(program).main)


if __name__ == "__main__":
    for name in MODULES:
        importlib.import_module(name)
    serve()
