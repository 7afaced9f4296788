"""The physics of an environment as functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from gym_envs.physics import ClassicSpec, rebind

# The names of `gym_envs.physics.scalar_math` for tensors; a plain number may stand for a tensor
# wherever torch takes one.
TENSOR_MATH: dict[str, Callable[..., Any]] = {
    "clip": torch.clamp,
    "cos": torch.cos,
    "floor": torch.floor,
    "sin": torch.sin,
    "where": torch.where,
}


@dataclass(frozen=True, slots=True)
class TensorPhysics:
    """`transition` and `observe` of one environment for tensors (N,) on any device."""

    transition: Callable[..., Any]
    """`transition(*state, action) -> (*state, reward, terminated)`."""
    observe: Callable[..., Any]
    """`observe(*state) -> observation`, a tuple."""


def tensor_physics(spec: ClassicSpec) -> TensorPhysics:
    """Give the physics of `spec` the mathematics of torch; float32 stays float32."""
    return TensorPhysics(*(_with_tensors(function) for function in (spec.transition, spec.observe)))


def _with_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    return rebind(
        function,
        math=TENSOR_MATH,
        constant=float,
        compile_helper=lambda helper: helper,
    )
