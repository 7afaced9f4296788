"""One update from a replay buffer as operations of the device alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from utils.models.fast_products import products_by_tensor_cores
from utils.optimization.capture import device_learning_rate

if TYPE_CHECKING:
    from agents.replay_agent import ReplayAgent

N_AT_ONCE = 256
"""Updates that are made ready for in one call, at most."""


class ReplayUpdate:
    """Draws, gathers, learns, and writes down what the update says; its inputs stay in place.

    A graph of a GPU replays it; without one it does the same when it is called. Where the draw is
    uniform, the indices of many updates are drawn at once before, for it does not depend on what
    they do. A prioritised draw is a part of the update, as are its weights and the new priorities.
    """

    def __init__(self, agent: ReplayAgent) -> None:
        """Allocate the inputs."""
        self._agent = agent
        self._is_prioritized = agent.config.prioritized_replay
        device, size = agent.compute_device, agent.source.plan.pace.batch_size
        shape = (1 if self._is_prioritized else N_AT_ONCE, size)
        self._index = torch.zeros(shape, dtype=torch.int64, device=device)
        self._turn = torch.zeros(1, dtype=torch.int64, device=device)
        self._rows: Tensor | None = None
        self.rate, self.limit, self.beta = torch.zeros((3,), device=device).unbind()
        """() each: learning rate, bound of the norm, exponent of the importance weights."""
        self.keys: tuple[str, ...] = ()
        """Metric keys of what it says; known once it has been run."""

    def set_numbers(self) -> None:
        """Put the agent's hyperparameters where the update reads them."""
        values = self._agent.hyperparameters
        self.rate.fill_(values["policy_lr"])
        self.limit.fill_(values.get("max_grad_norm", 0.0))
        self.beta.fill_(values.get("importance_exponent", 0.0))

    def load(self, n_updates: int) -> None:
        """Get ready for as many updates as will be run before the next call, N_AT_ONCE at most."""
        assert 0 < n_updates <= N_AT_ONCE, n_updates
        self._turn.zero_()
        self._agent.source.buffer.flush()
        if not self._is_prioritized:
            self._index[:n_updates].copy_(self._agent.source.draw(n_updates))

    def run(self) -> None:
        """Carry one out."""
        agent, source = self._agent, self._agent.source
        if self._is_prioritized:
            batch = source.sample(beta=self.beta)
        else:
            batch = source.buffer.gather(self._index.index_select(0, self._turn)[0])
        with products_by_tensor_cores():
            learned = agent.learn(agent.prepare(batch))
        if self._is_prioritized:
            assert learned.error is not None, "prioritised draws need errors"
            source.buffer.update_priorities(batch.index, learned.error)
        self._write_down(learned.metrics)

    def _write_down(self, metrics: dict[str, Tensor]) -> None:
        row = torch.stack(tuple(metrics.values()))
        self.keys = tuple(metrics)
        if self._rows is None:
            self._rows = row.new_zeros((N_AT_ONCE, len(row)))
        self._rows.index_copy_(0, self._turn, row[None])
        self._turn += 1

    def said(self, n_updates: int) -> Tensor:
        """Return what the updates since `load` have said, (n_updates, n_keys), a copy."""
        assert self._rows is not None, "run() comes first"
        return self._rows[:n_updates].clone()

    def tensors(self) -> list[Tensor]:
        """Return what it changes beside what the agent learns."""
        priorities = self._agent.source.buffer.priorities
        return [self._turn, *([] if priorities is None else priorities.tensors())]

    def generators(self) -> list[torch.Generator]:
        """Return all that it draws from."""
        own = [self._agent.source.generator] if self._is_prioritized else []
        return [*own, *self._agent.learner_generators()]

    @contextmanager
    def numbers_on_device(self) -> Iterator[None]:
        """Let the agent and its optimisers read their numbers from the device."""
        numbers = self._agent.hyperparameters
        with ExitStack() as stack:
            if "max_grad_norm" in numbers:
                stack.callback(numbers.__setitem__, "max_grad_norm", numbers["max_grad_norm"])
                numbers["max_grad_norm"] = self.limit
            for optimizer in self._agent.optimizers.values():
                stack.enter_context(device_learning_rate(optimizer, self.rate))
            yield
