# ruff: noqa: N803, PLR0913 - capitals are a kernel's constants, of which there are many
"""Picking transitions of small observations by one kernel of a GPU.

Needs Triton; imported where there is a GPU. With ``TRITON_INTERPRET=1`` set before the first import
the same code runs on the CPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from utils.buffers.observation_leaves import assemble
from utils.buffers.transition_batch import TransitionBatch
from utils.models.triton_support import assert_dense

if TYPE_CHECKING:
    from torch import Tensor

    from utils.buffers.transition_buffer import TransitionBuffer

_NUMBERS_AT_ONCE = 1024
"""Of an observation or an action, all rows of a program together."""


@triton.jit
def _copy(source, rows, target, at, is_row, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """Copy rows of numbers: `rows` of the source to the rows `at` of the target."""
    i = tl.arange(0, BLOCK)
    inside = is_row[:, None] & (i < WIDTH)[None, :]
    values = tl.load(source + rows[:, None] * WIDTH + i[None, :], mask=inside)
    tl.store(target + at[:, None] * WIDTH + i[None, :], values, mask=inside)


@triton.jit
def gather_kernel(
    index,
    frames,
    actions,
    rewards,
    endings,
    powers,
    end,
    observation,
    action,
    next_observation,
    reward,
    discount,
    terminated,
    truncated,
    ROWS,
    N_SLOTS,
    N_ENVS: tl.constexpr,
    N_STEP: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    ACTION: tl.constexpr,
    ACTION_BLOCK: tl.constexpr,
    R: tl.constexpr,
):
    """Follow each transition for `N_STEP` steps, or until an episode or the experience ends.

    Args:
        index: (ROWS,) int64 names.
        frames: (N_SLOTS + finals, WIDTH)
        actions: (N_SLOTS, ACTION)
        rewards: (N_SLOTS,) float32
        endings: (N_SLOTS,) int32; see `TransitionBuffer.ending`.
        powers: (N_STEP + 1,) float64, gamma^0 and so on.
        end: () int64, name of the first transition that is still to come.
        observation: (ROWS, WIDTH) written, as all that follow.
        action: (ROWS, ACTION)
        next_observation: (ROWS, WIDTH)
        reward: (ROWS,) float32
        discount: (ROWS,) float32
        terminated: (ROWS,) uint8
        truncated: (ROWS,) uint8
        ROWS: Of the batch.
        N_SLOTS: Places in the ring.
        N_ENVS: Environments side by side.
        N_STEP: Steps of the returns, at most.
        WIDTH: Numbers of an observation.
        BLOCK: A power of two, WIDTH at least.
        ACTION: Numbers of an action.
        ACTION_BLOCK: A power of two, ACTION at least.
        R: Rows of a program, a power of two.
    """
    at = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    is_row = at < ROWS
    name = tl.load(index + at, mask=is_row, other=0)
    newest = tl.load(end) - N_ENVS
    total = tl.zeros([R], tl.float64)
    last = name
    ending = tl.zeros([R], tl.int32)
    reach = tl.zeros([R], tl.float64)
    goes_on = is_row
    for step in tl.static_range(N_STEP):
        reached = name + step * N_ENVS
        place = reached % N_SLOTS
        paid = tl.load(rewards + place, mask=goes_on, other=0.0).to(tl.float64)
        total += tl.load(powers + step) * paid
        last = tl.where(goes_on, reached, last)
        ending = tl.load(endings + place, mask=goes_on, other=0) + tl.where(goes_on, 0, ending)
        reach = tl.where(goes_on, tl.load(powers + step + 1), reach)
        goes_on = goes_on & (ending == 0) & (reached < newest)
    following = tl.where(
        ending != 0, tl.abs(ending).to(tl.int64) + (N_SLOTS - 1), (last + N_ENVS) % N_SLOTS
    )
    tl.store(reward + at, total.to(tl.float32), mask=is_row)
    tl.store(discount + at, tl.where(ending > 0, 0.0, reach).to(tl.float32), mask=is_row)
    tl.store(terminated + at, (ending > 0).to(tl.uint8), mask=is_row)
    tl.store(truncated + at, (ending < 0).to(tl.uint8), mask=is_row)
    _copy(frames, name % N_SLOTS, observation, at, is_row, WIDTH, BLOCK)
    _copy(frames, following, next_observation, at, is_row, WIDTH, BLOCK)
    _copy(actions, name % N_SLOTS, action, at, is_row, ACTION, ACTION_BLOCK)


def gather_fused(buffer: TransitionBuffer, index: Tensor) -> TransitionBatch:
    """Pick transitions by name as `gather_on_device` does, which asks whether this can."""
    ((key, store),) = buffer.frames.items()
    assert_dense(index, store.flat, buffer.action, buffer.reward, buffer.ending)
    n, rows = len(index), store.flat.flatten(1) if store.flat.dim() > 1 else store.flat[:, None]
    actions = buffer.action.flatten(0, 1)
    width, action_width = rows.shape[1], actions[0].numel()
    observation, following = rows.new_empty((2, n, *store.leaf.frame_shape)).unbind()
    action = actions.new_empty((n, *actions.shape[1:]))
    reward, discount = torch.empty((2, n), dtype=torch.float32, device=index.device).unbind()
    flags = torch.empty((2, n), dtype=torch.uint8, device=index.device)
    block, action_block = triton.next_power_of_2(width), triton.next_power_of_2(action_width)
    at_once = max(1, min(_NUMBERS_AT_ONCE // max(block, action_block), triton.next_power_of_2(n)))
    gather_kernel[(triton.cdiv(n, at_once),)](
        index,
        rows,
        actions,
        buffer.reward,
        buffer.ending,
        buffer.geometry.powers,
        buffer.geometry.end,
        observation,
        action,
        following,
        reward,
        discount,
        *flags.unbind(),
        n,
        buffer.layout.n_slots,
        N_ENVS=buffer.layout.n_envs,
        N_STEP=buffer.n_step,
        WIDTH=width,
        BLOCK=block,
        ACTION=action_width,
        ACTION_BLOCK=action_block,
        R=at_once,
    )
    terminated, truncated = flags.view(torch.bool).unbind()
    return TransitionBatch(
        observation=assemble({key: observation}),
        action=action,
        reward=reward,
        next_observation=assemble({key: following}),
        discount=discount,
        terminated=terminated,
        truncated=truncated,
        index=index,
    )
