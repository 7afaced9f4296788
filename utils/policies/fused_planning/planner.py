"""The whole plan: see `LatentPlanningPolicy.plan_with`, which this does with fewer operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch
import triton
from torch import Tensor, nn

from utils.models.triton_support import assert_dense
from utils.planning.mppi import Planned, PlanNoise, carry_out, shift
from utils.policies.fused_planning.kernels import (
    draw_kernel,
    refine_kernel,
    returns_kernel,
    squash_kernel,
)
from utils.policies.fused_planning.networks import (
    PaddedWeights,
    padded,
    run_critics,
    run_layers,
    write_next,
)
from utils.world_models.action_prior import LOG_STD_MAX, LOG_STD_MIN, SquashedPrior
from utils.world_models.number_codes import BinnedNumber

if TYPE_CHECKING:
    from utils.policies.latent_planning_policy import LatentPlanningPolicy

_DRAWN_AT_ONCE = 256
_ROWS_VALUED_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class _Memory:
    """What a plan of N problems works in; rows are a latent state, an action, and zeros."""

    candidates: Tensor
    """(H + 1, N, K, D)"""
    proposals: Tensor
    """(H, N, P, D)"""
    weights: PaddedWeights


class FusedPlanner:
    """Plans for the policy that it is given at each call; keeps memory only."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._memory: dict[tuple[int, torch.device], _Memory] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return a state without memory, which belongs to this planner's policy alone."""
        return {"_memory": {}}

    @torch.no_grad()
    def plan(
        self,
        policy: LatentPlanningPolicy,
        latent: Tensor,
        mean: Tensor,
        noise: PlanNoise,
        proposed: Tensor,
    ) -> Planned:
        """Plan from latent states (N, L); see `LatentPlanningPolicy.plan_with`.

        Args:
            policy: Its networks and settings.
            latent: (N, L) float32.
            mean: (H, N, A) of the last plan.
            noise: Of the plans.
            proposed: (H, N or 1, P, A) noise of what the prior proposes.
        """
        settings, model = policy.settings, policy.model
        memory = self._memory_of(policy, latent)
        memory.weights.refresh()
        n, n_latent, n_actions = len(latent), model.latent_dim, model.n_actions
        candidates = memory.candidates
        candidates[0, ..., :n_latent] = latent.unsqueeze(1)
        if policy.n_proposals:
            self._propose(policy, memory, latent, proposed.contiguous())
        mean = shift(mean)
        std = torch.full_like(mean, settings.max_std)
        elites = mean.new_empty((settings.horizon, n, settings.n_elites, n_actions))
        values = mean.new_empty((n, settings.n_elites))
        scores = torch.empty_like(values)
        for drawn in noise.candidates.contiguous():
            self._draw(policy, memory, mean, std, drawn)
            worth = self._value(policy, memory)
            assert_dense(mean, std, drawn, worth, elites, values, scores)
            refine_kernel[(n,)](
                worth,
                candidates[..., n_latent:],
                mean,
                std,
                elites,
                values,
                scores,
                policy.min_std,
                n,
                settings.n_candidates,
                settings.n_elites,
                candidates.stride(2),
                settings.temperature,
                settings.max_std,
                settings.momentum,
                H=settings.horizon,
                A=n_actions,
                K_BLOCK=triton.next_power_of_2(settings.n_candidates),
                E_BLOCK=triton.next_power_of_2(settings.n_elites),
                A_BLOCK=triton.next_power_of_2(n_actions),
                num_warps=4,
            )
        action = carry_out(elites[0], scores, std[0], noise)
        return Planned(action, mean, std, elites, values, scores)

    def _memory_of(self, policy: LatentPlanningPolicy, latent: Tensor) -> _Memory:
        key = (len(latent), latent.device)
        if key not in self._memory:
            settings, model = policy.settings, policy.model
            width = padded(model.latent_dim + model.n_actions)
            # What inference mode makes can be written to only there.
            with torch.inference_mode(False):

                def rows(n_steps: int, n_rows: int) -> Tensor:
                    shape = (n_steps, len(latent), n_rows, width)
                    return torch.zeros(shape, device=latent.device)

                self._memory[key] = _Memory(
                    rows(settings.horizon + 1, settings.n_candidates),
                    rows(settings.horizon, policy.n_proposals),
                    PaddedWeights(),
                )
        return self._memory[key]

    def _propose(
        self, policy: LatentPlanningPolicy, memory: _Memory, latent: Tensor, proposed: Tensor
    ) -> None:
        """Let the prior act where its own actions lead; its actions become the first candidates."""
        n_latent, n_actions = policy.model.latent_dim, policy.model.n_actions
        rows = memory.proposals.flatten(1, 2)
        memory.proposals[0, ..., :n_latent] = latent.unsqueeze(1)
        for step, noise in enumerate(proposed):
            _act(policy, rows[step], noise, memory.weights)
            if step + 1 < len(rows):
                write_next(policy.model.dynamics, rows[step], rows[step + 1], memory.weights)
        actions = slice(n_latent, n_latent + n_actions)
        given = memory.candidates[:-1, :, : policy.n_proposals, actions]
        given.copy_(memory.proposals[..., actions])

    def _draw(
        self,
        policy: LatentPlanningPolicy,
        memory: _Memory,
        mean: Tensor,
        std: Tensor,
        drawn: Tensor,
    ) -> None:
        """Write the candidates that are drawn; `drawn` is (H, N or 1, K - P, A)."""
        n_latent, n_candidates = policy.model.latent_dim, policy.settings.n_candidates
        n_steps, n, width = mean.shape
        size = n_steps * n * (n_candidates - policy.n_proposals) * width
        draw_kernel[(triton.cdiv(size, _DRAWN_AT_ONCE),)](
            mean,
            std,
            drawn,
            memory.candidates[..., n_latent:],
            size,
            n,
            drawn.shape[1],
            n_candidates,
            policy.n_proposals,
            memory.candidates.stride(2),
            A=width,
            BLOCK=_DRAWN_AT_ONCE,
        )

    def _value(self, policy: LatentPlanningPolicy, memory: _Memory) -> Tensor:
        """Return what the candidates are worth, (N, K)."""
        model, weights = policy.model, memory.weights
        _, n, n_candidates, width = memory.candidates.shape
        rows = memory.candidates.flatten(1, 2)
        for step in range(len(rows) - 1):
            write_next(model.dynamics, rows[step], rows[step + 1], weights)
        reward = run_layers(model.reward, rows[:-1].reshape(-1, width), weights)
        end = reward
        if model.end is not None:
            after = rows[1:].reshape(-1, width)[:, : model.latent_dim]
            end = run_layers(model.end, after, weights) + model.end[-1].bias
        _act(policy, rows[-1], None, weights)
        critics = run_critics(model.critics, rows[-1], weights)
        number = cast(BinnedNumber, model.number)
        worth = rows.new_empty((n, n_candidates))
        returns_kernel[(triton.cdiv(n * n_candidates, _ROWS_VALUED_AT_ONCE),)](
            reward,
            model.reward[-1].bias,
            critics,
            model.critics.biases[-1],
            end,
            number.bins,
            policy.discount,
            worth,
            n * n_candidates,
            reward.shape[-1],
            end.shape[-1],
            H=len(rows) - 1,
            E=len(critics),
            N_BINS=number.n_outputs,
            LEAST=policy.takes_least,
            HAS_END=model.end is not None,
            R=_ROWS_VALUED_AT_ONCE,
            BLOCK=triton.next_power_of_2(number.n_outputs),
            num_warps=2,
        )
        return worth


def _act(
    policy: LatentPlanningPolicy, rows: Tensor, noise: Tensor | None, weights: PaddedWeights
) -> None:
    """Write the prior's actions behind the latent states of rows (M, D).

    Args:
        policy: Its prior acts.
        rows: States are read, actions written.
        noise: (N or 1, P, A), row r reads row r modulo their number; None for the mode.
        weights: Of the prior's layers.
    """
    model = policy.model
    prior = cast(SquashedPrior, model.prior)
    layers = cast(nn.Sequential, prior.layers)
    states, actions = rows[:, : model.latent_dim], rows[:, model.latent_dim :]
    output = run_layers(layers, states, weights)
    squash_kernel[(len(rows),)](
        output,
        layers[-1].bias,
        output if noise is None else noise,
        actions,
        output.stride(0),
        rows.stride(0),
        1 if noise is None else noise.shape[0] * noise.shape[1],
        A=model.n_actions,
        LOG_STD_MIN=LOG_STD_MIN,
        LOG_STD_MAX=LOG_STD_MAX,
        HAS_NOISE=noise is not None,
        BLOCK=triton.next_power_of_2(model.n_actions),
        num_warps=1,
    )
