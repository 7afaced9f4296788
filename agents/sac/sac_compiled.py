"""SAC's updates as compiled calls, for vectors and plain networks on the CPU.

All updates of a round are one call: the formulas of `sac_losses`, the passes of `utils.compiled`,
and the optimisers. `ReplayAgent.make_updates` is the reference: the same draws, the same numbers
but for rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from agents.sac.sac_compiled_kernels import (
    Actor,
    Batches,
    FlatOptimizer,
    UpdateSettings,
    run_compiled_updates,
)
from agents.sac.sac_compiled_passes import Critics
from utils.compiled.flat_ensemble import FlatEnsemble, FlatNumber
from utils.compiled.flat_mlp import FlatAdam, FlatMLP, FlatParameters
from utils.compiled.torch_adam import adam_settings
from utils.optimization import set_learning_rate
from utils.policies.continuous_actor import LOG_STD_RANGE, SquashedNormalActor

if TYPE_CHECKING:
    from utils.buffers import TransitionBatch
    from utils.models.critic_ensemble import CriticEnsemble
    from utils.models.temperature import Temperature

_NO_WEIGHTS = np.empty(0, dtype=np.float32)
_N_NUMBERS = 7
"""Columns that `run_compiled_updates` reports."""


class _Optimizer:
    """One of torch's optimisers, its state and a gradient in flat memory."""

    def __init__(self, flat: FlatParameters, optimizer: torch.optim.Optimizer | None) -> None:
        self._optimizer = optimizer
        self._adam = FlatAdam(flat)
        memory = (flat.new_memory(), self._adam.moment1, self._adam.moment2)
        self._memory = tuple(part.reshape(-1) for part in memory)
        if optimizer is not None:  # torch's own fused step knows no memory with gaps
            self._adam.bind(optimizer)

    def bind(self, others: _Optimizer, hyperparameters: Mapping[str, float]) -> FlatOptimizer:
        """Return the state as it is now; without an optimiser, with the settings of another."""
        optimizer = self._optimizer
        n_before = 0
        if optimizer is not None:
            set_learning_rate(optimizer, hyperparameters["policy_lr"])
            n_before = self._adam.bind(optimizer)
        settings = adam_settings(
            optimizer or others._optimizer, hyperparameters.get("max_grad_norm")
        )
        return FlatOptimizer(*self._memory, settings, n_before)

    def count(self, n_steps: int) -> None:
        """Write the number of steps taken so far."""
        self._adam.count(n_steps)


