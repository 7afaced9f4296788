"""Weights & Biases, an optional extra: offline when there is no key, bounded in time at the end."""

from __future__ import annotations

import netrc
import os
import shlex
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typing_extensions import override

from utils.errors import MissingDependencyError, UserError
from utils.loggers.log_writer import EPOCH_KEY, TIMESTEPS_KEY
from utils.loggers.tracker import VIDEO_KEY, Past, RunResult, Tracker, tell
from utils.loggers.wandb_file import last_epoch, run_folders
from utils.loggers.wandb_service import FINISH_SECONDS, finish, first_line, upload_fault
from utils.metrics.monitor import Alert
from utils.storage import read_json, write_bytes, write_json

_KEY_VARIABLES = ("WANDB_MODE", "WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE")
_SWEEP_VARIABLE = "WANDB_SWEEP_ID"
_INIT_SECONDS = 20.0
_UPLOAD_SECONDS = 5.0
"""Wait for one checkpoint, beside the time that its size takes at `_UPLOAD_BYTES_PER_SECOND`."""
_UPLOAD_BYTES_PER_SECOND = 1e6
_ALERT_SECONDS = 300
_NO_ANSWER = ("retrying", "deadline exceeded")
"""How W&B tells that a server is not there, or takes a connection and says nothing."""
_KILLED = 255
"""The exit code by which W&B shows a run as killed rather than failed."""


class WandbWriter(Tracker):
    """Log one row per epoch; the declared step of every metric is the number of timesteps.

    W&B itself prints nothing; where the run is to be found is told in one line. W&B's own step only
    counts the calls, so that rows of a resumed run are never refused as older than what is there;
    rows that W&B has already are not sent again.
    """

    def __init__(
        self,
        *,
        project: str,
        run_id: str,
        run_dir: Path,
        config_dict: Mapping[str, Any],
        past: Past | None = None,
    ) -> None:
        """Start or continue the run in W&B; a run that a sweep has started is used as it is.

        Args:
            project: Name of the project; a sweep's own project wins.
            run_id: Name of the run's folder; resuming it continues the same W&B run.
            run_dir: The run's folder; W&B keeps its files in it, and `wandb.json` says which W&B
                run it is.
            config_dict: The whole config as JSON values.
            past: What a resumed run wrote before.

        Raises:
            MissingDependencyError: The package `wandb` is not installed.
            UserError: W&B refuses the key, the project or the run.
        """
        try:
            import wandb
        except ImportError as error:
            raise MissingDependencyError(
                "wandb", extra="wandb", needed_for="the tracker wandb"
            ) from error
        self._record_path = run_dir / "wandb.json"
        known = read_json(self._record_path) or {}
        options: dict[str, Any] = {
            "dir": str(run_dir),
            "name": run_id,
            "group": os.environ.get("WANDB_RUN_GROUP") or config_dict.get("config_id"),
            "tags": [str(config_dict[key]) for key in ("env_id", "algo_id") if key in config_dict],
            "notes": config_dict.get("description") or None,
            "config": dict(config_dict),
            "resume": "allow",
        }
        if not os.environ.get(_SWEEP_VARIABLE):  # which names its runs itself
            options |= {"project": project, "id": known.get("id", run_id)}
            options |= {"entity": known["entity"]} if known.get("entity") else {}
        self._exit_code = 0
        self._run: Any = wandb.run or _start(wandb, options)
        self._run.define_metric(TIMESTEPS_KEY)
        self._run.define_metric("*", step_metric=TIMESTEPS_KEY)
        self._note_identity()
        past = past or Past()
        self._logged_epochs = self._find_logged_epochs(past)
        past.send_again(self, after_epoch=self._logged_epochs)

    @override
    def write(self, row: Mapping[str, float], *, epoch: int, timesteps: int) -> None:
        """Log the row of one epoch; see `LogWriter`."""
        if epoch > self._logged_epochs:
            self._run.log({**row, EPOCH_KEY: epoch, TIMESTEPS_KEY: timesteps})

    @override
    def write_video(self, path: Path, *, timesteps: int) -> None:
        """Log a finished video; it becomes part of the next row, or one of its own at the end."""
        import wandb

        video = wandb.Video(str(path), caption=path.stem, format="mp4")
        self._run.log({VIDEO_KEY: video, TIMESTEPS_KEY: timesteps}, commit=False)

    @override
    def alert(self, alert: Alert) -> None:
        """Send an alert, by whatever way the person has chosen in W&B."""
        self._run.alert(
            title=alert.key,
            text=f"{alert.message} ({alert.value:g}, {alert.bound}, epoch {alert.epoch})",
            level="WARN",
            wait_duration=_ALERT_SECONDS,
        )

    @override
    def write_result(self, result: RunResult) -> None:
        """Write the summary, and the checkpoints as versions of one artifact."""
        # The last row may be that of a film of an earlier policy.
        reached = {TIMESTEPS_KEY: result.summary.get("train/total/timesteps")}
        known = {key: value for key, value in reached.items() if value is not None}
        self._run.summary.update({**result.summary, **known})
        self._exit_code = _KILLED if result.is_interrupted else 0
        if self._run.disabled:
            return
        aliases: dict[Path, list[str]] = {}
        for name, path in result.checkpoints.items():
            aliases.setdefault(path, []).append(name)
        for path, names in aliases.items():
            fault = self._write_checkpoint(path, names, result.config_path)
            if fault is not None:  # nobody answers: the others would wait as long
                put = f"wandb artifact put --type model --name {self._artifact_name}"
                folder = shlex.quote(_shown(path.parent))
                tell(f"W&B: checkpoints were not taken ({fault}); send them with: {put} {folder}")
                break

    @override
    def mark_failed(self) -> None:
        """Let W&B show the run as failed."""
        self._exit_code = 1

    @override
    def truncate_after(self, epoch: int) -> None:
        """Do nothing: W&B keeps what it was given, and `write` passes over what it has."""

    @override
    def close(self) -> None:
        """Finish the run; waits a few seconds at most and tells what was left behind."""
        if self._run is None:
            return
        run, self._run = self._run, None
        if not finish(run, self._exit_code):
            tell(
                f"W&B: not all was sent within {FINISH_SECONDS:g} s; it is kept here, send it "
                f"with: {sync_command(_sync_dir(run))}"
            )

    def _find_logged_epochs(self, past: Past) -> int:
        """Return the epochs whose rows W&B has: it knows best itself, where it can be asked."""
        if self._run.offline:  # the files of the earlier processes have them, but for a killed one
            return min(past.last_epoch, last_epoch(self._record_path.parent))
        return int(self._run.summary.get(EPOCH_KEY) or 0) if self._run.resumed else 0

    def _note_identity(self) -> None:
        run = self._run
        write_json(
            self._record_path,
            {"id": run.id, "entity": run.entity or None, "project": run.project, "url": run.url},
        )
        if run.disabled:
            tell("W&B: switched off by WANDB_MODE=disabled")
        elif run.offline:
            why = "" if has_key() else "no key (wandb login), so "
            folders = run_folders(self._record_path.parent, "offline-run-*")
            tell(f"W&B: {why}offline; send it later with: {sync_command(*folders)}")
        else:
            tell(f"W&B: {run.url}")

    @property
    def _artifact_name(self) -> str:
        return f"{self._run.project}/checkpoint-{self._run.id}"

    def _write_checkpoint(self, path: Path, names: list[str], config_path: Path) -> str | None:
        """Log a checkpoint as what run_play.py opens: a run folder. Returns what went wrong."""
        import wandb

        artifact = wandb.Artifact(
            self._artifact_name.rpartition("/")[2],
            type="model",
            metadata=read_json(path.with_suffix(".json")) or {},
        )
        pointer = _sync_dir(self._run) / f"{path.stem}.pointer"
        write_bytes(pointer, f"checkpoint pointer: {path.name}\n".encode())
        files = {f"checkpoints/{name}.ckpt": pointer for name in (*names, "last")}
        files |= {config_path.name: config_path, f"checkpoints/{path.name}": path}
        for name, file in files.items():  # none changes any more, so nothing is copied
            artifact.add_file(str(file), name=name, policy="immutable", skip_cache=True)
        if self._run.offline:
            self._run.log_artifact(artifact, aliases=names)
            return None
        seconds = _UPLOAD_SECONDS + path.stat().st_size / _UPLOAD_BYTES_PER_SECOND
        return upload_fault(self._run, artifact, names, seconds=seconds)


