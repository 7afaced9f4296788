"""The proof that an exported program does what the policy does."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import gymnasium as gym
import numpy as np
import torch

from utils.errors import RunFailedError
from utils.export.program import NEXT_STATE, Named, PolicyProgram, join_observation
from utils.spaces import ActionAdapter

TOLERANCE = 1e-5
"""Greatest difference that is allowed, and of numbers above 1 the share of them."""

LARGEST_TOLERANCE = 1e-2
"""The same for numbers that rounding moves further, such as the mean of a wide distribution."""

_ROUNDINGS = 8
"""How many times further than one other rounding of the weights an output may be."""

_BATCHES = (1, 7, 256)
"""Rows that go through the program at once, in turn: any number must do."""

Arrays = dict[str, np.ndarray]


class ParityError(RunFailedError):
    """An exported program does not do what the policy does."""


@dataclass(frozen=True, slots=True)
class ParityReport:
    """How far an exported program is from the policy."""

    n: int
    """Observations that were compared."""
    differences: dict[str, float]
    """By output: the greatest absolute difference, of numbers above 1 relative to them."""
    allowed: dict[str, float] = field(default_factory=dict)
    """By output, where that is more than `TOLERANCE`."""

    @property
    def failures(self) -> list[str]:
        """Names of the outputs that differ by more than is allowed."""
        return [
            name
            for name, value in self.differences.items()
            if not value <= self.allowed.get(name, TOLERANCE)
        ]

    def lines(self) -> list[str]:
        """Return one line per output, for people."""
        width = max(map(len, self.differences))
        return [
            f"  {name:{width}}  {'equal' if value == 0 else f'{value:.1e}'}"
            for name, value in self.differences.items()
        ]


@torch.inference_mode()
def policy_outputs(program: PolicyProgram, inputs: Named, action_space: gym.Space) -> Arrays:
    """Return what the policy does on each row, the action by the way that play takes.

    Args:
        program: Around the policy.
        inputs: As of `collect_inputs`.
        action_space: Of one environment.
    """
    policy = program.policy
    outputs = {name: value.numpy() for name, value in program(dict(inputs)).items()}
    observation = policy.normalize(join_observation(inputs))
    step = policy.act(
        observation,
        deterministic=True,
        mask=inputs.get("action_mask"),
        state=inputs.get("state"),
    )
    outputs["action"] = ActionAdapter(action_space).to_env(step.action.numpy())
    if step.state is not None:
        outputs[NEXT_STATE] = step.state.numpy()
    return outputs


@torch.no_grad()
def tolerances(program: PolicyProgram, inputs: Named, expected: Arrays) -> dict[str, float]:
    """Return what may differ by more than `TOLERANCE`, and by how much.

    Some numbers are sensitive: the mean of a distribution over bins that grow exponentially moves
    by far more than its logits. So every weight is moved by one step of its type, up or down, and
    a multiple of what that does is allowed, up to `LARGEST_TOLERANCE`.

    Args:
        program: Around the policy.
        inputs: As of `collect_inputs`.
        expected: As of `policy_outputs`.
    """
    rounded = copy.deepcopy(program)
    generator = torch.Generator().manual_seed(0)
    for weight in rounded.parameters():
        up = torch.rand(weight.shape, generator=generator) < 0.5
        weight.nextafter_(torch.where(up, torch.inf, -torch.inf).to(weight.dtype))
    outputs = rounded(dict(inputs))
    allowed = {}
    for name, value in expected.items():
        if value.dtype.kind == "f" and name in outputs:
            moved = _ROUNDINGS * _difference(outputs[name].numpy(), value)
            if moved > TOLERANCE:
                allowed[name] = min(moved, LARGEST_TOLERANCE)
    return allowed


def check_parity(
    run: Callable[[Arrays], Mapping[str, np.ndarray]],
    inputs: Named,
    expected: Arrays,
    *,
    allowed: Mapping[str, float] | None = None,
) -> ParityReport:
    """Run an exported program on all inputs, in batches of several sizes, and compare.

    Args:
        run: The program, as it was read back from what will be its file.
        inputs: By name, n rows each.
        expected: By output, n rows each.
        allowed: See `tolerances`.

    Raises:
        ParityError: An output is missing or differs; the message names each.
    """
    arrays = {name: value.numpy() for name, value in inputs.items()}
    outputs = _run_in_batches(run, arrays)
    if outputs.keys() != expected.keys():
        raise ParityError(
            f"the exported program has the outputs {', '.join(outputs)}, not {', '.join(expected)}"
        )
    n = len(next(iter(arrays.values())))
    differences = {name: _difference(outputs[name], expected[name]) for name in expected}
    report = ParityReport(n, differences, dict(allowed or {}))
    if report.failures:
        raise ParityError(
            f"the exported program differs from torch on {n:,} observations, so it was not kept: "
            + ", ".join(f"{name} by {report.differences[name]:.1e}" for name in report.failures)
            + f" (allowed are {report.allowed.get(report.failures[0], TOLERANCE):.0e})"
        )
    return report


def _run_in_batches(run: Callable[[Arrays], Mapping[str, np.ndarray]], inputs: Arrays) -> Arrays:
    n = len(next(iter(inputs.values())))
    rows: dict[str, list[np.ndarray]] = {}
    start = turn = 0
    while start < n:
        stop = start + _BATCHES[turn % len(_BATCHES)]
        for name, value in run({k: v[start:stop] for k, v in inputs.items()}).items():
            rows.setdefault(name, []).append(value)
        start, turn = stop, turn + 1
    return {name: np.concatenate(values) for name, values in rows.items()}


def _difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the greatest difference; infinite where shapes differ, or whole numbers do."""
    if ours.shape != theirs.shape:
        return float("inf")
    if theirs.dtype.kind != "f":
        return 0.0 if np.array_equal(ours, theirs) else float("inf")
    differs = ours != theirs  # a forbidden action's value is minus infinity in both
    ours, theirs = ours[differs].astype(np.float64), theirs[differs].astype(np.float64)
    size = np.where(np.isfinite(theirs), np.maximum(np.abs(theirs), 1.0), 1.0)
    return float(np.max(np.abs(ours - theirs) / size, initial=0.0))
