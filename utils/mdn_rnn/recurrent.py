"""The recurrent model (M): what the next picture's numbers may be, given all before."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.distributions.normal_mixture import NormalMixture
from utils.mdn_rnn.vae import sample_normal
from utils.world_models.rssm import Imagined, State


class VaeLatent:
    """What a picture became (posterior), and what was expected of it (prior).

    The posterior is a normal distribution of `VaeEncoder`, the prior a mixture. One noise serves
    both. See `utils.world_models.latents.Latent`, whose part this takes in dreams.
    """

    def __init__(self, mixture: NormalMixture) -> None:
        """Bind the family of what is expected."""
        self.mixture, self.width = mixture, mixture.width
        self.n_parameters = mixture.n_parameters

    def draw_noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Return the randomness of latents of a batch shape, on the generator's device."""
        return self.mixture.draw_noise(shape, generator)

    def see(self, posterior: Tensor, noise: Tensor | None) -> Tensor:
        """Return latents (..., D) of what was seen, (..., 2 D); the means without noise."""
        return sample_normal(posterior, None if noise is None else noise[..., : self.width])

    def expect(self, prior: Tensor, noise: Tensor | None, *, temperature: float = 1.0) -> Tensor:
        """Return latents (..., D) of what is expected; the likeliest without noise."""
        if noise is None:
            return self.mixture.likeliest(prior)
        return self.mixture.sample(prior, noise, temperature=temperature)

    def divergence(self, posterior: Tensor, prior: Tensor) -> Tensor:
        """Return how far what was seen is from what was expected, (...) in nats, a bound."""
        mean, log_var = posterior.chunk(2, dim=-1)
        return self.mixture.divergence_from_normal(mean, log_var, prior)


class MdnRnn(nn.Module):
    """An LSTM with a mixture density as its output, and what is read off it beside that.

    Ha and Schmidhuber 2018, "World models", section 2.2 and appendix A.2. The state of a moment is
    the LSTM's memory of all before it, and the numbers of the picture that is there now; so it is a
    state-space model like `RSSM` and keeps that one's methods. Where an episode begins, memory,
    latent and action before it are zeros: what the LSTM makes of them is an expectation of first
    pictures.

    Attributes:
        deter: Width of the memory: output and cell of the LSTM.
        latent: The families of latents.
    """

    def __init__(self, latent: VaeLatent, n_actions: int, *, units: int) -> None:
        """Build the layers.

        Args:
            latent: Of D numbers.
            n_actions: Width of an encoded action (A).
            units: Of the LSTM (H).
        """
        super().__init__()
        self.latent, self.units, self.deter = latent, units, 2 * units
        self.cell = nn.LSTMCell(latent.width + n_actions, units)
        self.output = nn.Linear(units, latent.n_parameters)

    @property
    def n_features(self) -> int:
        """Width of the features of a state."""
        return self.deter + self.latent.width

    def initial(self, n: int) -> State:
        """Return the states before anything was seen: zeros."""
        like = self.output.weight
        return State(like.new_zeros(n, self.deter), like.new_zeros(n, self.latent.width))

    def hidden(self, features: Tensor) -> Tensor:
        """Return the LSTM's output (..., H) out of features or memories."""
        return features[..., : self.units]

    def prior(self, deter: Tensor) -> Tensor:
        """Return the parameters of what is expected (..., P) of memories (..., 2 H)."""
        return self.output(self.hidden(deter))

    def advance(self, deter: Tensor, latent: Tensor, action: Tensor) -> Tensor:
        """Return the memory (B, 2 H) after latents (B, D) and encoded actions (B, A)."""
        read = torch.cat([latent, action], dim=-1)
        return self._advance(deter, F.linear(read, self.cell.weight_ih, self.cell.bias_ih))

    def _advance(self, deter: Tensor, of_input: Tensor) -> Tensor:
        hidden, cell = deter.chunk(2, dim=-1)
        gates = of_input + F.linear(hidden, self.cell.weight_hh, self.cell.bias_hh)
        into, kept, new, out = gates.chunk(4, dim=-1)
        cell = kept.sigmoid() * cell + into.sigmoid() * new.tanh()
        return torch.cat([out.sigmoid() * cell.tanh(), cell], dim=-1)

    def remember(self, latent: Tensor, action: Tensor, is_first: Tensor) -> Tensor:
        """Go through sequences with an empty memory before each; returns memories (T, B, 2 H).

        Args:
            latent: (T, B, D) of each step.
            action: (T, B, A) what was done there, encoded.
            is_first: (T, B) bool, an episode began there.
        """
        kept = (~is_first).to(latent.dtype).unsqueeze(-1)
        read = torch.cat([latent, action], dim=-1)
        read = torch.cat([torch.zeros_like(read[:1]), read[:-1]]) * kept
        of_input = F.linear(read, self.cell.weight_ih, self.cell.bias_ih)
        deter, deters = latent.new_zeros(latent.shape[1], self.deter), []
        for t in range(len(latent)):
            deter = self._advance(deter * kept[t], of_input[t])
            deters.append(deter)
        return torch.stack(deters)

    def observe_step(
        self,
        before: State,
        action: Tensor,
        embedding: Tensor,
        is_first: Tensor | None = None,
        noise: Tensor | None = None,
    ) -> tuple[State, Tensor]:
        """Take in one observation (B, ...); returns the state and the posterior's parameters.

        Args:
            before: State of the step before.
            action: (B, A) what was done there, encoded.
            embedding: (B, 2 D) of `VaeEncoder`.
            is_first: (B,) bool, an episode begins; None where none does.
            noise: Of the latent; None for its mean.
        """
        deter, stoch = before
        if is_first is not None:
            kept = (~is_first).to(embedding.dtype).unsqueeze(-1)
            deter, stoch, action = deter * kept, stoch * kept, action * kept
        deter = self.advance(deter, stoch, action)
        return State(deter, self.latent.see(embedding, noise)), embedding

    def imagine_step(
        self, state: State, action: Tensor, noise: Tensor | None, *, temperature: float = 1.0
    ) -> State:
        """Go on one step (B, ...) without seeing; without noise to the likeliest latent."""
        deter = self.advance(state.deter, state.stoch, action)
        expected = self.latent.expect(self.prior(deter), noise, temperature=temperature)
        return State(deter, expected)

    def imagine(
        self, start: State, choose: Callable[[State, int], tuple[Tensor, Tensor]], noise: Tensor
    ) -> Imagined:
        """Dream from N states for as many steps as there is noise; see `RSSM.imagine`."""
        states, actions = [start], []
        for step in range(len(noise)):
            action, encoded = choose(states[-1], step)
            actions.append(action)
            states.append(self.imagine_step(states[-1], encoded, noise[step]))
        deter, stoch = (torch.stack(part) for part in zip(*states, strict=True))
        return Imagined(State(deter, stoch), torch.stack(actions))
