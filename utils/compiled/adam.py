"""Adam and AdamW on flat arrays, with the gradient's norm clipped before."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gym_envs.numba_settings import FAST_MATH, njit
from utils.compiled.float32_math import ONE, ZERO

_f = np.float32
# As in torch.nn.utils.clip_grad_norm_.
_NORM_EPSILON = 1e-6


class AdamSettings(NamedTuple):
    """Settings of one optimiser step; the names are torch's."""

    lr: float
    beta1: float
    beta2: float
    eps: float
    weight_decay: float
    is_decoupled: bool
    """Weights decay by themselves (AdamW) rather than through the gradient (Adam)."""
    max_grad_norm: float
    """Infinity: do not clip."""


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def measure_norms(segments, gradient, norms):
    """Write the L2 norm of each parameter's gradient into `norms`; return that of all together.

    Args:
        segments: See `utils.compiled.parameters.plan_segments`.
        gradient: Flat, with zeros as padding.
        norms: (n_parameters,) float32.
    """
    norms[:] = ZERO
    for k in range(segments.shape[0]):
        at = segments[k, 6]
        part = gradient[at : at + segments[k, 2] * segments[k, 7]]
        total = ZERO
        for i in range(part.size):
            total += part[i] * part[i]
        norms[segments[k, 0]] += total
    total = 0.0
    for k in range(norms.size):
        total += norms[k]
        norms[k] = math.sqrt(norms[k])
    return math.sqrt(total)


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def clip_scale(norm, max_grad_norm):
    """Return the factor that brings a gradient of this norm down to the limit; NaN for NaN."""
    scale = max_grad_norm / (norm + _NORM_EPSILON)
    return 1.0 if scale > 1.0 else scale


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def adam_step(parameters, moment1, moment2, gradient, scale, step, settings):
    """Take one step of Adam (Kingma and Ba 2015) or AdamW (Loshchilov and Hutter 2019) in place.

    Args:
        parameters: Flat.
        moment1: Running mean of the gradient.
        moment2: Running mean of its square.
        gradient: Is read.
        scale: The gradient counts times this.
        step: Number of this step, from 1.
        settings: `AdamSettings`.
    """
    gradient_scale = _f(scale)
    keep = _f(1.0 - settings.lr * settings.weight_decay) if settings.is_decoupled else ONE
    pull = ZERO if settings.is_decoupled else _f(settings.weight_decay)
    keep1, new1 = _f(settings.beta1), _f(1.0 - settings.beta1)
    keep2, new2 = _f(settings.beta2), _f(1.0 - settings.beta2)
    rate = _f(settings.lr / (1.0 - settings.beta1**step))
    root_scale = _f(1.0 / math.sqrt(1.0 - settings.beta2**step))
    epsilon = _f(settings.eps)
    for i in range(parameters.size):
        weight = parameters[i]
        slope = gradient[i] * gradient_scale + pull * weight
        first = keep1 * moment1[i] + new1 * slope
        second = keep2 * moment2[i] + new2 * slope * slope
        moment1[i] = first
        moment2[i] = second
        parameters[i] = keep * weight - rate * first / (
            _f(math.sqrt(second)) * root_scale + epsilon
        )
