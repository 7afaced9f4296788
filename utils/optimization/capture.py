"""Optimiser steps inside CUDA graphs: learning rates on the device, step counts, warming up."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

CAPTURABLE_OPTIMIZERS = ("Adam", "AdamW")
"""Their state begins with zeros, and their step takes its learning rate from a tensor."""

_N_WARM_UPS = 2


def warm_up_for_capture(work: Callable[[], object], device: torch.device) -> None:
    """Do the work on a stream of its own: what a first call allocates stays out of the graph."""
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        for _ in range(_N_WARM_UPS):
            work()
    torch.cuda.current_stream(device).wait_stream(stream)


@contextmanager
def capturing(graph: torch.cuda.CUDAGraph) -> Iterator[None]:
    """Capture what is done in here.

    Beginning a capture puts the generators' numbers where graphs read them, on the stream of the
    capture. What is done next waits for that: a GPU that several processes share may otherwise
    carry it out only after the first replay has put its own numbers there, and that one would draw
    what was drawn before.

    Nothing is collected as garbage meanwhile: a graph of somebody else that goes is a fault of the
    capture, too.

    Where several processes train, another thread looks after their exchanges meanwhile, which
    would be a fault of the capture if it were not told apart.
    """
    from torch import distributed

    is_shared = distributed.is_available() and distributed.is_initialized()
    mode = "thread_local" if is_shared else "global"
    outside = torch.cuda.current_stream()
    try:
        with _no_garbage_collected(), torch.cuda.graph(graph, capture_error_mode=mode):
            inside = torch.cuda.current_stream()
            yield
    finally:
        torch.cuda.set_stream(outside)  # a capture that fails does not leave its stream
    outside.wait_stream(inside)


@contextmanager
def _no_garbage_collected() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def move_step_counts(optimizer: torch.optim.Optimizer) -> None:
    """Put every `step` where its parameter is: a graph cannot count on the host.

    A state that was read from disk, or that another loop has made, may have it on the CPU.
    """
    for parameter, state in optimizer.state.items():
        if "step" in state:
            state["step"] = state["step"].to(parameter.device)


@contextmanager
def device_learning_rate(optimizer: torch.optim.Optimizer, lr: Tensor) -> Iterator[None]:
    """Let the optimiser's step read its learning rate from a tensor and be captured."""
    before = [(group["lr"], group["capturable"]) for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        group["lr"], group["capturable"] = lr, True
    try:
        yield
    finally:
        for group, (rate, capturable) in zip(optimizer.param_groups, before, strict=True):
            group["lr"], group["capturable"] = rate, capturable
