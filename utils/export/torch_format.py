"""Policies as programs of torch.export."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.export import Dim, ExportedProgram

from utils.export.program import Named, PolicyProgram

BATCH = "batch"
METADATA_FILE = "metadata.json"


def trace_program(program: PolicyProgram, inputs: Named) -> ExportedProgram:
    """Trace a program for any number of rows.

    Args:
        program: In evaluation mode, on the CPU.
        inputs: An example of each, at least two rows.
    """
    rows = {name: value[:2] for name, value in inputs.items()}
    with torch.no_grad():
        program(dict(rows))  # normalisers prepare what they keep, which is no part of the program
        batch = Dim(BATCH)
        return torch.export.export(
            program, (rows,), dynamic_shapes=({name: {0: batch} for name in rows},)
        )


def to_torch_export(program: PolicyProgram, inputs: Named, metadata: Mapping[str, Any]) -> bytes:
    """Return a program as a `.pt2` archive, with its metadata as `metadata.json`.

    See `trace_program` for the arguments.
    """
    exported = trace_program(program, inputs)
    for node in exported.graph.nodes:
        node.meta.pop("stack_trace", None)  # names the files of this machine
    file = io.BytesIO()
    extra = {METADATA_FILE: json.dumps(dict(metadata), indent=2)}
    torch.export.save(exported, file, extra_files=extra)
    return file.getvalue()


class TorchExportRunner:
    """Runs a `.pt2` archive on the CPU."""

    def __init__(self, archive: bytes) -> None:
        """Load an archive."""
        self._module = torch.export.load(io.BytesIO(archive)).module()

    @torch.inference_mode()
    def __call__(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Map named inputs to named outputs, (B, ...) each."""
        tensors = {name: torch.from_numpy(value) for name, value in inputs.items()}
        return {name: value.numpy() for name, value in self._module(tensors).items()}
