"""An actor-critic as the compiled functions see it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import nn

from utils.compiled.eligibility import why_not_compiled
from utils.compiled.network import Network, Scratch, plan_networks
from utils.compiled.parameters import log_std_position, plan_segments
from utils.compiled.tiles import aligned_zeros, padded
from utils.distributions import DiagonalNormal
from utils.policy_factory import ActorCritic


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """The layout of a policy's numbers, and flat memory for its parameters."""

    actor: Network
    critic: Network
    scratch: Scratch
    parameters: list[nn.Parameter]
    """The policy's own, in the order of `named_parameters`."""
    segments: np.ndarray
    """See `utils.compiled.parameters.plan_segments`."""
    packed: np.ndarray
    """Flat float32, both networks and `log_std`, filled by `pack`."""
    transposed: np.ndarray
    """Flat float32, see `utils.compiled.network.transpose_weights`."""
    log_std_at: int
    """Where `log_std` lies in `packed`; -1 for a categorical policy."""
    n_outputs: int
    """Number of actions to choose from, or of action dimensions."""

    @classmethod
    def of(cls, policy: ActorCritic) -> CompiledPolicy:
        """Lay out a policy for which `why_not_compiled` has nothing to say."""
        reason = why_not_compiled(policy)
        assert reason is None, reason
        trunk = policy.trunk
        is_normal = isinstance(policy.distribution, DiagonalNormal)
        n_outputs = (policy.actor_head.mean if is_normal else policy.actor_head).out_features
        hidden = [int(weight.shape[2]) for weight in trunk.weights]
        inputs = [policy.encoder.output_dim, *hidden]
        (actor, critic), scratch, n_packed, n_transposed = plan_networks(
            [[*inputs, n_outputs], [*inputs, 1]], is_relu=trunk.activation_name == "relu"
        )
        parameters = list(policy.parameters())
        log_std_at = log_std_position((actor, critic)) if is_normal else -1
        return cls(
            actor=actor,
            critic=critic,
            scratch=scratch,
            parameters=parameters,
            segments=plan_segments(policy, (actor, critic), parameters),
            packed=aligned_zeros(n_packed + (padded(n_outputs) if is_normal else 0)),
            transposed=aligned_zeros(n_transposed),
            log_std_at=log_std_at,
            n_outputs=n_outputs,
        )

    def addresses(self) -> np.ndarray:
        """Return where the parameters lie in memory now, (n_parameters,) int64."""
        return np.array([parameter.data_ptr() for parameter in self.parameters], dtype=np.int64)
