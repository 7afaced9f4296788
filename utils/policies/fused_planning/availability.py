"""Whether the fused kernels can plan for a policy; needs no Triton."""

from __future__ import annotations

from typing import TYPE_CHECKING

from utils.models.triton_support import why_no_triton
from utils.world_models.action_prior import SquashedPrior
from utils.world_models.latent_layers import SimplexNorm
from utils.world_models.number_codes import BinnedNumber

if TYPE_CHECKING:
    from utils.policies.latent_planning_policy import LatentPlanningPolicy

ALIGNMENT = 8
"""Widths of matrices are multiples of this many numbers, so that tensor cores can read them."""
_MAX_CANDIDATES = 4096
"""What one program of the GPU sorts."""
_MAX_ELITES_NUMBERS = 64 * 256
"""Elites times numbers of an action, what one program of the GPU holds at once."""


def why_not(policy: LatentPlanningPolicy) -> str | None:
    """Say what keeps the fused kernels from planning for a policy here; None if nothing does."""
    reason = find_unsupported(policy)
    if reason is not None:
        return reason
    device = policy.discount.device
    return why_no_triton() if device.type == "cuda" else f"device is {device.type}"


def find_unsupported(policy: LatentPlanningPolicy) -> str | None:
    """Say what of networks or settings the kernels do not know, on any machine."""
    model, settings = policy.model, policy.settings
    n_numbers = settings.n_elites * model.n_actions
    output = model.dynamics[-1]
    reasons = {
        "norm or activation are not those of TD-MPC2": not model.is_normed_mish,
        "latent states are not normed by simplex": not isinstance(output, SimplexNorm),
        "numbers are not distributions over bins": not isinstance(model.number, BinnedNumber),
        "the prior is not a squashed normal": not isinstance(model.prior, SquashedPrior),
        "the width of a layer is not a multiple of 8": any(
            width % ALIGNMENT for width in (model.latent_dim, model.critics.width)
        ),
        f"{settings.n_candidates} candidates are more than {_MAX_CANDIDATES}": (
            settings.n_candidates > _MAX_CANDIDATES
        ),
        f"{settings.n_elites} elites of {model.n_actions} numbers are too many": (
            n_numbers > _MAX_ELITES_NUMBERS
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
