"""`RSSM.observe` with its gradients written out: one loop forward, one loop back, no graph.

What autograd makes of the loop over single steps is bound by the number of operations, not by
arithmetic: a step is some sixty small ones, and its way back twice as many, among them a product
and a sum for the gradient of every weight. Here each loop holds only what depends on the step
before it; all else is done for all steps at once:

- The state's blocks, what they share and the action are read by one matrix each; the part of the
  actions is added up before the loop, and biases lie where products are added to.
- Whatever the way forward tells of the way back (slopes of gates, activations and norms) is worked
  out between them, so that a step back is products of matrices, and of those slopes.
- The loop back finds only the gradients of what products made. The gradients of the weights are
  then one product each, over all steps of all sequences.

Nothing is read back from the device and no shape depends on data. On a GPU `fused_steps.observe`
takes the place of both loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.world_models.dynamics import BlockGRU
from utils.world_models.fused_steps import availability
from utils.world_models.latents import CategoricalLatent
from utils.world_models.layers import RMSNorm
from utils.world_models.observe_backward import go_back, weight_gradients
from utils.world_models.observe_forward import Record, Weights, go_forward

if TYPE_CHECKING:
    from utils.world_models.rssm import RSSM, State


def is_written_out(rssm: RSSM) -> bool:
    """Say whether the model is of the one shape whose gradients are written out here."""
    dynamics, posterior = rssm.dynamics, rssm.posterior
    return (
        isinstance(dynamics, BlockGRU)
        and len(dynamics.layers) == 1
        and len(posterior.layers) == 0
        and isinstance(rssm.latent, CategoricalLatent)
        and isinstance(posterior.norm, RMSNorm)
        and isinstance(posterior.activation, nn.SiLU)
    )


def observe_written_out(
    rssm: RSSM, before: State, action: Tensor, embedding: Tensor, is_first: Tensor, noise: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Go through sequences; see `RSSM.observe` for the arguments.

    Args:
        rssm: A model that `is_written_out`.
        before: (B, ...)
        action: (T, B, A)
        embedding: (T, B, E)
        is_first: (T, B) bool
        noise: (T, B, S, C)

    Returns:
        deter (T, B, D), stoch (T, B, W) and the posterior's parameters (T, B, W), all in the dtype
        of autocast where that is on.
    """
    assert isinstance(rssm.latent, CategoricalLatent), rssm.latent
    dtype = compute_dtype(embedding)
    is_fused = availability.runs_fused(embedding, width=rssm.deter)
    kept = (~is_first).to(dtype).unsqueeze(-1)
    weights, of_action, bias = gather_weights(rssm, dtype, torch.float32 if is_fused else dtype)
    ready = F.linear(rssm.dynamics.read_actions(action * kept), of_action.t(), bias)
    of_embedding = rssm.posterior.read_embedding(embedding)
    start = torch.cat([part.to(dtype) for part in before], dim=-1)
    share = rssm.latent.uniform_share
    function: type[torch.autograd.Function] = _Observe
    if is_fused:
        from utils.world_models.fused_steps.observe import ObserveFused

        function = ObserveFused
    return function.apply(ready, of_embedding, kept, noise, start, share, *weights)


def compute_dtype(x: Tensor) -> torch.dtype:
    """Return the dtype of autocast where that is on, else that of `x`."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype


def gather_weights(
    rssm: RSSM, dtype: torch.dtype, of_vectors: torch.dtype
) -> tuple[Weights, Tensor, Tensor]:
    """Return the loop's weights, what the blocks make of an action's features, and their bias.

    Args:
        rssm: A model that `is_written_out`.
        dtype: Of the computation.
        of_vectors: Of biases and of the weights of norms.

    Returns:
        Weights, (H, D) and (D,).
    """
    dynamics, posterior = rssm.dynamics, rssm.posterior
    assert isinstance(dynamics, BlockGRU), dynamics
    readers = (dynamics.deter_in, dynamics.stoch_in)
    layer, gates = dynamics.layers[0], dynamics.gates
    size, hidden = rssm.deter // dynamics.n_blocks, readers[0].linear.out_features
    # Every block sees the same three features: side by side, their weights are one dense matrix.
    shared = layer.weight[:, size:].transpose(0, 1).reshape(3 * hidden, rssm.deter).to(dtype)
    shift = torch.zeros_like(gates.bias).view(dynamics.n_blocks, 3, size)
    shift[:, 2].fill_(-1.0)
    weights = Weights(
        deter_in=readers[0].linear.weight.t(),
        stoch_in=readers[1].linear.weight.t(),
        read_bias=torch.cat([reader.linear.bias for reader in readers]),
        read_norm=torch.stack([reader.norm.weight for reader in readers]),
        blocks=layer.weight[:, :size],
        shared=shared[: 2 * hidden],
        mixed_norm=dynamics.norms[0].weight,
        gates=gates.weight,
        gates_bias=gates.bias + shift.flatten(),
        seen=posterior.read.weight[:, : rssm.deter].t(),
        seen_norm=posterior.norm.weight,
        output=posterior.output.weight.t(),
        output_bias=posterior.output.bias,
    )
    cast = (
        weight.to(of_vectors if name.endswith(("bias", "norm")) else dtype)
        for name, weight in weights._asdict().items()
    )
    return Weights(*cast), shared[2 * hidden :], layer.bias.to(dtype)


class _Observe(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        ready: Tensor,
        of_embedding: Tensor,
        kept: Tensor,
        noise: Tensor,
        before: Tensor,
        share: float,
        *weights: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        with torch.autocast(ready.device.type, enabled=False):
            record, logits = go_forward(
                ready, of_embedding, kept, noise, before, share=share, weights=Weights(*weights)
            )
        ctx.share = share
        ctx.save_for_backward(kept, *record, *weights)
        deter, stoch = record.state[1:].tensor_split([ready.shape[-1]], dim=-1)
        return deter, stoch, logits

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        kept, *saved = ctx.saved_tensors
        record = Record(*saved[: len(Record._fields)])
        weights = Weights(*saved[len(Record._fields) :])
        with torch.autocast(kept.device.type, enabled=False):
            deltas = go_back(record, kept, *grads, share=ctx.share, weights=weights)
            of_weights = weight_gradients(record, deltas, weights)
        before = torch.cat([deltas.deter[0], deltas.stoch[0]], dim=-1)
        return deltas.mixed, deltas.seen, None, None, before, None, *of_weights
