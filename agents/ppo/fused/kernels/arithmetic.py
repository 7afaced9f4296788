# ruff: noqa: N803 - capitals are a kernel's constants, of which there are many
"""Activations, random numbers and the shuffle that the kernels share."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def activate(x, RELU: tl.constexpr, FAST: tl.constexpr):
    """Apply ReLU or tanh; FAST takes the hardware's tanh (error 2^-11), which only a GPU has."""
    if RELU:
        y = tl.maximum(x, 0.0)
    elif FAST:
        y = tl.inline_asm_elementwise(
            "tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        y = 2.0 / (1.0 + tl.exp(-2.0 * x)) - 1.0
    return y


@triton.jit
def multiply_by_slope(gradient, y, RELU: tl.constexpr, FAST: tl.constexpr):
    """Carry a gradient back through the activation, given the activation's output y.

    Both have the same type: half precision where FAST, which then compares two numbers at a time.
    """
    if not RELU:
        result = gradient * (1.0 - y * y)
    elif FAST:
        is_on = tl.inline_asm_elementwise(
            "{ .reg .b32 zero; mov.b32 zero, 0; set.gt.f16x2.f16x2 $0, $1, zero; }",
            "=r,r",
            [y],
            dtype=tl.float16,
            is_pure=True,
            pack=2,
        )
        result = gradient * is_on
    else:
        result = tl.where(y > 0, gradient, 0.0)
    return result


@triton.jit
def uniform(bits):
    """Turn 32 random bits into a float32 in [0, 1), one of 2^24 multiples of 2^-24."""
    return (bits >> 8).to(tl.float32) * 5.9604644775390625e-08


@triton.jit
def normal_pair(bits_a, bits_b):
    """Turn twice 32 random bits into two independent standard normal numbers (Box-Muller)."""
    radius = tl.sqrt(-2.0 * tl.log(1.0 - uniform(bits_a)))
    angle = 6.283185307179586 * uniform(bits_b)
    return radius * tl.cos(angle), radius * tl.sin(angle)


@triton.jit
def mix(h):
    """Scramble 32 bits: every input bit moves every output bit (constants of lowbias32)."""
    h = h.to(tl.uint32)
    h = (h ^ (h >> 16)) * 0x7FEB352D
    h = (h ^ (h >> 15)) * 0x846CA68B
    return h ^ (h >> 16)


@triton.jit
def _shuffle_pairs(position, key, LOW_BITS, HIGH):
    """Move each half of a position by a hash of the other one, in turn; this can be undone."""
    mask = (1 << LOW_BITS) - 1
    low = position & mask
    high = position >> LOW_BITS
    for r in tl.static_range(3):
        high = high + tl.umulhi(mix(low + mix(key * 8 + 2 * r)), HIGH)
        high = tl.where(high >= HIGH, high - HIGH, high)
        low = (low + mix(high ^ mix(key * 8 + 2 * r + 1))) & mask
    return (high << LOW_BITS) | low


@triton.jit
def _shuffle_bits(position, key, LOW_BITS, SIZE):
    """Multiply by an odd number, add, shift: all of it can be undone below a power of two SIZE."""
    mask = SIZE - 1
    x = position
    for r in tl.static_range(4):
        x = (x * (mix(key * 8 + 2 * r) | 1) + mix(key * 8 + 2 * r + 1)) & mask
        x = x ^ (x >> (LOW_BITS + 1))
    return x


@triton.jit
def shuffle(position, key, SIZE, LOW_BITS, HIGH, WALK: tl.constexpr):
    """Map [0, SIZE) onto itself, one to one, in an order that the key decides.

    No index array, no sort. A power of two of positions takes a few multiplications. Otherwise a
    position is a pair (high, low), of which there may be a few more than SIZE; who lands outside is
    mapped on until it is inside, which keeps the map one to one.

    Args:
        position: int32 block in [0, SIZE).
        key: int32 scalar.
        SIZE: Number of positions.
        LOW_BITS: The low half is in [0, 2^LOW_BITS): half the bits of a position, rounded down.
        HIGH: The high half is in [0, HIGH); HIGH * 2^LOW_BITS >= SIZE.
        WALK: Whether SIZE is no power of two.
    """
    x = position.to(tl.uint32)
    if WALK:
        high = (tl.zeros_like(position) + HIGH).to(tl.uint32)
        x = _shuffle_pairs(x, key, LOW_BITS, high)
        while tl.max((x.to(tl.int32) >= SIZE).to(tl.int32), 0) > 0:
            x = tl.where(x.to(tl.int32) >= SIZE, _shuffle_pairs(x, key, LOW_BITS, high), x)
    else:
        x = _shuffle_bits(x, key, LOW_BITS, SIZE)
    return x.to(tl.int32)