def has_key() -> bool:
    """Say whether W&B is set up: by a mode, a key in the environment, or `wandb login`."""
    if any(os.environ.get(name) for name in _KEY_VARIABLES):
        return True
    url = os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")
    path = Path(os.environ.get("NETRC", Path.home() / ".netrc"))
    try:
        return (
            netrc.netrc(path).authenticators(urllib.parse.urlsplit(url).hostname or "") is not None
        )
    except (OSError, netrc.NetrcParseError):
        return False


def sync_command(*folders: Path) -> str:
    """Return the command that sends what W&B folders hold.

    Args:
        folders: Of offline runs, or of an online one that could not send everything.
    """
    is_online = any(folder.name.startswith("run-") for folder in folders)
    flag = "--no-skip-online " if is_online else ""
    return f"wandb sync {flag}{' '.join(shlex.quote(_shown(folder)) for folder in folders)}"


def _shown(path: Path) -> str:
    """Return a path as a person types it here."""
    is_below = path.resolve().is_relative_to(Path.cwd())
    return os.path.relpath(path) if is_below else str(path)


def _start(wandb: Any, options: dict[str, Any]) -> Any:
    """Start the run, offline where there is no key or nobody answers."""
    settings = wandb.Settings(
        init_timeout=_INIT_SECONDS,
        finish_timeout=FINISH_SECONDS,
        finish_timeout_raises=True,
        console="off",
        silent=True,
    )
    try:
        _silence(wandb)
        return wandb.init(mode=None if has_key() else "offline", settings=settings, **options)
    except wandb.errors.CommError as error:
        is_silent = isinstance(error.__cause__, TimeoutError)
        if not is_silent and not any(words in str(error) for words in _NO_ANSWER):
            raise _refusal(error) from error
        tell(f"W&B: no answer within {_INIT_SECONDS:g} s, so this run stays offline")
    except wandb.errors.Error as error:
        raise _refusal(error) from error
    except ValueError as error:  # a variable such as WANDB_MODE holds what W&B does not know
        words = " ".join(str(error).partition(" [type=")[0].split()[5:])
        raise UserError(f"a WANDB_... environment variable is not valid: {words}") from error
    wandb.teardown()  # which holds the run as one that is about to start
    _silence(wandb)
    return wandb.init(mode="offline", settings=settings, **options)


def _silence(wandb: Any) -> None:
    """Silence W&B itself; the settings of a run hold for the run only."""
    wandb.setup(settings=wandb.Settings(silent=True))


def _refusal(error: Exception) -> UserError:
    return UserError(
        f"Weights & Biases cannot start: {first_line(error)}; "
        "WANDB_MODE=offline keeps the data here"
    )


def _sync_dir(run: Any) -> Path:
    return Path(run.settings.sync_dir)
