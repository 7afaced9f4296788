"""Intrinsic curiosity: new is what follows from an action in a way that could not be foreseen."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from utils.exploration.actions import ActionCode
from utils.exploration.networks import FeatureNetwork, dense_network
from utils.exploration.novelty import Novelty, Transition
from utils.exploration.whitening import Whitening


def forward_error(*, prediction: Tensor, next_feature: Tensor) -> Tensor:
    """Compute how far the next features are from those that were foreseen.

    ``1/2 ||prediction - next_feature||^2``

    Pathak et al. 2017, "Curiosity-driven Exploration by Self-supervised Prediction", equation 5;
    times the weight eta it is the bonus of equation 6.

    Args:
        prediction: (B, K)
        next_feature: (B, K)

    Returns:
        (B,) float, >= 0.
    """
    assert prediction.shape == next_feature.shape, (prediction.shape, next_feature.shape)
    return 0.5 * (prediction - next_feature).square().sum(dim=-1)


class IntrinsicCuriosity(Novelty):
    """Encoder, inverse model (which action was it?) and forward model (what follows from it?).

    The encoder learns to tell what the action has to do with; what nobody can influence, such as
    noise on a screen, has no reason to be in its features, and so earns no bonus.
    """

    def __init__(
        self,
        whitening: Whitening,
        action_code: ActionCode,
        *,
        hidden_dims: Sequence[int],
        feature_dim: int,
        forward_weight: float,
    ) -> None:
        """Build the three networks; weights are drawn from torch's global generator.

        Args:
            whitening: Of the observations.
            action_code: Of the action space.
            hidden_dims: Units of the hidden layers of each of the three.
            feature_dim: Numbers K of the features.
            forward_weight: beta of the paper, in (0, 1).
        """
        super().__init__()
        self.whitening = whitening
        self.action_code = action_code
        self.forward_weight = forward_weight
        self.encoder = FeatureNetwork(whitening.shapes, hidden_dims, output_dim=feature_dim)
        self.inverse_model = dense_network(
            2 * feature_dim, hidden_dims, output_dim=action_code.width
        )
        self.forward_model = dense_network(
            feature_dim + action_code.width, hidden_dims, output_dim=feature_dim
        )

    def _encode(self, transition: Transition) -> tuple[Tensor, Tensor]:
        return (
            self.encoder(self.whitening(transition.observation)),
            self.encoder(self.whitening(transition.next_observation)),
        )

    def _forward_error(self, feature: Tensor, next_feature: Tensor, action: Tensor) -> Tensor:
        foreseen = self.forward_model(torch.cat([feature, self.action_code(action)], dim=-1))
        return forward_error(prediction=foreseen, next_feature=next_feature)

    @torch.no_grad()
    def bonus(self, transition: Transition) -> Tensor:
        """Return the forward model's error of each transition, (B,) (equation 6 without eta)."""
        return self._forward_error(*self._encode(transition), transition.action)

    def losses(self, transition: Transition) -> dict[str, Tensor]:
        """Return ``(1 - beta) L_I + beta L_F`` (equation 7), L_F and L_I, (B,) each.

        The gradients of both reach the encoder, as in the equation.
        """
        feature, next_feature = self._encode(transition)
        foreseen = self._forward_error(feature, next_feature, transition.action)
        guess = self.inverse_model(torch.cat([feature, next_feature], dim=-1))
        guessed = self.action_code.guess_loss(guess, transition.action)
        beta = self.forward_weight
        return {
            "novelty_loss": (1.0 - beta) * guessed + beta * foreseen,
            "forward_loss": foreseen,
            "inverse_loss": guessed,
        }
