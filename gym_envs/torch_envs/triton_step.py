"""One vector step as one Triton kernel, where operation by operation it would be a hundred."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from gym_envs.torch_envs.triton_physics import triton_physics

_BLOCK = 128


class TritonStep:
    """Steps the tensors of a `TorchVectorEnv` on CUDA in one launch.

    The same as the environment's own tensor code but for the last bit, where the compiler joins a
    product and a sum.
    """

    def __init__(self, env_id: str, *, initial_low: Tensor, initial_range: Tensor) -> None:
        """Bind the physics of an environment.

        Args:
            env_id: Its id.
            initial_low: (n_state, 1) float32, least first value of each state variable.
            initial_range: (n_state, 1) float32, how far above it the first value may be.
        """
        self._transition, self._observe = triton_physics(env_id)
        self._initial_low, self._initial_range = initial_low, initial_range

    def __call__(
        self,
        action: Tensor,
        *,
        state: Tensor,
        elapsed: Tensor,
        episode_return: Tensor,
        episode: Tensor,
        seed: Tensor,
        max_episode_steps: int,
        n_observation: int,
    ) -> tuple[Tensor, ...]:
        """Step, begin new episodes where some ended, and change the state in place.

        Args:
            action: (N,) integers or float32.
            state: (n_state, N) float32.
            elapsed: (N,) int32.
            episode_return: (N,) float32.
            episode: (N,) int32.
            seed: (1,) int64.
            max_episode_steps: Steps after which an episode is truncated.
            n_observation: Length of an observation.

        Returns:
            The fields of `TensorStep`, new tensors.
        """
        n_state, n = state.shape
        out: dict[str, Any] = {
            "observation": state.new_empty((n, n_observation)),
            "reward": torch.empty_like(episode_return),
            "terminated": torch.empty_like(elapsed, dtype=torch.bool),
            "truncated": torch.empty_like(elapsed, dtype=torch.bool),
            "final_observation": state.new_empty((n, n_observation)),
            "ended_return": torch.empty_like(episode_return),
            "ended_length": torch.empty_like(elapsed),
        }
        parts = (state, elapsed, episode_return, episode)
        assert all(x.is_contiguous() for x in parts), [x.stride() for x in parts]
        _step_kernel[(triton.cdiv(n, _BLOCK),)](
            action.contiguous(),
            state,
            elapsed,
            episode_return,
            episode,
            seed,
            self._initial_low,
            self._initial_range,
            **out,
            N=n,
            MAX_STEPS=max_episode_steps,
            N_STATE=n_state,
            N_OBSERVATION=n_observation,
            TRANSITION=self._transition,
            OBSERVE=self._observe,
            BLOCK=_BLOCK,
        )
        return tuple(out.values())


@triton.jit(do_not_specialize=["N", "MAX_STEPS"])
def _step_kernel(
    action,
    state,
    elapsed,
    episode_return,
    episode,
    seed,
    initial_low,
    initial_range,
    observation,
    reward,
    terminated,
    truncated,
    final_observation,
    ended_return,
    ended_length,
    N,
    MAX_STEPS,
    N_STATE: tl.constexpr,
    N_OBSERVATION: tl.constexpr,
    TRANSITION: tl.constexpr,
    OBSERVE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    e = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = e < N
    values = ()
    for k in tl.static_range(N_STATE):
        values = values + (tl.load(state + k * N + e, mask=inside, other=0.0),)
    after = TRANSITION(*values, tl.load(action + e, mask=inside, other=0).to(tl.float32))
    paid = after[N_STATE] + tl.zeros([BLOCK], tl.float32)
    is_over = after[N_STATE + 1]
    steps = tl.load(elapsed + e, mask=inside, other=0) + 1
    total = tl.load(episode_return + e, mask=inside, other=0.0) + paid
    is_cut = (steps >= MAX_STEPS) & (is_over == 0)
    done = is_over | is_cut
    last = OBSERVE(*after[:N_STATE])
    number = tl.load(episode + e, mask=inside, other=0) + done.to(tl.int32)
    words = tl.philox(tl.load(seed), e, number, 0, 0)
    begun = ()
    for k in tl.static_range(N_STATE):
        unit = (words[k] >> 8).to(tl.float32) * 5.9604644775390625e-08
        first = tl.load(initial_low + k) + tl.load(initial_range + k) * unit
        value = tl.where(done, first, after[k])
        begun = begun + (value,)
        tl.store(state + k * N + e, value, mask=inside)
    seen = OBSERVE(*begun)
    for k in tl.static_range(N_OBSERVATION):
        tl.store(final_observation + e * N_OBSERVATION + k, last[k], mask=inside)
        tl.store(observation + e * N_OBSERVATION + k, seen[k], mask=inside)
    tl.store(reward + e, paid, mask=inside)
    tl.store(terminated + e, is_over, mask=inside)
    tl.store(truncated + e, is_cut, mask=inside)
    tl.store(ended_return + e, total, mask=inside)
    tl.store(ended_length + e, steps, mask=inside)
    tl.store(elapsed + e, tl.where(done, 0, steps), mask=inside)
    tl.store(episode_return + e, tl.where(done, 0.0, total), mask=inside)
    tl.store(episode + e, number, mask=inside)
