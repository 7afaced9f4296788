# ruff: noqa: N803 - capitals are a kernel's constants, of which there are many
"""One net, samples as rows: for rollouts and values, where weights stay and samples pass by."""

from __future__ import annotations

import triton
import triton.language as tl

from agents.ppo.fused.kernels.arithmetic import activate


@triton.jit
def input_tile(values, N_IN: tl.constexpr, WIDTH: tl.constexpr, DT: tl.constexpr):
    """Set N_IN blocks (B,) side by side as (B, WIDTH); column N_IN is 1, the bias's input."""
    c = tl.arange(0, WIDTH)[None, :]
    tile = tl.where(c == N_IN, 1.0, 0.0)
    for k in tl.static_range(N_IN):
        tile = tl.where(c == k, values[k][:, None], tile)
    return tile.to(DT)


@triton.jit
def scale_observation(values, E: tl.constexpr, N_IN: tl.constexpr):
    """Normalise N_IN blocks (B,) as the policy does, by the bounds of the observation space."""
    scaled = ()
    for k in tl.static_range(N_IN):
        if E.is_scaled:
            scaled = scaled + ((values[k] - E.centre[k]) / E.half_range[k],)  # noqa: RUF005
        else:
            scaled = scaled + (values[k],)  # noqa: RUF005
    return scaled


@triton.jit
def load_input_tile(
    ptr, row, mask, STRIDE: tl.constexpr, N_IN: tl.constexpr, WIDTH: tl.constexpr, DT: tl.constexpr
):
    """Load stored observations (rows of STRIDE numbers) as `input_tile` would set them."""
    c = tl.arange(0, WIDTH)[None, :]
    x = tl.load(ptr + row[:, None] * STRIDE + c, mask=(c < N_IN) & mask[:, None], other=0.0)
    return tl.where(c == N_IN, 1.0, x).to(DT)


@triton.jit
def load_first_layer(
    P, N_IN: tl.constexpr, WIDTH: tl.constexpr, H1: tl.constexpr, DT: tl.constexpr
):
    """Load weights and bias of the first layer, (WIDTH, H1)."""
    i, j = tl.arange(0, WIDTH), tl.arange(0, H1)
    w1 = tl.load(P + i[:, None] * H1 + j[None, :], mask=i[:, None] <= N_IN, other=0.0)
    return w1.to(DT)


@triton.jit
def load_second_layer(
    P, W2: tl.constexpr, B2: tl.constexpr, H1: tl.constexpr, H2: tl.constexpr, DT: tl.constexpr
):
    """Load weights (H1, H2) and bias (H2,) of the second layer."""
    k, j = tl.arange(0, H1), tl.arange(0, H2)
    w2 = tl.load(P + W2 + k[:, None] * H2 + j[None, :]).to(DT)
    return w2, tl.load(P + B2 + j)


@triton.jit
def hidden_units(
    x, w1, w2, b2, N_LAYERS: tl.constexpr, RELU: tl.constexpr, DT: tl.constexpr, FAST: tl.constexpr
):
    """Compute the last hidden layer, (B, H) float32, from an input tile."""
    h = activate(tl.dot(x, w1), RELU, FAST)
    if N_LAYERS == 2:
        h = activate(tl.dot(h.to(DT), w2) + b2[None, :], RELU, FAST)
    return h
