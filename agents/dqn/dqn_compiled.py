"""DQN's choices and updates as compiled calls, for small Q-networks on the CPU.

An update of a small network is a few dozen calls of torch, each of which costs as much as its
arithmetic. Here the updates of a round are one call: the formulas of `dqn_losses`, the passes of
`utils.compiled`, and the optimiser. `ReplayAgent.make_updates` is the reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from agents.dqn.dqn_compiled_kernels import (
    Batches,
    UpdateSettings,
    choose_best,
    run_compiled_updates,
)
from utils.buffers import TransitionBatch
from utils.compiled.flat_mlp import FlatAdam, FlatMLP
from utils.compiled.torch_adam import adam_settings
from utils.optimization import set_learning_rate
from utils.policies import QNetwork
from utils.rollouts.stepper import Observation

_NO_WEIGHTS = np.empty(0, dtype=np.float32)


def linear_layers(policy: QNetwork) -> list[nn.Linear]:
    """Return the layers of a plain Q-network from input to output."""
    layers = [layer for layer in policy.trunk if isinstance(layer, nn.Linear)]
    stream = policy.advantage
    return [*layers, *(layer for layer in (stream.hidden, stream.output) if layer is not None)]


class CompiledDQN:
    """Works on the parameters of policy and target and on the optimiser's state, in their memory.

    What it leaves is what torch would have left, but for rounding, so an update can be made one way
    and the next one the other.
    """

    def __init__(
        self,
        policy: QNetwork,
        target: QNetwork,
        config: Any,
        *,
        optimizer: torch.optim.Optimizer,
    ) -> None:
        """Move the numbers of both networks into flat memory; nothing is compiled yet.

        Args:
            policy: One for which `why_not_compiled` has nothing to say.
            target: A copy of it.
            config: Of the run.
            optimizer: torch's Adam or AdamW of the policy.
        """
        is_relu = policy.settings.activation == "relu"
        self._policy = policy
        self._online = FlatMLP(linear_layers(policy), is_relu=is_relu)
        self._target = FlatMLP(linear_layers(target), is_relu=is_relu)
        self._adam = FlatAdam(self._online)
        self._adam.bind(optimizer)
        self._optimizer = optimizer
        self._gradient = self._online.new_memory()
        moves_always = config.target_update_timesteps is None
        self._settings = UpdateSettings(
            is_double=config.double,
            is_huber=config.loss == "huber",
            tau=config.target_tau if moves_always else 0.0,
        )
        self._batch_size = config.batch_size

    def choose_best(self, observation: Observation, mask: Tensor | None) -> np.ndarray:
        """Return the actions of the highest value for raw observations (N, ...), (N,) int64."""
        assert mask is None, "masks are for the network's own methods"
        seen = self._policy.normalize(observation)
        assert isinstance(seen, Tensor), type(seen)
        action = np.empty(len(seen), dtype=np.int64)
        rows = seen.numpy().reshape(-1)
        choose_best(self._online.network, self._online.memory, self._online.scratch, rows, action)
        return action

    def update(
        self,
        batch: TransitionBatch,
        *,
        hyperparameters: Mapping[str, float],
    ) -> tuple[Tensor, Tensor]:
        """Take one optimiser step for each batch of transitions.

        Args:
            batch: Of one or more batches one after another, on the CPU.
            hyperparameters: `policy_lr`, and `max_grad_norm`, if there is one.

        Returns:
            (U, 4) float64: loss, mean value, mean error and norm of the gradient of each update;
            and the absolute error of each transition, (U * B,) float32.
        """
        n_updates = len(batch.reward) // self._batch_size
        normalize = self._policy.normalize
        batches = Batches(
            observation=_flat(normalize(batch.observation)),
            next_observation=_flat(normalize(batch.next_observation)),
            action=batch.action.numpy(),
            reward=batch.reward.numpy(),
            discount=batch.discount.numpy(),
            weight=_NO_WEIGHTS if batch.weight is None else batch.weight.numpy(),
        )
        rows = np.empty((n_updates, 4))
        errors = np.empty(len(batch.reward), dtype=np.float32)
        optimizer = self._optimizer
        set_learning_rate(optimizer, hyperparameters["policy_lr"])
        n_before = self._adam.bind(optimizer)
        online = self._online
        run_compiled_updates(
            online.network,
            online.scratch,
            (
                online.memory,
                self._target.memory,
                self._adam.moment1,
                self._adam.moment2,
                self._gradient,
                online.transposed,
            ),
            batches,
            self._batch_size,
            (self._settings, adam_settings(optimizer, hyperparameters.get("max_grad_norm"))),
            (rows, errors),
            n_before,
        )
        self._adam.count(n_before + n_updates)
        return torch.from_numpy(rows), torch.from_numpy(errors)


def _flat(observation: Observation) -> np.ndarray:
    assert isinstance(observation, Tensor), type(observation)
    return np.ascontiguousarray(observation.numpy()).reshape(-1)


def why_not_compiled(policy: QNetwork, config: Any) -> str | None:
    """Say in a few words why the compiled functions cannot stand in; None if they can."""
    kwargs = config.optimizer_kwargs
    known = {"betas", "eps", "weight_decay", "fused", "foreach", "decoupled_weight_decay"}
    unknown = sorted(key for key, value in kwargs.items() if key not in known and value)
    reasons = {
        "debug is set": config.debug,
        f"device is {config.device}": config.device != "cpu",
        f"the optimiser is {config.optimizer}": config.optimizer not in ("Adam", "AdamW"),
        f"the optimiser's option {unknown[:1]}": bool(unknown),
        "the optimiser's eps is 0": kwargs.get("eps") == 0,
    }
    return next((reason for reason, holds in reasons.items() if holds), why_not_plain(policy))


def why_not_plain(policy: QNetwork) -> str | None:
    """Say in a few words why the layers of a network are not all there is to it; None if so."""
    space = policy.encoder.space
    is_vector = isinstance(space, gym.spaces.Box) and space.dtype in (np.float32, np.float64)
    reasons = {
        "noisy is set": policy.is_noisy,
        "dueling is set": policy.value is not None,
        "distribution is c51": policy.is_distributional,
        "actions are masked": policy.has_masks,
        f"the activation is {policy.settings.activation}": (
            policy.settings.activation not in ("tanh", "relu")
        ),
        "observations are not one vector of floats": not is_vector,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
