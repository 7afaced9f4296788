"""`RSSM.observe` with its gradients, as few operations as there are products and kernels between.

A step forward is four products and five kernels; a step back is five of each:

- Whatever reads a state is one product of its blocks: what the next step mixes, what the next step
  reads, and what the posterior sees of it.
- A state before the first of an episode is not set to zero: kernels leave out what it would add.
- Latents are one-hot, so that no product is made of them: rows of the weights are added up.
- The way back works slopes out anew from what products made. The gradients of the weights are one
  product each over all steps, as in `utils.world_models.observe_backward`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from utils.world_models.fused_steps.observe_backward import go_back, weight_gradients
from utils.world_models.fused_steps.observe_forward import FusedRecord, go_forward
from utils.world_models.observe_forward import Weights


class ObserveFused(torch.autograd.Function):
    """What `observe_written_out` applies, with the same arguments."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        ready: Tensor,
        of_embedding: Tensor,
        kept: Tensor,
        noise: Tensor,
        before: Tensor,
        share: float,
        *weights: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return states (T, B, D), latents (T, B, W) and the posterior's parameters (T, B, W)."""
        kept = kept.contiguous()  # of a buffer's sequences it is a view, which no kernel knows
        with torch.autocast(ready.device.type, enabled=False):
            record = go_forward(
                ready, of_embedding, kept, noise, before, share=share, weights=Weights(*weights)
            )
        ctx.settings = {"share": share, "n_classes": noise.shape[-1]}
        ctx.save_for_backward(kept, *record, *weights)
        deter, stoch = record.state[1:].tensor_split([ready.shape[-1]], dim=-1)
        return deter, stoch, record.logits

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        """Return the gradients of what can have one."""
        kept, *saved = ctx.saved_tensors
        n = len(FusedRecord._fields)
        record, weights = FusedRecord(*saved[:n]), Weights(*saved[n:])
        with torch.autocast(kept.device.type, enabled=False):
            deltas = go_back(record, kept, *grads, weights=weights, **ctx.settings)
            of_weights = weight_gradients(record, deltas, kept, weights)
            before = deltas.of_before(kept[0], weights) if ctx.needs_input_grad[4] else None
        return deltas.mixed, deltas.seen, None, None, before, None, *of_weights
