"""What an update says about itself, whichever way it was carried out."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor


@dataclass(frozen=True, slots=True)
class UpdateLosses:
    """What one minibatch says: the loss to descend and the numbers to watch."""

    total: Tensor
    """Scalar with gradient."""
    metrics: dict[str, Tensor]
    """Metric key -> scalar; averaged over the minibatches of an update."""
    samples: dict[str, Tensor]
    """Name -> (B,) detached values that `diagnose_update` looks at, once for the whole update."""
    stops_update: bool = False
    """Leave the rest of this update, this minibatch's step included."""


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """What a whole update says: all its minibatches and optimiser steps."""

    keys: tuple[str, ...]
    """Metric keys, one per column of `rows`."""
    rows: Tensor
    """(n_minibatches, n_keys) the terms of the loss of every minibatch that was looked at."""
    norms: Tensor
    """(n_steps, n_parameters) L2 norm of each parameter's gradient before clipping, in the order of
    `GradientGroups.parameters`; fewer rows than `rows` where the update was left early."""
    summary: dict[str, float] = field(default_factory=dict)
    """Metrics of the update as a whole."""
