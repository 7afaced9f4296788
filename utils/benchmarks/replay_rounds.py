"""Where the time of training from replay goes: updates, collecting, environments."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

_N_WARM_UPS = 3
"""Rounds before anything is measured: what is captured or compiled is ready then."""


class RoundTiming(NamedTuple):
    """What was measured of one agent; lists have one number for each window."""

    update: list[float]
    """Milliseconds of an update, back to back, until the device is done."""
    launch: list[float]
    """Milliseconds until the host has asked for it."""
    collect: list[float]
    """Milliseconds of a vector step: choosing, stepping, storing, until the device is done."""
    environment: list[float]
    """Milliseconds of it that the environments take."""
    steps_per_second: list[float]
    """Timesteps a second of rounds of collecting and learning as training has them."""
    first_seconds: float
    """Until the first round is done."""
    peak_gib: float
    """Most memory of the device; 0 on the CPU."""


def time_rounds(agent: Any, *, n_windows: int, n_rounds: int, n_stored: int) -> RoundTiming:
    """Time updates, vector steps and whole rounds of an agent that learns from replay.

    Args:
        agent: A `ReplayAgent` that has not begun.
        n_windows: Measurements.
        n_rounds: Rounds of each, in which the replay ratio says how many updates are made.
        n_stored: Transitions that are stored before.
    """
    from utils.dataloaders import Round

    config, device = agent.config, agent.compute_device
    n_vec_steps = config.train_every_vec_steps
    n_updates = max(1, round(n_vec_steps * config.n_envs * float(config.exact_replay_ratio)))
    due = Round(n_vec_steps, n_updates=n_updates, hooks=("update",))
    agent.source.reset(seed=0)
    agent.source.collect(Round(-(-n_stored // config.n_envs), is_random=True))

    started = time.perf_counter()
    agent.carry_out(due)
    _wait(device)
    first = time.perf_counter() - started
    for _ in range(_N_WARM_UPS):
        agent.carry_out(due)
    rows = []
    for _ in range(n_windows):
        update, launch = _time(lambda: agent.make_updates(n_updates), n_rounds, device)
        environment = _Stopwatch(agent.train_env)
        with environment:
            collect, _ = _time(lambda: agent.source.collect(due), n_rounds, device)
        whole, _ = _time(lambda: agent.carry_out(due), n_rounds, device)
        rows.append(
            (
                update / n_updates,
                launch / n_updates,
                collect / n_vec_steps,
                environment.milliseconds / n_vec_steps / n_rounds,
                1e3 * n_vec_steps * config.n_envs / whole,
            )
        )
        _, diverged = agent.log.flush()
        assert diverged is None, diverged
    is_cuda = device.type == "cuda"
    peak = torch.cuda.max_memory_allocated() / 2**30 if is_cuda else 0.0
    columns = (list(column) for column in zip(*rows, strict=True))
    return RoundTiming(*columns, first_seconds=first, peak_gib=peak)


def profile_updates(agent: Any, *, n_updates: int = 10) -> list[tuple[str, float, float]]:
    """Return what a GPU does in an update: kernel, calls and microseconds of each, slowest first.

    Args:
        agent: Has made updates; lives on a GPU.
        n_updates: That are looked at.
    """
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        agent.make_updates(n_updates)
        torch.cuda.synchronize()
    table = [
        (event.key, event.count / n_updates, event.self_device_time_total / n_updates)
        for event in profiler.key_averages()
        if event.self_device_time_total > 0
    ]
    return sorted(table, key=lambda row: -row[2])


class _Stopwatch:
    """Measures the time that a vector environment takes for its steps."""

    def __init__(self, env: Any) -> None:
        """Measure `env` while this is entered."""
        self._env = env
        self._names = ("send", "recv") if hasattr(env, "send") else ("step",)
        self.milliseconds = 0.0

    def __enter__(self) -> None:
        for name in self._names:
            setattr(self._env, name, self._timed(getattr(self._env, name)))

    def __exit__(self, *_: object) -> None:
        for name in self._names:
            delattr(self._env, name)  # that of the class is there again

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any) -> Any:
            started = time.perf_counter()
            result = call(*args)
            self.milliseconds += 1e3 * (time.perf_counter() - started)
            return result

        return timed


def _time(work: Callable[[], None], n: int, device: torch.device) -> tuple[float, float]:
    """Return milliseconds of a call: until the device is done, and until the host is."""
    _wait(device)
    started = time.perf_counter()
    for _ in range(n):
        work()
    launched = time.perf_counter()
    _wait(device)
    return 1e3 * (time.perf_counter() - started) / n, 1e3 * (launched - started) / n


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()
