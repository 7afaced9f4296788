"""The launches of one iteration, and the memory that they work on."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from triton import knobs, language

from agents.ppo.fused.kernels.constants import KernelConstants
from agents.ppo.fused.kernels.gradient import gradient_kernel
from agents.ppo.fused.kernels.optimizer import adam_kernel, record_kernel, reduce_kernel
from agents.ppo.fused.kernels.returns import minibatch_moments_kernel, returns_kernel
from agents.ppo.fused.kernels.rollout import rollout_kernel
from agents.ppo.fused.layout import BLOCK, Layout
from gym_envs.torch_envs import TorchVectorEnv
from gym_envs.torch_envs.triton_physics import triton_physics

if TYPE_CHECKING:
    from utils.distributed.team import Team

HYPERPARAMETERS = (
    "policy_lr",
    "gamma",
    "gae_lambda",
    "clip_range",
    "ent_coef",
    "vf_coef",
    "max_grad_norm",
)
"""In the order of the float32 numbers that the kernels read."""
N_PARTS = 32
"""Programs that sum up the advantages of one minibatch."""
N_TOTALS, N_RECORD, N_EPISODE_SUMS, N_MOMENTS = 18, 9, 5, 5
_EMPTY_EPISODES = (0.0, 0.0, math.inf, -math.inf, 0.0)
_MODES = {"none": 0, "batch": 1, "rollout": 2}


@dataclass(frozen=True, kw_only=True)
class EnvironmentConstants:
    """What the kernels must know of an environment when they are compiled."""

    env_id: str
    n_state: int
    initial_low: tuple[float, ...]
    initial_range: tuple[float, ...]
    action_limit: float
    is_scaled: bool
    """Whether observations are normalised: less `centre`, divided by `half_range`."""
    centre: tuple[float, ...]
    half_range: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class IterationSettings:
    """Sizes of an iteration and what of its algorithm does not change during a run."""

    n_steps: int
    n_epochs: int
    n_minibatches: int
    normalize_advantages: str
    betas: tuple[float, float]
    eps: float
    weight_decay: float
    is_decoupled: bool
    """AdamW rather than Adam."""
    reward_scale: float = 1.0
    """Factor on what the learner is paid."""
    observation_scale: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    """Centre and half range by which observations are normalised; None: they are not."""
    seed: int
    """Of actions and order of the samples, below 2^30."""


def environment_constants(
    env: TorchVectorEnv, observation_scale: tuple[tuple[float, ...], tuple[float, ...]] | None
) -> EnvironmentConstants:
    """Read the constants off an environment; first states are computed in float32, as it does."""
    spec = env.spec_of_physics
    low, high = (np.array(x, dtype=np.float32) for x in (spec.initial_low, spec.initial_high))
    centre, half_range = observation_scale or ((), ())
    return EnvironmentConstants(
        env_id=env.env_id,
        n_state=spec.n_state,
        initial_low=tuple(low.tolist()),
        initial_range=tuple((high - low).tolist()),
        action_limit=spec.action_limit,
        is_scaled=observation_scale is not None,
        centre=centre,
        half_range=half_range,
    )


@dataclass(frozen=True, kw_only=True)
class LaunchPlan:
    """Shapes of the launches, as measured on an H100; they change speed, not results' meaning."""

    rollout_block: int
    """Environments of one program of rollout and returns."""
    rollout_warps: int
    gradient_block: int
    """Samples at a time."""
    gradient_warps: int
    gradient_options: dict[str, int]
    programs_per_sm: int


