"""How much faster several processes train than one, with as much work for each."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.errors import RunFailedError, UserError
from utils.loggers.jsonl import read_jsonl
from utils.text_tables import format_table

_ROOT = Path(__file__).resolve().parents[2]
_KEY = "train/time/steps_per_second"
_COUNTED = 0.5
"""Share of the epochs, the last ones, that count: the first ones compile and warm up."""
_START_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Case:
    """A config, and what grows with the number of processes."""

    config_id: str
    n_envs: Mapping[str, int]
    """Environments of each process, by device."""
    batch_size: int | float
    """Rows that each process has of a minibatch; a fraction is one of the rollout of all."""
    settings: Mapping[str, Any]


_DREAMER_12M = {
    "policy_kwargs": {
        "size": "12M",
        "choices": 32,
        "bins": 255,
        **dict.fromkeys(("encoder_layers", "decoder_layers", "actor_layers", "critic_layers"), 3),
    },
    "sequence_length": 64,
    "train_ratio": 512,
    "imagination_horizon": 15,
    "steps_per_epoch": 16,
    "buffer_steps": 100_000,
    "save_replay": False,
}
"""The published shapes and pace of a small task: 8 updates of 16 x 64 for 16 environments' step."""

CASES = {
    "cartpole": Case(
        "CartPole-v1:ppo_gpu", {"cuda": 65536, "cpu": 512}, 0.25, {"rollouts_per_epoch": 32}
    ),
    "simd": Case("CartPole-v1:ppo_simd", {"cuda": 1024, "cpu": 256}, 0.25, {"n_steps": 32}),
    "dreamer": Case("CartPole-v1:dreamer", {"cuda": 16, "cpu": 16}, 16, _DREAMER_12M),
}
"""By name. Environments and minibatches grow with the processes, so each always has as much."""


@dataclass(frozen=True, slots=True)
class ScalingFigure:
    """What one case came to with some processes."""

    case: str
    size: int
    device: str
    n_envs: int
    steps_per_second: float
    """Environment steps of the whole training, median over its last epochs."""
    n_epochs: int

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as JSON values."""
        return dataclasses.asdict(self)


def command_of(case: Case, size: int, *, device: str, runs_dir: Path) -> list[str]:
    """Return the training of a case by some processes, as a person would type it."""
    batch_size = case.batch_size
    settings = {
        "n_envs": case.n_envs[device] * size,
        "batch_size": batch_size * size if isinstance(batch_size, int) else batch_size,
        "device": device,
        "max_timesteps": 10**12,
        "early_stop_on_eval_reward": False,
        "eval_freq_timesteps": 10**12,
        "video": "none",
        "test_episodes": 0,
        **case.settings,
    }
    pairs = [
        f"{key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in settings.items()
    ]
    sets = [part for pair in pairs for part in ("--set", pair)]
    train = [sys.executable, str(_ROOT / "train.py"), case.config_id, "-q", *sets]
    return [*train, "--runs-dir", str(runs_dir), "--devices", str(size)]


def measure_scaling(name: str, size: int, *, device: str, seconds: float) -> ScalingFigure:
    """Train for so many seconds and read the speed of the last epochs.

    Args:
        name: Of `CASES`.
        size: Processes, >= 1.
        device: "cuda" or "cpu".
        seconds: From the first epoch on.

    Raises:
        UserError: There are fewer GPUs.
        RunFailedError: The training failed; its own words are in the message.
    """
    case = CASES[name]
    if device == "cuda":
        import torch

        n_gpus = torch.cuda.device_count()
        if n_gpus < size:
            raise UserError(f"--sizes {size}: there are {n_gpus} GPUs here; try --device cpu")
    with tempfile.TemporaryDirectory(prefix="scaling-") as folder:
        speeds = _speeds(command_of(case, size, device=device, runs_dir=Path(folder)), seconds)
    counted = speeds[-max(1, int(_COUNTED * len(speeds))) :]
    n_envs = case.n_envs[device] * size
    return ScalingFigure(name, size, device, n_envs, statistics.median(counted), len(counted))


def _speeds(command: list[str], seconds: float) -> list[float]:
    """Run a training for a while and return the steps per second of its epochs."""
    folder = Path(command[command.index("--runs-dir") + 1])
    with (folder / "messages").open("wb") as messages:
        process = subprocess.Popen(
            command,
            env={"OMP_NUM_THREADS": "1", **os.environ},
            stdout=subprocess.DEVNULL,
            stderr=messages,
        )
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not (rows := _rows(folder)) and process.poll() is None:
            if time.monotonic() > deadline:
                raise RunFailedError(f"no epoch after {_START_SECONDS:.0f} s")
            time.sleep(0.1)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.1)
        if process.poll() is not None:
            said = (folder / "messages").read_text(errors="replace").strip()
            raise RunFailedError(
                f"the training ended with code {process.returncode}: {said[-500:]}"
            )
        rows = _rows(folder)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    return [row[_KEY] for row in rows if _KEY in row]


def _rows(folder: Path) -> list[dict[str, Any]]:
    found = list(folder.glob("*/metrics.jsonl"))
    return read_jsonl(found[0]) if found else []


def scaling_table(figures: Sequence[ScalingFigure]) -> str:
    """Return a table of the figures, each beside the first of its case."""
    rows = []
    for figure in figures:
        first = next(other for other in figures if other.case == figure.case)
        speedup = figure.steps_per_second / first.steps_per_second
        rows.append(
            (
                figure.case,
                str(figure.size),
                figure.device,
                f"{figure.n_envs:,}",
                f"{figure.steps_per_second:,.0f}",
                f"{speedup:.2f}x",
                f"{speedup * first.size / figure.size:.0%}",
            )
        )
    header = ("case", "processes", "device", "environments", "steps/s", "speed-up", "efficiency")
    return format_table(header, rows)
