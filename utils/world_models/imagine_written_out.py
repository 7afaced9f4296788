"""`RSSM.imagine` without gradients: fewer, larger operations; weights are cast once.

On a GPU kernels of `fused_steps` do the same with still fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from utils.world_models.dynamics import BlockGRU, bound_actions
from utils.world_models.fused_steps import availability
from utils.world_models.layers import NORM_EPSILON, DenseLayer
from utils.world_models.observe_forward import blocks_of
from utils.world_models.observe_written_out import compute_dtype, gather_weights

if TYPE_CHECKING:
    from utils.world_models.rssm import RSSM, State


class _Layer:
    """A dense layer with its weights in the dtype of the computation."""

    def __init__(self, layer: DenseLayer, dtype: torch.dtype) -> None:
        self.weight, self.bias = layer.linear.weight.t().to(dtype), layer.linear.bias.to(dtype)
        self.norm = layer.norm.weight.to(dtype)

    def __call__(self, x: Tensor) -> Tensor:
        x = torch.addmm(self.bias, x, self.weight)
        return _active(torch._fused_rms_norm(x, self.norm.shape, self.norm, NORM_EPSILON)[0])


class ImaginedStep:
    """One step of a model that `is_written_out`; nothing in it has a gradient."""

    def __init__(self, rssm: RSSM, dtype: torch.dtype, n: int) -> None:
        """Gather the weights, and make room for `n` rows.

        Args:
            rssm: The model.
            dtype: Of the computation.
            n: States that go on at once (N).
        """
        assert isinstance(rssm.dynamics, BlockGRU), rssm.dynamics
        self.weights, shared, self.bias = gather_weights(rssm, dtype, dtype)
        self.shared = torch.cat([self.weights.shared, shared])
        readers = (rssm.dynamics.deter_in, rssm.dynamics.stoch_in, rssm.dynamics.action_in)
        self.action_in = rssm.dynamics.action_in.linear.weight.t().to(dtype)
        self.read_bias = torch.stack([x.linear.bias for x in readers]).to(dtype)
        self.read_norm = torch.stack([x.norm.weight for x in readers]).to(dtype)
        layers, output = rssm.prior
        self.prior = [_Layer(layer, dtype) for layer in layers]
        self.output, self.output_bias = output.weight.t().to(dtype), output.bias.to(dtype)
        self.latent = rssm.latent
        self.read = self.read_bias.new_empty(n, *self.read_bias.shape)
        self.gates_bias = self.weights.gates_bias.view(rssm.dynamics.n_blocks, 1, -1)
        self.gates = self.bias.new_empty(len(self.gates_bias), n, self.gates_bias.shape[-1])

    def advance(self, deter: Tensor, stoch: Tensor, action: Tensor, out: Tensor) -> None:
        """Write the next deterministic states.

        Args:
            deter: (N, D)
            stoch: (N, W)
            action: (N, A)
            out: (N, D)
        """
        w, read, gates, n_blocks = self.weights, self.read, self.gates, len(self.gates)
        read.copy_(self.read_bias)
        read[:, 0].addmm_(deter, w.deter_in)
        read[:, 1].addmm_(stoch, w.stoch_in)
        read[:, 2].addmm_(bound_actions(action).to(read.dtype), self.action_in)
        x = torch._fused_rms_norm(read, read.shape[2:], None, NORM_EPSILON)[0]
        x = _active(x.mul_(self.read_norm))
        mixed = torch.addmm(self.bias, x.flatten(1), self.shared)
        old = blocks_of(deter, n_blocks)
        blocks_of(mixed, n_blocks).baddbmm_(old, w.blocks)
        x = torch._fused_rms_norm(mixed, w.mixed_norm.shape, w.mixed_norm, NORM_EPSILON)[0]
        gates.copy_(self.gates_bias)
        gates.baddbmm_(blocks_of(_active(x), n_blocks), w.gates)
        reset, candidate, update = gates.unflatten(-1, (3, -1)).unbind(-2)
        candidate = reset.sigmoid().mul_(candidate).tanh_()
        torch.lerp(old, candidate, update.sigmoid(), out=blocks_of(out, n_blocks))

    def draw(self, deter: Tensor, noise: Tensor | None) -> Tensor:
        """Return what may be with these deterministic states, (N, W)."""
        for layer in self.prior:
            deter = layer(deter)
        return self.latent.sample(torch.addmm(self.output_bias, deter, self.output), noise)


def _active(x: Tensor) -> Tensor:
    return torch.nn.functional.silu(x, inplace=True)


def imagine_written_out(
    rssm: RSSM,
    start: State,
    choose: Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]],
    noise: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Dream from N states as `RSSM.imagine` does.

    Args:
        rssm: A model that `is_written_out`.
        start: (N, ...)
        choose: deter (N, D), stoch (N, W) and number of the step -> see `RSSM.imagine`.
        noise: (H, N, S, C)

    Returns:
        deter (H + 1, N, D), stoch (H + 1, N, W), both in the dtype of autocast where that is on,
        and the actions (H, N, ...).
    """
    assert not torch.is_grad_enabled(), "this has no gradients"
    if availability.runs_fused(start.deter, width=rssm.deter):
        from utils.world_models.fused_steps.imagine import imagine_fused

        return imagine_fused(rssm, start, choose, noise)
    n_steps, n = noise.shape[:2]
    dtype = compute_dtype(start.deter)
    step = ImaginedStep(rssm, dtype, n)
    deter, stoch = (x.new_empty(n_steps + 1, *x.shape, dtype=dtype) for x in start)
    deter[0].copy_(start.deter)
    stoch[0].copy_(start.stoch)
    actions = []
    for t in range(n_steps):
        action, encoded = choose(deter[t], stoch[t], t)
        actions.append(action)
        with torch.autocast(deter.device.type, enabled=False):
            step.advance(deter[t], stoch[t], encoded, out=deter[t + 1])
            stoch[t + 1].copy_(step.draw(deter[t + 1], noise[t]))
    return deter, stoch, torch.stack(actions)
