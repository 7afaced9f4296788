"""Policies as ONNX models."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from utils.export.program import Named, PolicyProgram
from utils.export.torch_format import BATCH, trace_program

_GRAPH_NAME = "policy"


def to_onnx(program: PolicyProgram, inputs: Named, metadata: Mapping[str, Any]) -> bytes:
    """Return a program as an ONNX model, weights included.

    Args:
        program: In evaluation mode, on the CPU.
        inputs: An example of each, at least two rows.
        metadata: JSON values; each goes under its key into the model, what is no string as JSON.
    """
    with torch.no_grad(), _quiet():
        output_names = list(program(dict(inputs)))
        exported = torch.onnx.export(
            trace_program(program, inputs),
            (dict(inputs),),
            dynamo=True,
            verbose=False,
            input_names=list(inputs),
            output_names=output_names,
        )
    assert exported is not None
    model = exported.model_proto
    _forget_sources(model)
    _name_batch(model, next(iter(inputs)))
    model.graph.name = _GRAPH_NAME
    for key, value in metadata.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value if isinstance(value, str) else json.dumps(value)
    return model.SerializeToString(deterministic=True)


class OnnxRunner:
    """Runs an ONNX model on the CPU with one thread."""

    def __init__(self, model: bytes) -> None:
        """Load a model."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        self._names = [output.name for output in self._session.get_outputs()]

    def __call__(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Map named inputs to named outputs, (B, ...) each."""
        return dict(zip(self._names, self._session.run(None, dict(inputs)), strict=True))


def _forget_sources(model: Any) -> None:
    """Remove what names the files of this machine that the operations were traced from."""
    graph = model.graph
    assert not model.functions, [function.name for function in model.functions]
    parts = (graph.node, graph.value_info, graph.input, graph.output, graph.initializer, [graph])
    for part in (item for group in parts for item in group):
        del part.metadata_props[:]
        part.doc_string = ""


def _name_batch(model: Any, first_input: str) -> None:
    """Give the dimension of the batch its name, wherever it appears alone."""
    graph = model.graph
    shapes = {item.name: item.type.tensor_type.shape for item in graph.input}
    symbol = shapes[first_input].dim[0].dim_param
    for item in (*graph.input, *graph.output, *graph.value_info):
        for dim in item.type.tensor_type.shape.dim:
            if dim.dim_param == symbol:
                dim.dim_param = BATCH


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's remarks on packages that nothing here needs from the terminal."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
