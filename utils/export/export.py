"""Exports a policy and compares what came of it with the policy itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from gymnasium.vector import VectorEnv

from utils.export.cli import ExportFormat
from utils.export.metadata import describe_program
from utils.export.parity import (
    ParityError,
    ParityReport,
    check_parity,
    policy_outputs,
    tolerances,
)
from utils.export.program import PolicyProgram
from utils.export.samples import collect_inputs
from utils.policies.plan_trace import Planner
from utils.seeding import derive_seed

N_OBSERVATIONS = 1000
"""Rows on which an export is compared with the policy."""
_ROUNDED_PLANS = (
    "a plan hangs on which candidates are the best, and rounding alone can change that: "
    "--format torch-export keeps torch's own arithmetic"
)


@dataclass(frozen=True, slots=True)
class Export:
    """An exported policy that was compared with the policy."""

    content: bytes
    """Of the file."""
    metadata: dict[str, Any]
    report: ParityReport


def export_policy(
    config: Any,
    policy: torch.nn.Module,
    env: VectorEnv,
    *,
    format: ExportFormat,
    timesteps: int,
    n_observations: int = N_OBSERVATIONS,
) -> Export:
    """Export a policy and prove that the result acts as the policy does.

    Args:
        config: Of the run.
        policy: In evaluation mode, on the CPU; see `PolicyProgram`.
        env: Built from the config; played for observations to compare on.
        format: "onnx" or "torch-export".
        timesteps: How long the policy was trained, to tell.
        n_observations: Rows to compare, >= 2.

    Raises:
        ParityError: The result acts in another way.
        UserError: The policy cannot be exported.
    """
    action_space = env.single_action_space
    program = PolicyProgram(policy, action_space).eval()
    inputs = collect_inputs(env, policy, n=n_observations, seed=derive_seed(config.seed, "play"))
    expected = policy_outputs(program, inputs, action_space)
    metadata = describe_program(
        config,
        timesteps=timesteps,
        observation_space=env.single_observation_space,
        action_space=action_space,
        inputs={name: value.numpy() for name, value in inputs.items()},
        outputs=expected,
    )
    content, run = _write(format, program, inputs, metadata)
    allowed = tolerances(program, inputs, expected)
    try:
        report = check_parity(run, inputs, expected, allowed=allowed)
    except ParityError as error:
        if format == "onnx" and isinstance(policy, Planner):
            raise ParityError(f"{error}; {_ROUNDED_PLANS}") from error
        raise
    return Export(content, metadata, report)


def _write(format: ExportFormat, program: PolicyProgram, inputs: Any, metadata: Any) -> Any:
    """Return the content of the file and what runs it."""
    if format == "onnx":
        from utils.export.onnx_format import OnnxRunner, to_onnx

        content = to_onnx(program, inputs, metadata)
        return content, OnnxRunner(content)
    from utils.export.torch_format import TorchExportRunner, to_torch_export

    content = to_torch_export(program, inputs, metadata)
    return content, TorchExportRunner(content)


def describe_export(export: Export) -> str:
    """Say what the file takes and gives and how well it agrees, for people."""
    lines = [
        f"{kind:8}{name} {entry['dtype']} ({', '.join(map(str, entry['shape']))})"
        for kind, names in (("input", "inputs"), ("output", "outputs"))
        for name, entry in export.metadata[names].items()
    ]
    lines.append(f"greatest difference to torch on {export.report.n:,} observations:")
    return "\n".join([*lines, *export.report.lines()])
