"""The update in which every minibatch replays one captured graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from agents.ppo.capture import (
    DeviceScalars,
    hyperparameters_of,
    learnt_tensors,
    snapshot,
    why_not_capture,
)
from agents.update_report import UpdateReport
from utils.dataloaders import UpdateBatch
from utils.optimization import clip_and_step, set_learning_rate
from utils.optimization.capture import (
    capturing,
    device_learning_rate,
    move_step_counts,
    warm_up_for_capture,
)
from utils.rollouts import Minibatch

if TYPE_CHECKING:
    from agents.ppo.ppo_agent import PPOAgent


def why_not_captured(agent: PPOAgent) -> str | None:
    """Say what keeps an agent's minibatches from being captured; None if nothing does."""
    if agent.policy.has_memory:
        return "the policy has a memory"  # its minibatches are of any shape
    return why_not_capture(agent)


class CapturedUpdate:
    """Loss, gradient, clipping and optimiser step of a minibatch as one CUDA graph.

    A convolutional network's minibatch of some hundred pictures is a hundred operations that the
    GPU is through with faster than Python can launch them. The graph reads a minibatch from tensors
    of its own, and changes parameters and the optimiser's state where they are; it is captured anew
    when one of these has moved or a constant has changed.
    """

    def __init__(self, agent: PPOAgent) -> None:
        """Prepare; nothing is captured yet."""
        assert why_not_captured(agent) is None, why_not_captured(agent)
        self._agent = agent
        self._scalars = DeviceScalars(agent)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._captured_for: tuple[Any, ...] = ()
        self._input: list[Tensor] = []
        self.n_captures = 0

    def update(self, batch: UpdateBatch, hyperparameters: dict[str, float]) -> UpdateReport:
        """Take one optimiser step for each minibatch, as `walk_minibatches` does."""
        agent = self._agent
        move_step_counts(agent.optimizer)
        self._scalars.set(hyperparameters)
        rows, norms, samples = [], [], []
        for minibatch in batch.minibatches():
            key = self._key(minibatch, hyperparameters)
            if self._graph is None or self._captured_for != key:
                self._capture(minibatch, hyperparameters)
            for target, value in zip(self._input, _leaves(minibatch), strict=True):
                target.copy_(value)
            assert self._graph is not None
            self._graph.replay()
            rows.append(self._row.clone())
            norms.append(self._norms.clone())
            samples.append({name: value.clone() for name, value in self._samples.items()})
        # Whoever saves the optimiser shall find the rate that was used, as a number.
        set_learning_rate(agent.optimizer, hyperparameters["policy_lr"])
        return UpdateReport(
            keys=self._keys,
            rows=torch.stack(rows),
            norms=torch.stack(norms),
            summary=agent.diagnose_update(
                {name: torch.cat([s[name] for s in samples]) for name in samples[0]}
            ),
        )

    def _key(self, minibatch: Minibatch, hyperparameters: dict[str, float]) -> tuple[Any, ...]:
        """Return what a captured graph depends on: shapes, constants and addresses."""
        shapes = [tuple(value.shape) for value in _leaves(minibatch)]
        addresses = [tensor.data_ptr() for tensor in learnt_tensors(self._agent)]
        return (shapes, self._scalars.constants(hyperparameters), addresses)

    def _capture(self, minibatch: Minibatch, hyperparameters: dict[str, float]) -> None:
        agent = self._agent
        self._graph = None  # gives its memory back before more is asked for
        self._input = [value.clone() for value in _leaves(minibatch)]
        static = _with_leaves(minibatch, self._input)
        values = {**hyperparameters, **self._scalars.values}
        restore = snapshot(agent)
        with (
            hyperparameters_of(agent, values),
            device_learning_rate(agent.optimizer, self._scalars.values["policy_lr"]),
        ):
            warm_up_for_capture(lambda: self._take_step(static), agent.compute_device)
            restore()
            graph = torch.cuda.CUDAGraph()
            with capturing(graph):
                self._take_step(static)
        self._graph = graph
        self._captured_for = self._key(minibatch, hyperparameters)
        self.n_captures += 1

    def _take_step(self, minibatch: Minibatch) -> None:
        agent = self._agent
        losses = agent.write_gradients(minibatch)
        self._keys = tuple(losses.metrics)
        self._row = torch.stack(tuple(losses.metrics.values())).detach()
        self._samples = losses.samples
        self._norms = clip_and_step(
            agent.optimizer,
            agent.gradient_groups.parameters,
            max_grad_norm=agent.hyperparameters.get("max_grad_norm"),
        )


def _leaves(minibatch: Minibatch) -> list[Tensor]:
    """Return the tensors of a minibatch, in an order of their own."""
    observation, *fields = minibatch
    parts = observation.values() if isinstance(observation, dict) else [observation]
    return [*parts, *(field for field in fields if field is not None)]


def _with_leaves(minibatch: Minibatch, leaves: list[Tensor]) -> Minibatch:
    """Return a minibatch of other tensors, in the order of `_leaves`."""
    rest = iter(leaves)
    observation = minibatch.observation
    if isinstance(observation, dict):
        observation = {key: next(rest) for key in observation}
    else:
        observation = next(rest)
    fields = [None if field is None else next(rest) for field in minibatch[1:]]
    return Minibatch(observation, *fields)
