"""Waiting for W&B's service process, with bounds that hold whatever it does."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

FINISH_SECONDS = 8.0
"""How long the end of a run may take."""
_PROBE_SECONDS = 3.0
_BLOCK_BYTES = 1 << 17


def upload_fault(run: Any, artifact: Any, aliases: list[str], *, seconds: float) -> str | None:
    """Log an artifact and wait until the server has it; returns what went wrong.

    W&B's own waits have no bound that can be set: a thread does the waiting, and a server that does
    not answer at all is not asked, because W&B would go on asking at the end of the run.
    """
    import wandb
    from wandb.sdk.mailbox import HandleAbandonedError

    if not _answers(run.settings.base_url):
        return "no answer"
    fault = [f"no answer within {seconds:.0f} s"]

    def work() -> None:
        try:
            run.log_artifact(artifact, aliases=aliases).wait()
        except (wandb.errors.Error, ValueError, HandleAbandonedError) as error:
            fault[0] = first_line(error)
        else:
            fault.clear()

    _wait_for(work, seconds)
    return fault[0] if fault else None


def _answers(url: str) -> bool:
    """Say whether anything answers at an address."""
    try:
        with urllib.request.urlopen(url, timeout=_PROBE_SECONDS):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def finish(run: Any, exit_code: int) -> bool:
    """Finish a run in bounded time; says whether everything was sent."""
    import wandb
    from wandb.sdk.mailbox import HandleAbandonedError

    if not run.offline and not run.disabled and not _answers(run.settings.base_url):
        # The service writes its file in blocks, and the last one only at a proper end, to which it
        # does not come now. A long blank line in the log pushes out what is in it.
        run.write_logs(" " * _BLOCK_BYTES)
    is_sent = [False]

    def work() -> None:
        with contextlib.suppress(TimeoutError, ConnectionError, HandleAbandonedError):
            run.finish(exit_code=exit_code)
            is_sent[0] = True

    if not _wait_for(work, FINISH_SECONDS + _PROBE_SECONDS):
        # W&B's service does not keep its own bound while a server does not answer, and would hold
        # the end of this process too. What is left is in its file.
        _kill_service()
        # W&B would end this process too, with the exit code of its service.
        with contextlib.suppress(ConnectionError, HandleAbandonedError, SystemExit):
            wandb.teardown()
    return is_sent[0]


def _wait_for(work: Callable[[], None], seconds: float) -> bool:
    """Let a thread do something and wait so long; says whether it is done."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


def _kill_service() -> None:
    """Kill the service process that W&B has started for this process (where /proc lists it)."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            is_service = "wandb-core" in (entry / "comm").read_text()
        except OSError:
            continue
        if is_service and int(fields[1]) == os.getpid():
            os.kill(int(entry.name), signal.SIGKILL)


def first_line(error: Exception) -> str:
    """Return the first line of what an error says."""
    return str(error).partition("\n")[0] or type(error).__name__
