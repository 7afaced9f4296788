"""Action masks: choices that a state forbids get no probability."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.distributions.protocol import Parameters

FORBIDDEN_LOGIT = -1e8
"""Logit of a forbidden choice (Huang and Ontanon 2020, "A Closer Look at Invalid Action Masking",
section 3). Its probability is exactly 0 in float32, and, unlike with minus infinity, so is its part
of entropy and gradient: 0 times a finite number."""


def mask_parameters(parameters: Parameters, mask: Tensor) -> Parameters:
    """Forbid choices of a Categorical, MultiCategorical or Bernoulli distribution.

    Log-probabilities, entropy and mode of the result are those of the allowed choices alone, and no
    gradient reaches the logits of the others. A forbidden bit of a Bernoulli is 0.

    Args:
        parameters: (logits (B, n),)
        mask: (B, n) bool, which choices are allowed; at least one of each group.

    Returns:
        (masked logits (B, n),)
    """
    (logits,) = parameters
    assert mask.shape == logits.shape, (mask.shape, logits.shape)
    assert mask.dtype == torch.bool, mask.dtype
    return (logits.masked_fill(~mask, FORBIDDEN_LOGIT),)
