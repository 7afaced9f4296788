"""The recurrent state-space model: what was, what is seen, and what may come."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.models.mlp import ACTIVATIONS
from utils.world_models.dynamics import Dynamics
from utils.world_models.imagine_written_out import imagine_written_out
from utils.world_models.latents import Latent
from utils.world_models.layers import build_dense_stack, build_linear, build_norm
from utils.world_models.observe_written_out import is_written_out, observe_written_out


class State(NamedTuple):
    """What the model believes at one moment of each of B sequences."""

    deter: Tensor
    """(B, D) what follows from the past."""
    stoch: Tensor
    """(B, W) what was drawn."""

    @property
    def features(self) -> Tensor:
        """What heads read, (B, D + W); nothing is copied where both lie in one row already."""
        if _lie_side_by_side(*self):
            width = self.deter.shape[-1] + self.stoch.shape[-1]
            shape, start = (*self.deter.shape[:-1], width), self.deter.storage_offset()
            return self.deter.as_strided(shape, self.deter.stride(), start)
        return torch.cat([self.deter, self.stoch.to(self.deter.dtype)], dim=-1)


def _lie_side_by_side(deter: Tensor, stoch: Tensor) -> bool:
    """Say whether rows of both, without gradients, are rows of one tensor."""
    return (
        not (deter.requires_grad or stoch.requires_grad)
        and deter.dtype == stoch.dtype
        and deter.stride() == stoch.stride()
        and deter.stride(-1) == 1
        and deter.untyped_storage().data_ptr() == stoch.untyped_storage().data_ptr()
        and deter.storage_offset() + deter.shape[-1] == stoch.storage_offset()
    )


class Observed(NamedTuple):
    """What the model made of T steps of B sequences."""

    state: State
    """(T, B, ...) with what was seen at each step taken in."""
    posterior: Tensor
    """(T, B, P) parameters of what `stoch` was drawn from."""
    prior: Tensor
    """(T, B, P) parameters of what the model expected before it saw."""


class Imagined(NamedTuple):
    """What the model dreamt for H steps from N states."""

    state: State
    """(H + 1, N, ...), the states it began with included."""
    action: Tensor
    """(H, N, ...) as `choose` returned them."""


class Posterior(nn.Module):
    """Parameters of a latent from state and observation, the observation's part apart.

    That part does not depend on the state, so it is worked out for all steps at once.
    """

    def __init__(
        self,
        deter: int,
        embedding: int,
        n_parameters: int,
        *,
        width: int,
        n_layers: int,
        norm: str,
        activation: str,
    ) -> None:
        """Build the layers; see `build_dense_stack`."""
        super().__init__()
        assert n_layers >= 1, n_layers
        self._deter = deter
        self.read = build_linear(deter + embedding, width)
        self.norm = build_norm(norm, width)
        self.activation = ACTIVATIONS[activation]()
        self.layers = build_dense_stack(
            width, width, n_layers=n_layers - 1, norm=norm, activation=activation
        )
        self.output = build_linear(width, n_parameters)

    def read_embedding(self, embedding: Tensor) -> Tensor:
        """Return the part of the first layer that embeddings (..., E) make, (..., width)."""
        return F.linear(embedding, self.read.weight[:, self._deter :], self.read.bias)

    def forward(self, deter: Tensor, of_embedding: Tensor) -> Tensor:
        """Return parameters (..., P) from (..., D) and (..., width)."""
        read = F.linear(deter, self.read.weight[:, : self._deter]) + of_embedding
        return self.output(self.layers(self.activation(self.norm(read))))


class RSSM(nn.Module):
    """Hafner et al. 2019, "Learning latent dynamics for planning from pixels", section 3.

    The state of a moment is a deterministic part, which the last state and action lead to, and a
    stochastic one: drawn from the *prior* where nothing is seen, and from the *posterior* where an
    observation is. All sequences are time-major.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        latent: Latent,
        *,
        embedding: int,
        hidden: int,
        n_prior_layers: int,
        n_posterior_layers: int,
        norm: str,
        activation: str,
    ) -> None:
        """Build prior and posterior around the dynamics.

        Args:
            dynamics: A module that advances deterministic states.
            latent: The family of the stochastic ones.
            embedding: Width of an encoded observation (E).
            hidden: Width of the layers of prior and posterior.
            n_prior_layers: Layers of the prior, >= 1.
            n_posterior_layers: Layers of the posterior, >= 1.
            norm: See `build_norm`.
            activation: Key of `ACTIVATIONS`.
        """
        super().__init__()
        assert isinstance(dynamics, nn.Module), dynamics
        self.dynamics: Dynamics = dynamics  # type: ignore[assignment]
        self.latent, self.deter = latent, dynamics.width
        kinds = {"norm": norm, "activation": activation}
        self.prior = nn.Sequential(
            build_dense_stack(self.deter, hidden, n_layers=n_prior_layers, **kinds),
            build_linear(hidden, latent.n_parameters),
        )
        self.posterior = Posterior(
            self.deter,
            embedding,
            latent.n_parameters,
            width=hidden,
            n_layers=n_posterior_layers,
            **kinds,
        )

    @property
    def n_features(self) -> int:
        """Width of what heads read."""
        return self.deter + self.latent.width

    def initial(self, n: int) -> State:
        """Return the states before anything was seen: zeros."""
        like = self.posterior.output.weight
        return State(like.new_zeros(n, self.deter), like.new_zeros(n, self.latent.width))

    def observe(
        self, before: State, action: Tensor, embedding: Tensor, is_first: Tensor, noise: Tensor
    ) -> Observed:
        """Go through sequences with what was seen.

        Where an episode begins neither the state before nor the action that led there has any
        influence.

        Args:
            before: (B, ...) states before the first step.
            action: (T, B, A) what was done before each step, encoded.
            embedding: (T, B, E) what was seen at each step.
            is_first: (T, B) bool, an episode began there.
            noise: (T, B, ...) see `Latent.draw_noise`.
        """
        if not is_written_out(self):
            return self.observe_step_by_step(before, action, embedding, is_first, noise)
        deter, stoch, parameters = observe_written_out(
            self, before, action, embedding, is_first, noise
        )
        return Observed(State(deter, stoch), parameters, self.prior(deter))

    def observe_step_by_step(
        self, before: State, action: Tensor, embedding: Tensor, is_first: Tensor, noise: Tensor
    ) -> Observed:
        """Do what `observe` does as it is read: of any model, with gradients by autograd."""
        kept = (~is_first).to(embedding.dtype).unsqueeze(-1)
        action_features = self.dynamics.read_actions(action * kept)
        seen = self.posterior.read_embedding(embedding)
        deter, stoch = before
        deters, stochs, posteriors = [], [], []
        for t in range(len(action)):
            deter = self.dynamics(deter * kept[t], stoch * kept[t], action_features[t])
            parameters = self.posterior(deter, seen[t])
            stoch = self.latent.sample(parameters, noise[t])
            deters.append(deter)
            stochs.append(stoch)
            posteriors.append(parameters)
        deter = torch.stack(deters)
        state = State(deter, torch.stack(stochs))
        return Observed(state, torch.stack(posteriors), self.prior(deter))

    def observe_step(
        self,
        before: State,
        action: Tensor,
        embedding: Tensor,
        is_first: Tensor | None = None,
        noise: Tensor | None = None,
    ) -> tuple[State, Tensor]:
        """Take in one observation (B, ...); returns the state and the posterior's parameters.

        See `observe` for the arguments; without `is_first` no episode begins, and without noise the
        likeliest latent is taken.
        """
        deter, stoch = before
        if is_first is not None:
            kept = (~is_first).to(embedding.dtype).unsqueeze(-1)
            deter, stoch, action = deter * kept, stoch * kept, action * kept
        deter = self.dynamics(deter, stoch, self.dynamics.read_actions(action))
        parameters = self.posterior(deter, self.posterior.read_embedding(embedding))
        return State(deter, self.latent.sample(parameters, noise)), parameters

    def imagine_step(self, state: State, action: Tensor, noise: Tensor | None) -> State:
        """Go on one step (B, ...) without seeing; without noise to the likeliest latent."""
        deter = self.dynamics(*state, self.dynamics.read_actions(action))
        return State(deter, self.latent.sample(self.prior(deter), noise))

    def imagine(
        self,
        start: State,
        choose: Callable[[State, int], tuple[Tensor, Tensor]],
        noise: Tensor,
    ) -> Imagined:
        """Dream from N states for as many steps as there is noise.

        Args:
            start: (N, ...)
            choose: State and number of the step -> actions (N, ...), and the same encoded (N, A).
            noise: (H, N, ...) see `Latent.draw_noise`.
        """
        if torch.is_grad_enabled() or not is_written_out(self):
            return self.imagine_step_by_step(start, choose, noise)
        deter, stoch, action = imagine_written_out(
            self, start, lambda deter, stoch, step: choose(State(deter, stoch), step), noise
        )
        return Imagined(State(deter, stoch), action)

    def imagine_step_by_step(
        self,
        start: State,
        choose: Callable[[State, int], tuple[Tensor, Tensor]],
        noise: Tensor,
    ) -> Imagined:
        """Do what `imagine` does as it is read: of any model, and with gradients."""
        states, actions = [start], []
        for step in range(len(noise)):
            action, encoded = choose(states[-1], step)
            actions.append(action)
            states.append(self.imagine_step(states[-1], encoded, noise[step]))
        deter, stoch = (torch.stack(part) for part in zip(*states, strict=True))
        return Imagined(State(deter, stoch), torch.stack(actions))
