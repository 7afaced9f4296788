"""One iteration of PPO on a device: rollout, returns, update, and what is to be told of them.

Nothing in it waits for the device, as long as neither `target_kl` nor a hyperparameter asks for a
decision on the host, so that the whole of it can be captured in a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from agents.minibatch_walk import walk_minibatches
from agents.ppo.capture import Hyperparameters, hyperparameters_of
from agents.ppo.device_loop import LoopReport
from agents.ppo.device_metrics import MeanSums
from agents.ppo.ppo_losses import approximate_kl, clipped_fraction
from agents.records import total_norms
from agents.shared_update import average_gradients
from agents.update_report import UpdateLosses, UpdateReport
from utils.device_rollouts import (
    DeviceCollector,
    EpisodeSums,
    EpisodeTotals,
    allocate_device_buffer,
    join_totals,
    pick_minibatches,
    shuffled_passes,
)
from utils.returns import explained_variance, generalized_advantage, standardize
from utils.rollouts import Minibatch
from utils.seeding import derive_seed

if TYPE_CHECKING:
    from agents.ppo.ppo_agent import PPOAgent


class DeviceIteration:
    """Rollout, returns and update of an agent whose environment takes and gives tensors.

    Losses, gradients and optimiser steps are the agent's own, minibatch by minibatch.
    """

    def __init__(self, agent: PPOAgent) -> None:
        """Allocate the buffer and seed the generators of actions and of the samples' order."""
        self.agent = agent
        config, self.device = agent.config, agent.compute_device
        self.team = agent.team
        seed = derive_seed(config.seed, "policy", agent.seed_index)
        self.action_generator = self._make_generator(seed)
        self.order_generator = self._make_generator(derive_seed(config.seed, "minibatch"))
        env = agent.train_env
        self.buffer = allocate_device_buffer(env, n_steps=config.n_steps, device=self.device)
        self.collector = DeviceCollector(
            env, agent.policy, self.buffer, generator=self.action_generator
        )
        self.episodes = EpisodeSums(self.device)
        self.means = MeanSums(self.device)
        self.n_steps_taken = 0
        """Optimiser steps since the last `begin`."""
        self._membership = agent.gradient_groups.membership().to(self.device)

    def _make_generator(self, seed: int) -> torch.Generator:
        generator = torch.Generator(device=self.device)
        generator.manual_seed(seed)
        return generator

    def begin(self) -> None:
        """Forget what earlier iterations came to."""
        self.episodes.clear()
        self.means.clear()
        self.n_steps_taken = 0

    def carry_out(self, hyperparameters: Hyperparameters) -> None:
        """Carry out one iteration; the optimiser's learning rate is set.

        Args:
            hyperparameters: Numbers, or scalars on the device.
        """
        self.collector.collect()
        if self.agent.config.reward_scale != 1.0:
            self.buffer.reward.mul_(self.agent.config.reward_scale)
        self.episodes.add(self.buffer)
        with hyperparameters_of(self.agent, hyperparameters):
            samples = self.compute_samples(hyperparameters)
            report = self._update(samples, hyperparameters)
        self.means.add_noted()
        self.n_steps_taken += len(report.norms)

    def compute_samples(self, hyperparameters: Hyperparameters) -> Minibatch:
        """Give the collected rollout its learning targets; returns all samples, (T * N, ...)."""
        buffer = self.buffer
        advantage, returns = generalized_advantage(
            reward=buffer.reward,
            value=buffer.value,
            next_value=buffer.next_value,
            terminated=buffer.terminated,
            done=buffer.done,
            gamma=hyperparameters["gamma"],
            gae_lambda=hyperparameters["gae_lambda"],
        )
        explained = explained_variance(value=buffer.value, returns=returns)
        is_defined = torch.isfinite(explained)
        note = self.means.note
        note("train/ppo/explained_variance", torch.where(is_defined, explained, 0.0), is_defined)
        note("train/roll/learner_reward_mean", buffer.reward.mean())
        for name, field in (("adv", advantage), ("returns", returns)):
            std, mean = torch.std_mean(field, correction=0)
            note(f"train/{name}/mean", mean)
            note(f"train/{name}/std", std)
        if self.agent.config.normalize_advantages == "rollout":
            advantage = standardize(advantage, over=self._of_all(advantage))
        return buffer.samples(advantage=advantage, returns=returns)

    def _of_all(self, field: Tensor) -> Tensor:
        """Return the values of all processes, (W, ...); with one process the field as it is."""
        return field if self.team is None else self.team.gather_stack(field)

    def _minibatches(self, samples: Minibatch, table: Tensor) -> Iterator[Minibatch]:
        """Yield this process's part of each minibatch: every process picks by the same table."""
        if self.team is None:
            yield from pick_minibatches(samples, table)
            return
        of_all = self.team.gather_stack(samples.advantage)
        for index, minibatch in zip(table, pick_minibatches(samples, table), strict=True):
            yield minibatch._replace(whole_advantage=of_all[:, index].reshape(-1))

    def _write_gradients(self, minibatch: Minibatch) -> UpdateLosses:
        """Write the gradient of the whole minibatch, of which each process has an equal part."""
        agent = self.agent
        if self.team is None or agent.shared is None:
            return agent.write_gradients(minibatch)
        agent.shared.n_counted = len(minibatch.returns)
        losses = agent.write_gradients(minibatch)
        parameters = agent.gradient_groups.parameters
        average_gradients(parameters, self.team, weight=1.0 / self.team.size)
        return losses

    def _update(self, samples: Minibatch, hyperparameters: Hyperparameters) -> UpdateReport:
        config, agent = self.agent.config, self.agent
        table = shuffled_passes(
            self.buffer.n_samples,
            n_passes=config.n_epochs,
            batch_size=config.resolved_batch_size // (1 if self.team is None else self.team.size),
            generator=self.order_generator,
        )
        limit = hyperparameters.get("max_grad_norm")
        report = walk_minibatches(
            self._minibatches(samples, table),
            write_gradients=self._write_gradients,
            diagnose=self._note_ratios,
            optimizer=agent.optimizer,
            parameters=agent.gradient_groups.parameters,
            max_grad_norm=limit,
        )
        self._note_update(report, limit)
        return report

    def _note_ratios(self, samples: dict[str, Tensor]) -> dict[str, float]:
        note = self.means.note
        logprobs = {"logprob": samples["logprob"], "old_logprob": samples["old_logprob"]}
        note("train/ppo/approx_kl", approximate_kl(**logprobs).mean())
        clip_range = self.agent.hyperparameters["clip_range"]
        clipped = clipped_fraction(**logprobs, clip_range=clip_range)
        note("train/ppo/clip_fraction", clipped.mean())
        return {}

    def _note_update(self, report: UpdateReport, limit: float | Tensor | None) -> None:
        note = self.means.note
        for key, mean in zip(report.keys, report.rows.mean(dim=0), strict=True):
            note(key, mean, len(report.rows))
            if key == "train/policy/entropy":
                note("train/loss/entropy", -mean, len(report.rows))
        n_steps = len(report.norms)
        if n_steps == 0:
            return
        total = total_norms(report.norms)
        note("train/grad/norm", total.mean(), n_steps)
        if limit is not None:
            note("train/grad/clipped_fraction", (total > limit).float().mean(), n_steps)
        groups = (report.norms.square() @ self._membership).sqrt().mean(dim=0)
        for name, norm in zip(self.agent.gradient_groups.NAMES, groups, strict=True):
            note(f"train/grad/norm_{name}", norm, n_steps)

    def report(self, n_iterations: int, *, n_updates: int) -> LoopReport:
        """Read back what the iterations since `begin` came to."""
        n_vec_steps = n_iterations * self.buffer.n_steps
        n_envs, episodes = self.buffer.n_envs, self.episodes.read()
        if self.team is not None:
            n_envs *= self.team.size
            episodes = join_totals([EpisodeTotals(*part) for part in self.team.gather(episodes)])
        return LoopReport(
            n_timesteps=n_vec_steps * n_envs,
            n_vec_steps=n_vec_steps,
            n_updates=n_updates,
            episodes=episodes,
            metrics=self.means.read(self.team),
        )
