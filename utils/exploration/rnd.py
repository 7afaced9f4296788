"""Random network distillation: new is what a network cannot yet predict of a random one."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from utils.exploration.networks import FeatureNetwork
from utils.exploration.novelty import Novelty, Transition
from utils.exploration.whitening import Whitening


def distillation_error(*, prediction: Tensor, target: Tensor) -> Tensor:
    """Compute the squared error of the predictor, averaged over the features.

    ``mean_k((prediction_k - target_k)^2)``

    Burda et al. 2019, "Exploration by Random Network Distillation", section 2.2. No gradient flows
    to the target.

    Differs: the mean over the features rather than their sum, as in the authors' code; the running
    scale of the bonus takes the factor out again.

    Args:
        prediction: (B, K)
        target: (B, K)

    Returns:
        (B,) float, >= 0.
    """
    assert prediction.shape == target.shape, (prediction.shape, target.shape)
    return (prediction - target.detach()).square().mean(dim=-1)


class RandomNetworkDistillation(Novelty):
    """A fixed random network, and one that learns to predict its output on what was seen.

    The predictor has two hidden layers more than the target, as in the paper's appendix A.4.
    """

    def __init__(
        self, whitening: Whitening, *, hidden_dims: Sequence[int], feature_dim: int
    ) -> None:
        """Build both networks; weights are drawn from torch's global generator.

        Args:
            whitening: Of the observations.
            hidden_dims: Units of the target's hidden layers.
            feature_dim: Numbers K that the target puts out.
        """
        super().__init__()
        self.whitening = whitening
        shapes = whitening.shapes
        width = [feature_dim, *hidden_dims][-1]
        self.target = FeatureNetwork(shapes, hidden_dims, output_dim=feature_dim)
        self.target.requires_grad_(False)
        self.predictor = FeatureNetwork(
            shapes, (*hidden_dims, width, width), output_dim=feature_dim
        )

    def _error(self, transition: Transition) -> Tensor:
        parts = self.whitening(transition.next_observation)
        return distillation_error(prediction=self.predictor(parts), target=self.target(parts))

    @torch.no_grad()
    def bonus(self, transition: Transition) -> Tensor:
        """Return the predictor's error on the next observation of each transition, (B,)."""
        return self._error(transition)

    def losses(self, transition: Transition) -> dict[str, Tensor]:
        """Return the same error with its gradient, (B,)."""
        return {"novelty_loss": self._error(transition)}
