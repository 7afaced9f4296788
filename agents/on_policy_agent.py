"""The life of an agent that learns from rollouts of its own policy."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from typing_extensions import override

from agents.base_agent import BaseAgent
from agents.minibatch_walk import walk_minibatches
from agents.records import find_divergence, record_rollout, record_update
from agents.update_report import UpdateLosses, UpdateReport
from agents.whole_rollout import WholeRollout
from utils.dataloaders import HookBatch, RolloutSource, UpdateBatch
from utils.optimization import GradientGroups, build_optimizer, set_learning_rate
from utils.rollouts import Minibatch, RolloutBuffer

if TYPE_CHECKING:
    from agents.shared_rollouts import SharedRollouts
    from utils.distributed.team import Team


class OnPolicyAgent(BaseAgent):
    """One epoch is one rollout and one update; no algorithm's mathematics is here.

    An algorithm says four things: `build_models`, `losses_for_batch`, `build_optimizer`, and
    `build_source` with `compute_targets` for what it learns from. `learn_from` walks all
    minibatches of the update.
    """

    _optimizer: torch.optim.Optimizer | None = None

    shared: SharedRollouts | None = None
    """Joins the rollouts of several processes; None for one alone."""

    @override
    def build_learner(self) -> None:
        self.gradient_groups = GradientGroups(self.policy)
        if self.team is not None:
            from agents.shared_rollouts import SharedRollouts

            assert self.share is not None
            self.shared = SharedRollouts(self.team, self.share)

    @override
    def join_team(self, team: Team) -> None:
        assert self.share is not None
        self.rollout_source.collector.join(team, self.share)

    def n_all_units(self) -> int:
        """Return what minibatches are made of in the rollouts of all processes, together."""
        if self.shared is None:
            return self.rollout_source.buffer.n_units
        return self.shared.n_all_units

    def mean_over_all(self, values: Tensor) -> float:
        """Return the mean of a minibatch's samples, also of those that other processes have."""
        if self.shared is None:
            return float(values.mean())
        return self.shared.team.mean(values, weight=self.shared.n_counted)

    # -- what an algorithm says ---------------------------------------------------------------

    @abstractmethod
    def compute_targets(self, buffer: RolloutBuffer | WholeRollout) -> tuple[Tensor, Tensor]:
        """Turn a collected rollout into advantage and returns, each (T, N).

        Args:
            buffer: The rollout; where several processes collect, that of all their environments.
        """

    def scale_advantage(self, advantage: Tensor) -> Tensor:
        """Scale the advantages of a whole rollout, (T, N), before minibatches are cut."""
        return advantage

    @abstractmethod
    def losses_for_batch(self, minibatch: Minibatch) -> UpdateLosses:
        """Compute the loss of one minibatch."""

    def write_gradients(self, minibatch: Minibatch) -> UpdateLosses:
        """Write the gradient of the loss of one minibatch into the parameters."""
        losses = self.losses_for_batch(minibatch)
        for parameter in self.gradient_groups.parameters:
            parameter.grad = None
        losses.total.backward()
        return losses

    def diagnose_update(self, samples: dict[str, Tensor]) -> dict[str, float]:
        """Compute metrics of a whole update from the samples of all its minibatches, (n,) each."""
        del samples
        return {}

    def build_optimizer(self) -> torch.optim.Optimizer:
        """Build the optimiser of all parameters; its rate is set before each update."""
        return build_optimizer(
            self.config.optimizer,
            self.policy.parameters(),
            lr=self.hyperparameters["policy_lr"],
            kwargs=self.config.optimizer_kwargs,
        )

    @override
    def all_optimizers(self) -> list[torch.optim.Optimizer]:
        return [self.optimizer]

    @override
    def phases(self) -> list[tuple[Any, str, str]]:
        stepper = self.rollout_source.collector.stepper
        return [
            *super().phases(),
            (self, "collect_rollout", "collect"),
            (stepper, "send", "environment"),
            (stepper, "receive", "environment"),
            (self, "compute_targets", "targets"),
            (self, "update_from", "update"),
            (self, "write_gradients", "forward and backward"),
        ]

    # -- one epoch ------------------------------------------------------------------------------

    @override
    def begin_epoch(self) -> None:
        self.collect_rollout()

    def collect_rollout(self) -> None:
        """Collect a rollout with the policy as it is and give it its learning targets."""
        started = time.perf_counter()
        source = self.rollout_source
        source.collector.set_gamma(self.hyperparameters["gamma"])
        summary = source.collect()
        if self.config.reward_scale != 1.0:
            source.buffer.rows(source.buffer.reward).mul_(self.config.reward_scale)
        rollout: RolloutBuffer | WholeRollout = source.buffer
        if self.shared is not None:
            summary, rollout = self.shared.join(summary, source.collector.stepper, source.buffer)
        self.count(summary)
        advantage, returns = self.compute_targets(rollout)
        scaled = self.scale_advantage(advantage)
        if isinstance(rollout, WholeRollout):
            self._finish_share(rollout, scaled, returns)
        else:
            source.finish(advantage=scaled, returns=returns)
        record_rollout(self.recorder, rollout, summary, advantage, returns)
        self.recorder.record("train/time/rollout_seconds", time.perf_counter() - started)

    def _finish_share(self, whole: WholeRollout, advantage: Tensor, returns: Tensor) -> None:
        """Give this process's part of a rollout its targets, (T, N) each of all environments."""
        assert self.shared is not None
        source, own = self.rollout_source, self.shared.own
        source.buffer.rows(source.buffer.value).copy_(own(whole.value))
        source.finish(advantage=own(advantage).contiguous(), returns=own(returns).contiguous())
        self.shared.finish(whole, advantage, source.buffer)

    @override
    def learn_from(self, batch: UpdateBatch | HookBatch) -> None:
        """Finish an epoch: update from its first rollout, then roll out and update on."""
        assert isinstance(batch, UpdateBatch), batch
        self.update_from(batch)
        for _ in range(self.config.rollouts_per_epoch - 1):
            self.collect_rollout()
            following: UpdateBatch = next(iter(self.source.loader))
            self.update_from(following.to(self.compute_device))  # Lightning moves the first only
        self.finish_epoch()

    def update_from(self, batch: UpdateBatch) -> None:
        """Carry out one update: losses, optimiser steps, metrics."""
        started = time.perf_counter()
        set_learning_rate(self.optimizer, self.hyperparameters["policy_lr"])
        report = self.run_update(batch)
        self.counters.updates += len(report.norms)
        self._stop_if_diverged(report)
        limit = self.hyperparameters.get("max_grad_norm")
        record_update(self.recorder, report, self.gradient_groups, max_grad_norm=limit)
        self.recorder.record("train/time/update_seconds", time.perf_counter() - started)

    def run_update(self, batch: UpdateBatch) -> UpdateReport:
        """Take the optimiser steps of one update; the reference that faster ways are held to."""
        if self.shared is not None:
            from agents.shared_update import walk_parts

            return walk_parts(
                self.shared.parts(batch),
                self.shared.team,
                write_gradients=self.write_gradients,
                diagnose=self.diagnose_update,
                optimizer=self.optimizer,
                parameters=self.gradient_groups.parameters,
                max_grad_norm=self.hyperparameters.get("max_grad_norm"),
            )
        return walk_minibatches(
            batch.minibatches(),
            write_gradients=self.write_gradients,
            diagnose=self.diagnose_update,
            optimizer=self.optimizer,
            parameters=self.gradient_groups.parameters,
            max_grad_norm=self.hyperparameters.get("max_grad_norm"),
        )

    @override
    def counts_now(self) -> tuple[int, int]:
        timesteps, updates = super().counts_now()
        if isinstance(self.source, RolloutSource):
            collected = self.source.collector.stepper.n_vec_steps * self.config.n_envs
            timesteps = max(timesteps, collected)  # faster loops do not step by the collector
        return timesteps, updates

    @property
    def rollout_source(self) -> RolloutSource:
        """The source of an agent that learns from rollouts in the collector's buffer."""
        assert isinstance(self.source, RolloutSource), self.source
        return self.source

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """The one optimiser of the run; built when it is first asked for, with a trainer or not."""
        if self._optimizer is None:
            self._optimizer = self.build_optimizer()
        return self._optimizer

    def _stop_if_diverged(self, report: UpdateReport) -> None:
        found = find_divergence(report)
        if found is not None:
            key, value, minibatch = found
            self.stop_diverged(key, value, where=f"minibatch {minibatch + 1}, ")

    @override
    def learner_state(self) -> dict[str, Any]:
        of_all = {} if self.shared is None else {"shared": self.shared.state_dict()}
        return {"optimizer": self.optimizer.state_dict(), **of_all}

    @override
    def load_learner_state(self, state: dict[str, Any]) -> None:
        self.optimizer.load_state_dict(state["optimizer"])
        if self.shared is not None:
            self.shared.load_state_dict(state["shared"])
