"""Many controllers at once in the dream of a model: what episodes there are worth."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from utils.mdn_rnn.model import MdnRnnModel
from utils.world_models.rssm import State

Control = Callable[[Tensor], Tensor]
"""Features (P, R, F) of the states of P controllers -> what each does, encoded, (P, R, A)."""


class DreamPlay(NamedTuple):
    """What P controllers reached in R dreams each."""

    returns: Tensor
    """(P, R) sum of the rewards that the model foretold."""
    lengths: Tensor
    """(P, R) int64, steps until it foretold the end, or the limit."""


@torch.inference_mode()
def play_dreams(
    model: MdnRnnModel,
    control: Control,
    first_latent: Tensor,
    *,
    n_controllers: int,
    n_steps: int,
    temperature: float,
    generator: torch.Generator,
) -> DreamPlay:
    """Let P controllers dream R episodes each; the same R beginnings and draws for all of them.

    An episode is over once the model thinks it likelier than not; the reward that arrives with its
    end counts. Ha and Schmidhuber 2018, "World models", section 4.

    Args:
        model: The world model.
        control: The controllers.
        first_latent: (R, D) of the first picture of each dream.
        n_controllers: How many controllers there are (P).
        n_steps: Longest dream, >= 1.
        temperature: See `NormalMixture.sample`.
        generator: Draws the noise.
    """
    rssm, n_dreams = model.rssm, len(first_latent)
    shape = (n_controllers, n_dreams)
    start = rssm.initial(n_controllers * n_dreams)
    nothing = start.deter.new_zeros(len(start.deter), rssm.cell.input_size - rssm.latent.width)
    memory = rssm.advance(start.deter, start.stoch, nothing)
    state = State(memory, first_latent.expand(*shape, -1).flatten(0, 1))
    returns = memory.new_zeros(shape)
    lengths = torch.zeros(shape, dtype=torch.int64, device=memory.device)
    is_running = torch.ones(shape, dtype=torch.bool, device=memory.device)
    for _ in range(n_steps):
        action = control(state.features.unflatten(0, shape)).flatten(0, 1)
        noise = rssm.latent.draw_noise((n_dreams,), generator).expand(*shape, -1).flatten(0, 1)
        state = rssm.imagine_step(state, action, noise, temperature=temperature)
        reward = model.reward.mean(model.reward(state.features)).unflatten(0, shape)
        returns += reward * is_running
        lengths += is_running
        is_over = model.goes_on(state.features).squeeze(-1).unflatten(0, shape) < 0.0
        is_running &= ~is_over
        if not bool(is_running.any()):
            break
    return DreamPlay(returns, lengths)
