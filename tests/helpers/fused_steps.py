"""The kernels of `utils.world_models.fused_steps`, switched on or off whatever the device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from torch.utils._python_dispatch import _disable_current_modes

from tests.helpers.recorded_operations import recorded
from utils.world_models.fused_steps import availability


@contextmanager
def fused_steps(*, are_used: bool) -> Iterator[None]:
    """Use the kernels in here, in Triton's interpreter where there is no GPU, or do not."""
    with mock.patch.object(availability, "runs_fused", return_value=are_used):
        yield


@contextmanager
def noted_launches() -> Iterator[list[str]]:
    """Note what is launched in here, in order: torch's operations and Triton's kernels.

    Operations that only look at memory or ask for it are left out, and so is what the interpreter
    does with tensors itself.
    """
    from utils.world_models.fused_steps.dense_kernels import dense_forward_kernel

    kernels: list[str] = []
    names: list[str] = []
    kind = type(dense_forward_kernel)
    run = kind.run

    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        kernels.append(self.fn.__name__)
        with _disable_current_modes():
            return run(self, *args, **kwargs)

    with mock.patch.object(kind, "run", noted), recorded() as operations:
        yield names
    names += operations.launched() + kernels
