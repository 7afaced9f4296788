"""`RSSM.imagine` without gradients, as few operations as there are products and kernels between.

A step is products of the state's blocks, of what all blocks read, of the gates and of the prior,
and a kernel after each. See `observe` for what is not a product here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from utils.world_models.dynamics import BlockGRU
from utils.world_models.fused_steps import launches
from utils.world_models.fused_steps.dense import norm_silu_rows
from utils.world_models.latents import CategoricalLatent
from utils.world_models.layers import NORM_EPSILON, DenseLayer
from utils.world_models.observe_forward import blocks_of
from utils.world_models.observe_written_out import compute_dtype, gather_weights

if TYPE_CHECKING:
    from utils.world_models.rssm import RSSM, State


class _Layer:
    """A dense layer of the prior, its weights in the dtype of the computation."""

    def __init__(self, layer: DenseLayer, dtype: torch.dtype) -> None:
        self.weight = layer.linear.weight.t().to(dtype)
        self.bias, self.norm = layer.linear.bias, layer.norm.weight

    def __call__(self, x: Tensor) -> Tensor:
        x = torch.mm(x, self.weight)
        return norm_silu_rows(x, self.bias, self.norm, eps=NORM_EPSILON, out=x)


class FusedStep:
    """One step after another of a model that `is_written_out`."""

    def __init__(self, rssm: RSSM, deter: Tensor, stoch: Tensor) -> None:
        """Gather the weights, make room, and read the states before the first step.

        Args:
            rssm: The model.
            deter: (N, D) in the dtype of the computation.
            stoch: (N, W) likewise; need not be one-hot.
        """
        dynamics, latent = rssm.dynamics, rssm.latent
        assert isinstance(dynamics, BlockGRU), dynamics
        assert isinstance(latent, CategoricalLatent), latent
        dtype, (n, width) = deter.dtype, deter.shape
        self.weights, of_action, self.bias = gather_weights(rssm, dtype, torch.float32)
        w, G = self.weights, len(self.weights.blocks)
        self.shared = torch.cat([w.shared, of_action])
        readers = (dynamics.deter_in, dynamics.stoch_in, dynamics.action_in)
        self.action_in = dynamics.action_in.linear.weight.t().to(dtype).contiguous()
        self.read_bias = torch.stack([x.linear.bias for x in readers])
        self.read_norm = torch.stack([x.norm.weight for x in readers])
        self.first, *others = rssm.prior[0]
        self.layers = [_Layer(layer, dtype) for layer in others]
        self.output, self.output_bias = rssm.prior[1].weight.t().to(dtype), rssm.prior[1].bias
        first = self.first.linear.weight.t().to(dtype)
        of_state = [w.blocks, w.deter_in.unflatten(0, (G, -1)), first.unflatten(0, (G, -1))]
        self.readers = torch.cat(of_state, dim=-1)
        self.size, self.share = width // G, latent.uniform_share
        self.read = deter.new_empty(2, n, *self.read_bias.shape)
        self.active = torch.empty_like(deter)
        self.gates = deter.new_empty(G, n, 3 * self.size)
        self.parts = torch.bmm(blocks_of(deter, G), self.readers)
        self.kept = deter.new_ones(n)
        # What is read of the first latents is the only row to be looked up.
        self.table = torch.mm(stoch, w.stoch_in)
        self.looked_up = torch.arange(n, dtype=torch.int32, device=deter.device).unsqueeze(-1)
        self.later = w.stoch_in.contiguous()
        self.index = self.looked_up.new_empty(n, latent.n_choices)

    def go_on(
        self, deter: Tensor, action: Tensor, noise: Tensor, *, new_deter: Tensor, new_stoch: Tensor
    ) -> None:
        """Write the next states, of those that were written last.

        Args:
            deter: (N, D), of the rows of `new_deter` in stride.
            action: (N, A) float32, contiguous.
            noise: (N, S, C) float32, contiguous.
            new_deter: (N, D)
            new_stoch: (N, W)
        """
        w, (read, active) = self.weights, self.read
        launches.read(
            self.parts,
            self.table,
            self.looked_up,
            self.kept,
            self.read_bias,
            self.read_norm,
            size=self.size,
            out=read,
            active=active,
            action=action,
            action_weight=self.action_in,
        )
        mixed = torch.mm(active.flatten(1), self.shared)
        launches.mix(
            self.parts,
            mixed,
            self.bias,
            self.kept,
            w.mixed_norm,
            size=self.size,
            out=mixed,
            active=self.active,
        )
        torch.bmm(blocks_of(self.active, len(self.gates)), w.gates, out=self.gates)
        launches.open_gates(self.gates, w.gates_bias, self.kept, deter, out=new_deter)
        torch.bmm(blocks_of(new_deter, len(self.gates)), self.readers, out=self.parts)
        self.draw(noise, new_stoch)
        self.table, self.looked_up = self.later, self.index

    def draw(self, noise: Tensor, out: Tensor) -> None:
        """Write what may be with the states that were written last, (N, W)."""
        width = self.first.linear.out_features
        before, hidden = self.parts.new_empty(2, len(noise), width)
        launches.see(
            self.parts,
            self.first.linear.bias,
            self.first.norm.weight,
            offset=self.parts.shape[-1] - width,
            out=before,
            active=hidden,
        )
        for layer in self.layers:
            hidden = layer(hidden)
        logits = torch.mm(hidden, self.output)
        launches.draw(
            logits,
            self.output_bias,
            noise,
            share=self.share,
            logits=logits,
            index=self.index,
            out=out,
        )


def imagine_fused(
    rssm: RSSM,
    start: State,
    choose: Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]],
    noise: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Dream from N states; see `imagine_written_out`."""
    n_steps = len(noise)
    dtype = compute_dtype(start.deter)
    n, width = start.deter.shape
    # Side by side, so that heads read them as they lie.
    states = start.deter.new_empty(n_steps + 1, n, width + start.stoch.shape[1], dtype=dtype)
    deter, stoch = states.tensor_split([width], dim=-1)
    deter[0].copy_(start.deter)
    stoch[0].copy_(start.stoch)
    noise = noise.float().contiguous()
    kind = deter.device.type
    with torch.autocast(kind, enabled=False):
        step = FusedStep(rssm, deter[0], stoch[0])
    actions = []
    for t in range(n_steps):
        action, encoded = choose(deter[t], stoch[t], t)
        actions.append(action)
        with torch.autocast(kind, enabled=False):
            step.go_on(
                deter[t],
                encoded.float().contiguous(),
                noise[t],
                new_deter=deter[t + 1],
                new_stoch=stoch[t + 1],
            )
    return deter, stoch, torch.stack(actions)
