"""Memories: recurrent cells of one shape side by side, stepped or unrolled over sequences."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.models.initialization import orthogonal_blocks_

N_GATES = {"gru": 3, "lstm": 4}
"""Blocks of weights of each kind of cell."""


class Memory(nn.Module):
    """K recurrent cells of one kind and width, each with weights of its own.

    The cells of actor and critic share nothing; stacking their weights, (K, in, gates * H), halves
    the number of operations, which is what a small cell's time goes into. A sequence is a loop over
    time, whatever the device: a state can be forgotten at any step of it, acting and learning carry
    out the same operations, and on a CPU torch's own layers are such a loop too.

    - gru (Cho et al. 2014, "Learning Phrase Representations using RNN Encoder-Decoder"; the reset
      gate is applied after the product, as in cuDNN):
      ``r, z = sigmoid(W x + U h)``, ``n = tanh(W_n x + r * (U_n h + b))``,
      ``h' = (1 - z) n + z h``.
    - lstm (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000):
      ``i, f, o = sigmoid(W x + U h)``, ``g = tanh(W_g x + U_g h)``, ``c' = f c + i g``,
      ``h' = o tanh(c')``.

    A state is one row of floats for each sequence, (B, state_dim), zero before an episode's first
    observation. What it holds is nobody else's business.
    """

    def __init__(
        self, kind: str, input_dim: int, units: int, *, n_cells: int, orthogonal_init: bool
    ) -> None:
        """Build the cells.

        Args:
            kind: "gru" or "lstm".
            input_dim: Width of each cell's input.
            units: Width H of each cell's output.
            n_cells: K.
            orthogonal_init: Every gate's weights orthogonal, biases zero; else uniform within
                ``1 / sqrt(H)``, torch's own choice.
        """
        super().__init__()
        self.kind, self.units, self.n_cells = kind, units, n_cells
        width = N_GATES[kind] * units
        self._n_kept = 2 if kind == "lstm" else 1
        self.state_dim = n_cells * self._n_kept * units
        self.input_weight = nn.Parameter(torch.empty(n_cells, input_dim, width))
        self.input_bias = nn.Parameter(torch.empty(n_cells, 1, width))
        self.state_weight = nn.Parameter(torch.empty(n_cells, units, width))
        # Only the candidate of a GRU tells the bias of the state from that of the input.
        self.state_bias: nn.Parameter | None = None
        if kind == "gru":
            self.state_bias = nn.Parameter(torch.empty(n_cells, 1, units))
        self._initialize(orthogonal=orthogonal_init)

    def _initialize(self, *, orthogonal: bool) -> None:
        if not orthogonal:
            bound = 1.0 / math.sqrt(self.units)
            for parameter in self.parameters():
                nn.init.uniform_(parameter, -bound, bound)
            return
        for parameter in self.parameters():
            nn.init.zeros_(parameter)
        for weight in (self.input_weight, self.state_weight):
            orthogonal_blocks_(weight, n_blocks=N_GATES[self.kind])

    def initial_state(self, n: int) -> Tensor:
        """Return the state before the first observation, (n, state_dim) zeros."""
        return self.input_weight.new_zeros((n, self.state_dim))

    def step(self, features: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Take in one observation of each of B sequences.

        Args:
            features: (K, B, in) what each cell reads.
            state: (B, state_dim)

        Returns:
            Outputs (K, B, H) and the new state (B, state_dim).
        """
        cells = self._advance(self._project(features), self._state_bias(), self._unpack(state))
        return cells[0], self._pack(cells)

    def unroll(self, features: Tensor, state: Tensor, is_start: Tensor) -> Tensor:
        """Take in L observations of each of S sequences, one after another.

        Args:
            features: (K, L, S, in) what each cell reads.
            state: (S, state_dim) before the first observation.
            is_start: (L, S) bool, the observation is the first of an episode: nothing from before
                it is remembered, and no gradient flows back over it.

        Returns:
            (K, L, S, H) outputs.
        """
        shape = features.shape[:3]
        parts = self._project(features.flatten(1, 2))
        steps = zip(*(part.view(*shape, -1).unbind(1) for part in parts), strict=True)
        forgets = is_start.any(dim=1).tolist()
        keep = (~is_start).to(features.dtype).unsqueeze(-1)
        bias, cells = self._state_bias(), self._unpack(state)
        outputs = []
        for t, projected in enumerate(steps):
            if forgets[t]:
                cells = tuple(part * keep[t] for part in cells)
            cells = self._advance(projected, bias, cells)
            outputs.append(cells[0])
        return torch.stack(outputs, dim=1)

    def _project(self, features: Tensor) -> tuple[Tensor, ...]:
        """Map inputs (K, B, in) to what each step adds to the gates, in the parts it is read in.

        They are cut here, for all steps at once: a slice in the loop costs as much as its gates.
        """
        n = self.units
        projected = torch.baddbmm(self.input_bias, features, self.input_weight)
        return projected.split([2 * n, n] if self.kind == "gru" else [4 * n], dim=-1)

    def _state_bias(self) -> Tensor | None:
        """Return the bias of a GRU's state for all its gates, (K, 1, 3 H); None for an LSTM."""
        return None if self.state_bias is None else F.pad(self.state_bias, (2 * self.units, 0))

    def _advance(
        self, projected: tuple[Tensor, ...], bias: Tensor | None, cells: tuple[Tensor, ...]
    ) -> tuple[Tensor, ...]:
        """Advance by one step: parts of the projected inputs, and of the state, (K, B, ...)."""
        if bias is None:
            return _advance_lstm(*projected, self.state_weight, *cells)
        return _advance_gru(*projected, self.state_weight, bias, *cells)

    def _unpack(self, state: Tensor) -> tuple[Tensor, ...]:
        """(B, state_dim) to one or two tensors (K, B, H): the output, and an LSTM's cell."""
        parts = state.view(state.shape[0], self._n_kept, self.n_cells, self.units)
        return parts.permute(1, 2, 0, 3).unbind(0)

    def _pack(self, cells: tuple[Tensor, ...]) -> Tensor:
        return torch.stack(cells).permute(2, 0, 1, 3).flatten(1)


def _advance_gru(
    gates: Tensor, candidate: Tensor, weight: Tensor, bias: Tensor, hidden: Tensor
) -> tuple[Tensor, ...]:
    n = hidden.shape[-1]
    recurrent, remembered = torch.baddbmm(bias, hidden, weight).split([2 * n, n], dim=-1)
    reset, update = (gates + recurrent).sigmoid().chunk(2, dim=-1)
    return (torch.lerp(torch.addcmul(candidate, reset, remembered).tanh(), hidden, update),)


def _advance_lstm(
    projected: Tensor, weight: Tensor, hidden: Tensor, cell: Tensor
) -> tuple[Tensor, ...]:
    n = hidden.shape[-1]
    gates, candidate = torch.baddbmm(projected, hidden, weight).split([3 * n, n], dim=-1)
    take, forget, show = gates.sigmoid().chunk(3, dim=-1)
    cell = torch.addcmul(forget * cell, take, candidate.tanh())
    return show * cell.tanh(), cell
