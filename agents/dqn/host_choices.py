"""The choices of a small Q-network that learns on a GPU, made by the host.

One environment's choice is a few thousand multiplications: the host has made it before a GPU has
been told of it and has answered. Only the weights come over, once for all choices that are made
with them.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agents.dqn.dqn_compiled import linear_layers, why_not_plain
from agents.dqn.dqn_compiled_kernels import choose_best
from utils.compiled.flat_mlp import FlatMLP
from utils.optimization.capture import capturing, warm_up_for_capture
from utils.policies import QNetwork
from utils.rollouts.stepper import Observation

_MOST_PRODUCTS = 1 << 20
"""Of the rows of a vector step and the weights; a GPU that is asked is sooner done with more."""


def why_not_on_host(policy: QNetwork, config: Any) -> str | None:
    """Say in a few words why a GPU's choices are not the host's to make; None if they are."""
    n_weights = sum(parameter.numel() for parameter in policy.parameters())
    reasons = {
        "debug is set": config.debug,
        "observations are normalised by running moments": policy.normalizer.learns,
        "there is much to compute": config.n_envs * n_weights > _MOST_PRODUCTS,
    }
    return why_not_plain(policy) or next((r for r, holds in reasons.items() if holds), None)


class HostChoices:
    """The best actions by the weights as they were when `forget` was last followed by a choice."""

    def __init__(self, policy: QNetwork) -> None:
        """Allocate; nothing is copied yet.

        Args:
            policy: One for which `why_not_on_host` has nothing to say, on any device.
        """
        own = copy.deepcopy(policy).cpu()
        self._normalizer = None if own.normalizer.is_identity else own.normalizer
        self._mlp = FlatMLP(linear_layers(own), is_relu=policy.settings.activation == "relu")
        layers = linear_layers(policy)
        self._weights = [p for layer in layers for p in (layer.weight, layer.bias)]
        self._device = self._weights[0].device
        is_cuda = self._device.type == "cuda"
        size = len(self._mlp.memory)
        self._there = torch.zeros(size, device=self._device)
        self._here = torch.zeros(size, pin_memory=is_cuda)
        self._here_array = self._here.numpy()
        self._parts = self._mlp.views(self._there)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._captured_for: list[int] = []
        self._is_old = True

    def forget(self) -> None:
        """Take note that the weights have changed."""
        self._is_old = True

    def choose_best(self, observation: Observation) -> np.ndarray:
        """Return the actions of the highest value for raw observations (N, ...), (N,) int64."""
        if self._is_old:
            self._fetch()
            self._is_old = False
        assert isinstance(observation, Tensor), type(observation)
        seen = observation.cpu()
        if self._normalizer is not None:
            seen = self._normalizer(seen)
        action = np.empty(seen.shape[0], dtype=np.int64)
        mlp, rows = self._mlp, seen.numpy().reshape(-1)
        choose_best(mlp.network, self._here_array, mlp.scratch, rows, action)
        return action

    def _fetch(self) -> None:
        """Copy the weights, once all that changes them has been done."""
        if self._device.type != "cuda":
            self._put_together()
            self._here.copy_(self._there)
            return
        addresses = [weight.data_ptr() for weight in self._weights]
        if self._graph is None or addresses != self._captured_for:
            with torch.inference_mode(False), torch.no_grad():
                warm_up_for_capture(self._put_together, self._device)
                self._graph = torch.cuda.CUDAGraph()
                with capturing(self._graph):
                    self._put_together()
            self._captured_for = addresses
        self._graph.replay()
        self._here.copy_(self._there, non_blocking=True)
        torch.cuda.current_stream(self._device).synchronize()

    def _put_together(self) -> None:
        for part, weight in zip(self._parts, self._weights, strict=True):
            part.copy_(weight.detach())
