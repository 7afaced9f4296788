"""A function of tensors whose operations a GPU replays from a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from utils.optimization.capture import capturing, warm_up_for_capture


class CapturedCall:
    """Calls a function by one launch instead of one for each of its operations.

    The function reads parameters where they are, so it sees what they have become; it must not
    depend on anything else that changes, nor change anything but its generators and what it writes
    anew each time before reading it. Gradients are not followed.
    """

    def __init__(
        self,
        function: Callable[..., tuple[Tensor, ...]],
        *,
        generators: Sequence[torch.Generator] = (),
    ) -> None:
        """Prepare; the first call captures, and each call with inputs of other shapes.

        Args:
            function: Tensors on one CUDA device in, tensors out.
            generators: What it draws from.
        """
        self._function = function
        self._generators = generators
        self._graph: torch.cuda.CUDAGraph | None = None
        self._inputs: tuple[Tensor, ...] = ()
        self._outputs: tuple[Tensor, ...] = ()

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Return what the function returns, valid until the next call."""
        shapes = [(x.shape, x.dtype) for x in inputs]
        if self._graph is None or shapes != [(x.shape, x.dtype) for x in self._inputs]:
            self._capture(inputs)
        for target, value in zip(self._inputs, inputs, strict=True):
            target.copy_(value)
        assert self._graph is not None
        self._graph.replay()
        return self._outputs

    def _capture(self, inputs: tuple[Tensor, ...]) -> None:
        # Tensors that are made in inference mode can be written to only there. That goes for the
        # inputs, and for what a generator gets with its first graph: one that an update draws from
        # as well could not be replayed outside.
        with torch.inference_mode(False), torch.no_grad():
            self._inputs = tuple(value.clone() for value in inputs)
            states = [generator.get_state() for generator in self._generators]
            warm_up_for_capture(lambda: self._function(*self._inputs), inputs[0].device)
            graph = torch.cuda.CUDAGraph()
            for generator in self._generators:
                graph.register_generator_state(generator)
            with capturing(graph):
                self._outputs = self._function(*self._inputs)
            for generator, state in zip(self._generators, states, strict=True):
                generator.set_state(state)
        self._graph = graph