def plan_launches(layout: Layout, *, n_envs: int, n_samples: int) -> LaunchPlan:
    """Choose the shapes of the launches.

    Args:
        layout: Of the networks.
        n_envs: Environments.
        n_samples: Samples of a minibatch.
    """
    is_wide = max(layout.padded) > 64
    # One warp has the shortest step; four have the best throughput once they fill the card.
    few = n_envs <= 16384
    block, warps = (16, 1) if few else (64, 4)
    if is_wide:
        block, warps = (16, 4) if few else (64, 8)
    options: dict[str, int] = {}
    programs = 1 if is_wide else 2
    if not is_wide:
        # 168 registers let three programs share an SM, which pays where each has much to do.
        many = n_samples > 65536 and layout.kind == 0
        programs = 3 if many else 2
        options = {"maxnreg": 168 if many else 255}
    return LaunchPlan(
        rollout_block=block,
        rollout_warps=warps,
        gradient_block=64,
        gradient_warps=8 if is_wide else 4,
        gradient_options={} if knobs.runtime.interpret else options,
        programs_per_sm=programs,
    )


def _divide_up(n: int, d: int) -> int:
    return -(-n // d)


def _power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()


class FusedIteration:
    """All kernels of one iteration, on memory that is allocated once.

    `parameters`, `exp_avg` and `exp_avg_sq` are flat vectors of both nets (see `layout`); episodes
    are the environment's own.
    """

    def __init__(
        self,
        layout: Layout,
        env: TorchVectorEnv,
        settings: IterationSettings,
        *,
        dtype: Any = language.float16,
        team: Team | None = None,
    ) -> None:
        """Allocate the memory.

        Args:
            layout: Of the networks.
            env: Has been or will be reset before the first iteration.
            settings: Of the iteration.
            dtype: Triton's type of the operands of matrix products.
            team: The processes that each have such an iteration, with environments of their own,
                and an equal part of every minibatch; None for one alone.
        """
        self.team = team
        self.layout, self.env, self.settings, self.dtype = layout, env, settings, dtype
        self.n_envs, self.device = env.num_envs, env.device
        self.n_samples = self.n_envs * settings.n_steps
        assert self.n_samples % settings.n_minibatches == 0, (self.n_samples, settings)
        self.minibatch_size = self.n_samples // settings.n_minibatches
        self.n_updates = settings.n_epochs * settings.n_minibatches
        self.fast = self.device.type == "cuda" and dtype == language.float16
        self.plan = plan_launches(layout, n_envs=self.n_envs, n_samples=self.minibatch_size)
        self._compilations: list[Callable[[], None]] | None = None
        """What `compile` collects instead of launching it."""
        self._constants = KernelConstants(layout)
        self._env_constants = KernelConstants(
            environment_constants(env, settings.observation_scale)
        )
        self._transition, self._observe = triton_physics(env.env_id)
        self._plan_shuffle()
        self._plan_programs()
        self._allocate()

    def _plan_shuffle(self) -> None:
        # Halves of about the same size.
        self.low_bits = (self.n_samples - 1).bit_length() // 2
        self.high = _divide_up(self.n_samples, 1 << self.low_bits)
        self.walks = self.n_samples & (self.n_samples - 1) != 0

    def _plan_programs(self) -> None:
        plan = self.plan
        is_cuda = self.device.type == "cuda"
        n_sms = (
            torch.cuda.get_device_properties(self.device).multi_processor_count if is_cuda else 4
        )
        n_blocks = _divide_up(self.minibatch_size, plan.gradient_block)
        most = max(1, n_sms * plan.programs_per_sm // 2)
        # Of each net; every program gets the same number of blocks, or one less.
        self.n_programs = _divide_up(n_blocks, _divide_up(n_blocks, most))
        self.n_rollout_programs = _divide_up(self.n_envs, plan.rollout_block)

    def _allocate(self) -> None:
        layout, n = self.layout, self.n_samples

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(*shape, dtype=dtype, device=self.device)

        size, gradient_size = layout.net_size, layout.gradient_size
        self.parameters, self.exp_avg, self.exp_avg_sq = (zeros(2 * size) for _ in range(3))
        self.samples = zeros(n, layout.stride)
        self.final = zeros(n, layout.n_inputs)
        self.flags = zeros(n, dtype=torch.int8)
        self.advantages = zeros(n)
        self.moments = zeros(self.n_rollout_programs, N_MOMENTS)
        self.partial = zeros(self.n_updates, 2, N_PARTS)
        self.gradients = zeros(2, self.n_programs, gradient_size)
        self.gradient = zeros(2 * gradient_size)
        self.squares = zeros(2 * gradient_size // BLOCK)
        self.record = zeros(self.n_updates, N_RECORD)
        self.hyper = zeros(8)
        self.counters = zeros(2, dtype=torch.int32)
        """Iterations, and optimiser steps, that lie behind."""
        self.totals = zeros(N_TOTALS, dtype=torch.float64)
        empty = torch.tensor(_EMPTY_EPISODES, device=self.device)
        self._no_episodes = empty.repeat(self.n_rollout_programs, 1)
        self.episodes = self._no_episodes.clone()

    def _launch(self, kernel: Any, grid: tuple[int, ...], *args: Any, **options: Any) -> None:
        if self._compilations is None:
            kernel[grid](*args, **options)
            return

        def compile_and_load() -> None:
            with torch.cuda.device(self.device):
                _ = kernel.warmup(*args, grid=grid, **options).run

        self._compilations.append(compile_and_load)

    def compile(self) -> None:
        """Compile and load all kernels, several at a time; much of it is done by other programs."""
        assert self.device.type == "cuda", self.device
        self._compilations = []
        self.carry_out(n_updates=1)
        compilations, self._compilations = self._compilations, None
        with ThreadPoolExecutor(len(compilations)) as pool:
            for done in [pool.submit(compilation) for compilation in compilations]:
                done.result()

    def begin(self) -> None:
        """Forget what earlier iterations came to."""
        self.totals.zero_()
        self.episodes.copy_(self._no_episodes)

    def rollout(self) -> None:
        """Step all environments `n_steps` times."""
        env, plan, settings = self.env, self.plan, self.settings
        self._launch(
            rollout_kernel,
            (self.n_rollout_programs,),
            self.parameters,
            env.state,
            env.elapsed,
            env.episode_return,
            env.episode,
            env.seed_tensor,
            self.counters,
            settings.seed,
            self.samples,
            self.final,
            self.flags,
            self.episodes,
            self.n_envs,
            settings.n_steps,
            env.max_episode_steps,
            self._constants,
            self._env_constants,
            self._transition,
            self._observe,
            settings.reward_scale,
            plan.rollout_block,
            self.dtype,
            self.fast,
            num_warps=plan.rollout_warps,
        )

    def returns(self) -> None:
        """Give every sample its advantage and return."""
        plan, settings = self.plan, self.settings
        self._launch(
            returns_kernel,
            (self.n_rollout_programs,),
            self.parameters,
            self.env.state,
            self.hyper,
            self.samples,
            self.final,
            self.flags,
            self.advantages,
            self.moments,
            self.n_envs,
            settings.n_steps,
            self._constants,
            self._env_constants,
            self._observe,
            plan.rollout_block,
            self.dtype,
            self.fast,
            num_warps=plan.rollout_warps,
        )
        mode = _MODES[settings.normalize_advantages]
        if mode == 0:
            return
        is_whole = mode == 2
        n_sums = 1 if is_whole else self.n_updates
        n = self.n_samples if is_whole else self.minibatch_size
        self._launch(
            minibatch_moments_kernel,
            (n_sums, N_PARTS),
            self.advantages,
            self.partial,
            self.counters,
            settings.seed,
            self.n_samples,
            self.low_bits,
            self.high,
            n,
            settings.n_minibatches,
            settings.n_epochs,
            N_PARTS,
            self.walks,
            not is_whole,
            min(1024, max(32, _power_of_two(_divide_up(n, N_PARTS)))),
        )

    def join_moments(self) -> None:
        """Let the moments of the advantages be those of the minibatches of all processes.

        The kernels' sums count from this process's first advantage, and divide by what this one
        has: its numbers are chosen such that they find mean and deviation of the whole.
        """
        assert self.team is not None
        settings = self.settings
        is_whole = settings.normalize_advantages == "rollout"
        n = self.n_samples if is_whole else self.minibatch_size
        partial = self.partial[: 1 if is_whole else self.n_updates]
        pivot = self.advantages[0].double()
        first, second = partial.double().sum(dim=2).unbind(dim=1)
        raw = torch.stack((first + n * pivot, second + 2.0 * pivot * first + n * pivot.square()))
        self.team.mean_(raw)
        mean, around = raw[0] / n, raw[1] - raw[0].square() / n
        shifted = n * (mean - pivot)
        # The deviation of all samples has one degree of freedom less than there are of them.
        freedom = self.team.size * (n - 1) / (self.team.size * n - 1)
        partial.zero_()
        partial[:, 0, 0] = shifted.float()
        partial[:, 1, 0] = (around * freedom + shifted.square() / n).float()

    def join_gradient(self) -> None:
        """Let the gradient be that of the whole minibatch of all processes."""
        assert self.team is not None
        self.team.mean_(self.gradient)
        self._reduce(self.gradient, n_programs=1)  # nothing but its squares is new

    def compute_gradient(self, m: int) -> None:
        """Compute the gradient of minibatch m of the iteration."""
        plan, settings = self.plan, self.settings
        self._launch(
            gradient_kernel,
            (self.n_programs, 2),
            self.parameters,
            self.samples,
            self.advantages,
            self.partial,
            self.gradients,
            self.hyper,
            self.counters,
            settings.seed,
            m,
            self.n_samples,
            self.low_bits,
            self.high,
            self.minibatch_size,
            settings.n_minibatches,
            settings.n_epochs,
            self.n_programs,
            self._constants,
            N_PARTS,
            self.walks,
            _MODES[settings.normalize_advantages],
            self.minibatch_size % plan.gradient_block != 0,
            plan.gradient_block,
            self.dtype,
            self.fast,
            num_warps=plan.gradient_warps,
            num_stages=1,
            **plan.gradient_options,
        )
        self._reduce(self.gradients, n_programs=self.n_programs)

    def _reduce(self, gradients: Tensor, *, n_programs: int) -> None:
        """Sum partial gradients of `n_programs` programs, and the squares of the sum."""
        self._launch(
            reduce_kernel,
            (self.squares.numel(),),
            gradients,
            self.gradient,
            self.squares,
            n_programs,
            self.layout.gradient_size,
            BLOCK,
            64,
        )

    def step(self, m: int) -> None:
        """Take the optimiser step that belongs to the gradient of minibatch m."""
        settings, layout = self.settings, self.layout
        # 0 to the power of t is 0 as exp(-1000 t) is.
        log_betas = [math.log(beta) if beta > 0 else -1000.0 for beta in settings.betas]
        block = 256
        self._launch(
            adam_kernel,
            (_divide_up(layout.net_size, block), 2),
            self.parameters,
            self.gradient,
            self.exp_avg,
            self.exp_avg_sq,
            self.squares,
            self.hyper,
            self.counters,
            self.record,
            m,
            self.minibatch_size,
            *settings.betas,
            *log_betas,
            settings.eps,
            settings.weight_decay,
            settings.is_decoupled,
            self._constants,
            _power_of_two(self.squares.numel()),
            BLOCK,
            block,
        )

    def finish(self) -> None:
        """Add up what the iteration did, and count it."""
        self._launch(
            record_kernel,
            (1,),
            self.record,
            self.moments,
            self.totals,
            self.counters,
            self.n_updates,
            self.n_rollout_programs,
            self.n_samples,
            256,
            32,
        )

    def carry_out(self, *, n_updates: int | None = None) -> None:
        """Carry out one iteration, or less of it: `n_updates` optimiser steps."""
        is_joined = self.team is not None and self._compilations is None
        self.rollout()
        self.returns()
        if is_joined and self.settings.normalize_advantages != "none":
            self.join_moments()
        for m in range(self.n_updates if n_updates is None else n_updates):
            self.compute_gradient(m)
            if is_joined:
                self.join_gradient()
            self.step(m)
        self.finish()