class CompiledSAC:
    """Works on all parameters and on the optimisers' state, in their memory.

    What it leaves is what torch would have left, but for rounding, so an update can be made one way
    and the next one the other.
    """

    def __init__(
        self,
        policy: SquashedNormalActor,
        critic: CriticEnsemble,
        target: CriticEnsemble,
        temperature: Temperature,
        config: Any,
        *,
        optimizers: Mapping[str, torch.optim.Optimizer],
        target_entropy: float,
    ) -> None:
        """Move all numbers into flat memory; nothing is compiled yet.

        Args:
            policy: One for which `why_not_compiled` has nothing to say.
            critic: Its critics.
            target: A copy of them.
            temperature: Learns if there is an optimiser for it.
            config: Of the run.
            optimizers: torch's Adam or AdamW for "policy", "critic" and, perhaps, "temperature".
            target_entropy: In nats.
        """
        is_relu = config.policy_kwargs.activation == "relu"
        actor = FlatMLP(linear_layers(policy), is_relu=is_relu)
        critics, targets = (
            FlatEnsemble(list(net.weights), list(net.biases), is_relu=is_relu)
            for net in (critic, target)
        )
        number = FlatNumber(temperature.log_alpha)
        self._policy, self._log_alpha = policy, number.memory
        self._actor = Actor(actor.network, actor.memory, actor.transposed, actor.scratch)
        self._critics = Critics(
            critics.network,
            critics.memory,
            targets.memory,
            critics.transposed,
            critics.scratch,
            critics.scratches,
        )
        self._optimizers = [
            _Optimizer(actor, optimizers["policy"]),
            _Optimizer(critics, optimizers["critic"]),
            _Optimizer(number, optimizers.get("temperature")),
        ]
        self._settings = UpdateSettings(
            *LOG_STD_RANGE,
            tau=config.target_tau,
            target_entropy=target_entropy,
            learns_temperature="temperature" in optimizers,
        )
        self._batch_size = config.batch_size

    def update(
        self, batch: TransitionBatch, noise: Tensor, *, hyperparameters: Mapping[str, float]
    ) -> tuple[Tensor, Tensor]:
        """Make one update for each batch of transitions.

        Args:
            batch: Of one or more batches one after another, on the CPU.
            noise: (U, 2, B, A) standard normal, of the targets' actions and of the actor's.
            hyperparameters: `policy_lr`, and `max_grad_norm`, if there is one.

        Returns:
            (U, 7) float64: losses of critics and actor, mean value, entropy, temperature, norms of
            the gradients of critics and actor; and the mean absolute error of each transition,
            (U * B,) float32.
        """
        n_updates = len(noise)
        normalize = self._policy.normalize
        batches = Batches(
            observation=_flat(normalize(batch.observation)),
            next_observation=_flat(normalize(batch.next_observation)),
            action=_flat(batch.action),
            reward=batch.reward.numpy(),
            discount=batch.discount.numpy(),
            weight=_NO_WEIGHTS if batch.weight is None else batch.weight.numpy(),
            noise=noise.reshape(n_updates, 2, -1).numpy(),
        )
        rows = np.empty((n_updates, _N_NUMBERS))
        errors = np.empty(len(batch.reward), dtype=np.float32)
        first = self._optimizers[0]
        bound = tuple(optimizer.bind(first, hyperparameters) for optimizer in self._optimizers)
        run_compiled_updates(
            self._actor,
            self._critics,
            self._log_alpha,
            bound,
            batches,
            self._batch_size,
            self._settings,
            (rows, errors),
        )
        for optimizer, before in zip(self._optimizers, bound, strict=True):
            optimizer.count(before.n_before + n_updates)
        return torch.from_numpy(rows), torch.from_numpy(errors)


def linear_layers(policy: SquashedNormalActor) -> list[nn.Linear]:
    """Return the layers of a plain actor from input to output."""
    return [*(layer for layer in policy.trunk if isinstance(layer, nn.Linear)), policy.head]


def _flat(rows: Any) -> np.ndarray:
    assert isinstance(rows, Tensor), type(rows)
    return rows.to(torch.float32).contiguous().numpy().reshape(-1)


def why_not_compiled(policy: Any, config: Any) -> str | None:
    """Say in a few words why the compiled functions cannot stand in; None if they can."""
    space, kwargs = policy.encoder.space, config.policy_kwargs
    known = {"betas", "eps", "weight_decay", "fused", "foreach", "decoupled_weight_decay"}
    options = config.optimizer_kwargs
    unknown = sorted(key for key, value in options.items() if key not in known and value)
    is_vector = isinstance(space, gym.spaces.Box) and space.dtype in (np.float32, np.float64)
    reasons = {
        "debug is set": config.debug,
        f"device is {config.device}": config.device != "cpu",
        "actions are choices": not isinstance(policy, SquashedNormalActor),
        "observations are not one vector of floats": not is_vector,
        f"the activation is {kwargs.activation}": kwargs.activation not in ("relu", "tanh"),
        "critic_layer_norm is set": kwargs.critic_layer_norm,
        f"the optimiser is {config.optimizer}": config.optimizer not in ("Adam", "AdamW"),
        f"the optimiser's option {unknown[:1]}": bool(unknown),
        "the optimiser's eps is 0": options.get("eps") == 0,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
