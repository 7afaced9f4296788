"""Deep Q-learning, and with all options Rainbow.

Mnih et al. 2015, "Human-level control through deep reinforcement learning", algorithm 1; Hessel et
al. 2018, "Rainbow: Combining improvements in deep reinforcement learning".
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor
from typing_extensions import override

from agents.dqn.dqn_losses import (
    best_action,
    cross_entropy,
    divergence,
    project_distribution,
    td_terms,
)
from agents.replay_agent import Learned, ReplayAgent, ReplayBatch
from utils.config import DQNConfig
from utils.dataloaders import Round
from utils.models.captured_call import CapturedCall
from utils.models.fast_products import products_by_tensor_cores
from utils.models.noisy import draw_noise
from utils.policies import QNetwork, QNetworkSettings, build_q_network
from utils.rollouts.epsilon_greedy import EpsilonGreedy
from utils.rollouts.stepper import Observation
from utils.seeding import derive_seed

if TYPE_CHECKING:
    from agents.dqn.dqn_compiled import CompiledDQN
    from agents.dqn.host_choices import HostChoices

KEYS = ("train/loss/total", "train/dqn/q_mean", "train/dqn/td_error", "train/grad/norm")
"""Metric keys, one per column of what compiled updates report."""


class DQNAgent(ReplayAgent):
    """A network learns the value of every action from stored transitions."""

    config: DQNConfig
    policy: QNetwork

    @staticmethod
    @override
    def build_models(
        config: DQNConfig, observation_space: gym.Space, action_space: gym.Space
    ) -> QNetwork:
        kwargs = config.policy_kwargs
        is_c51 = config.distribution == "c51"
        settings = QNetworkSettings(
            hidden_dims=kwargs.hidden_dims,
            activation=kwargs.activation,
            orthogonal_init=kwargs.orthogonal_init,
            feature_dim=kwargs.feature_dim,
            normalize_obs=config.normalize_obs,
            clip_obs=config.clip_obs,
            action_masks=config.action_masks,
            dueling=config.dueling,
            noisy_std=config.noisy_std if config.noisy else None,
            atoms=(config.v_min, config.v_max, config.n_atoms) if is_c51 else None,
            eval_epsilon=config.eval_epsilon,
        )
        written = frozenset(kwargs.model_fields_set)
        return build_q_network(observation_space, action_space, settings, written=written)

    @override
    def build_learner(self) -> None:
        super().build_learner()
        if self.compute_device.type == "cuda" and self.shared is None:
            # Weights of convolutions lie as the tensor cores read them. Gradients that processes
            # join come back as if they did not.
            self.policy.to(memory_format=torch.channels_last)
        self.target = copy.deepcopy(self.policy).requires_grad_(False)
        self.networks["target"] = self.target
        self.optimizers["policy"] = self.new_optimizer(self.policy.parameters())
        self.noise_generator = torch.Generator(device=self.compute_device)
        self.noise_generator.manual_seed(derive_seed(self.config.seed, "exploration"))
        self._n_target_periods = 0
        self._n_offline_updates = 0
        self.compiled, self.path = self._choose_update()
        self._captured_best: CapturedCall | None = None
        self._on_host: HostChoices | None = None
        if self.compute_device.type == "cuda":
            self._choose_acting()

    def _choose_acting(self) -> None:
        """Find the fastest way to choose actions with a policy on a GPU."""
        from agents.dqn.host_choices import HostChoices, why_not_on_host

        if why_not_on_host(self.policy, self.config) is None:
            self._on_host = HostChoices(self.policy)
            self.path = f"choices by the host, {self.path}"
        elif not self.policy.normalizer.learns:
            self._captured_best = CapturedCall(self._best, generators=[self.noise_generator])

    @property
    @override
    def acting_device(self) -> torch.device:
        return self.compute_device if self._on_host is None else torch.device("cpu")

    def _choose_update(self) -> tuple[CompiledDQN | None, str]:
        """Find the fastest way; say what carries out updates and why, in a few words."""
        from agents.dqn.dqn_compiled import CompiledDQN, why_not_compiled

        reason = self.shared_path() or why_not_compiled(self.policy, self.config)
        if reason is not None:
            return None, self.torch_path(reason)
        compiled = CompiledDQN(
            self.policy, self.target, self.config, optimizer=self.optimizers["policy"]
        )
        return compiled, "compiled choices and updates"

    @override
    def build_explorer(self) -> EpsilonGreedy:
        return EpsilonGreedy(
            self.choose_best,
            epsilon=lambda timesteps: self.value_now("epsilon", timesteps),
            n_actions=self.policy.n_actions,
            always_asks=self.policy.is_noisy and self.team is not None,
            seed=derive_seed(self.config.seed, "policy", self.part.rank),
        )

    def choose_best(self, observation: Observation, mask: Tensor | None) -> np.ndarray:
        """Return the actions of the highest value for raw observations (N, ...), (N,) int64."""
        if self.compiled is not None:
            return self.compiled.choose_best(observation, mask)
        if self._on_host is not None:
            return self._on_host.choose_best(observation)
        inputs = (observation,) if mask is None else (observation, mask)
        is_captured = self._captured_best is not None and isinstance(observation, Tensor)
        (best,) = (self._captured_best if is_captured else self._best)(*inputs)
        return best.numpy(force=True)

    def _best(self, observation: Observation, mask: Tensor | None = None) -> tuple[Tensor]:
        """Return the best actions (N,) for raw observations (N, ...), with fresh noise."""
        policy = self.policy
        if policy.is_noisy:
            policy.draw_noise(self.noise_generator)
        with products_by_tensor_cores():
            q = policy.q_values(policy.normalize(observation), is_noisy=policy.is_noisy)
        return (best_action(q, allowed=mask),)

    @property
    @override
    def learns_meanwhile(self) -> bool:
        return self.compute_device.type == "cuda"  # and nothing of a choice stays there

    @override
    def before_updates(self) -> None:
        period = self.config.target_update_timesteps
        if period is None:
            return
        n_periods = self._timesteps_paid_for // period
        if n_periods > self._n_target_periods:
            self._n_target_periods = n_periods
            self.update_target()

    @property
    def _timesteps_paid_for(self) -> int:
        """Timesteps made, and those that would have paid for the updates of offline phases."""
        ratio = self.source.plan.budget.ratio
        offline = self._n_offline_updates * ratio.denominator // ratio.numerator
        return self.source.collector.timesteps + offline

    @override
    def run_round(self, due: Round) -> None:
        period = self.config.target_update_timesteps
        if due.n_vec_steps or period is None:
            super().run_round(due)
            return
        # Nothing is collected, so the target's periods are counted in what updates stand for.
        ratio, n_left = self.config.exact_replay_ratio, due.n_updates
        while n_left:
            missing = (self._n_target_periods + 1) * period - self._timesteps_paid_for
            n_updates = min(n_left, math.ceil(missing * ratio))
            super().run_round(due._replace(n_updates=n_updates))
            self._n_offline_updates += n_updates
            n_left -= n_updates
            self.before_updates()

    def update_target(self) -> None:
        """Move the target network towards the policy: all the way with `target_tau` 1."""
        with torch.no_grad():
            target, policy = list(self.target.parameters()), list(self.policy.parameters())
            torch._foreach_lerp_(target, policy, self.config.target_tau)

    @override
    def make_updates(self, n_updates: int) -> None:
        if self.compiled is None:
            super().make_updates(n_updates)
            if self._on_host is not None:
                self._on_host.forget()
            return
        for batch in self.batches_at_once(n_updates):
            rows, errors = self.compiled.update(batch, hyperparameters=self.hyperparameters)
            if batch.weight is not None:
                self.source.buffer.update_priorities(batch.index, errors)
            self.log.add_rows(KEYS, rows)

    @override
    def learn(self, batch: ReplayBatch) -> Learned:
        if self.policy.is_noisy:
            layers = [*self.policy.noisy_layers(), *self.target.noisy_layers()]
            draw_noise(layers, self.noise_generator)
        loss, error, q = self.losses_for_batch(batch)
        total = (loss if batch.weight is None else loss * batch.weight).mean()
        norm = self.step_optimizer("policy", total)
        if self.config.target_update_timesteps is None:
            self.update_target()
        metrics = {
            "train/loss/total": total.detach(),
            "train/dqn/q_mean": q.mean(),
            "train/dqn/td_error": error.mean(),
            "train/grad/norm": norm,
        }
        return Learned(metrics, error)

    def losses_for_batch(self, batch: ReplayBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Compute what one batch says.

        Returns:
            Loss (B,) with gradient; size of the error (B,), the priority; Q of the actions, (B,).
        """
        is_noisy = self.policy.is_noisy
        output = self.policy(batch.observation, is_noisy=is_noisy)
        with torch.no_grad():
            seen = self.target.encoder.prepare(batch.next_observation)
            following = self.target(seen, is_noisy=is_noisy, is_prepared=True)
            selector = (
                self.policy(seen, is_noisy=is_noisy, is_prepared=True)
                if self.config.double
                else following
            )
        if self.config.distribution == "c51":
            return self._distributional_losses(batch, output, following, selector)
        return td_terms(
            q=output.squeeze(2),
            action=batch.action,
            target_q=following.squeeze(2),
            selector_q=selector.squeeze(2),
            allowed=batch.next_mask,
            reward=batch.reward,
            discount=batch.discount,
            is_huber=self.config.loss == "huber",
        )

    def _distributional_losses(
        self, batch: ReplayBatch, output: Tensor, following: Tensor, selector: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        action = best_action(self.policy.q_of(selector), allowed=batch.next_mask)
        target = project_distribution(
            probability=_of_action(following, action).softmax(dim=1),
            reward=batch.reward,
            discount=batch.discount,
            support=self.policy.support,
        )
        logits = _of_action(output, batch.action)
        loss = cross_entropy(logits=logits, target=target)
        value = (logits.detach().softmax(dim=1) * self.policy.support).sum(dim=1)
        return loss, divergence(cross_entropy=loss, target=target), value

    @override
    def take_over_policy(self, state: Mapping[str, Any]) -> None:
        self.target.load_state_dict(self.policy.state_dict())
        if self._on_host is not None:
            self._on_host.forget()

    @override
    def warm_up(self) -> None:
        if self.compiled is not None:
            from agents.dqn.warm_up import warm_up_compiled

            warm_up_compiled(self)
        elif self._on_host is not None:
            from agents.dqn.warm_up import warm_up_choices

            warm_up_choices(self, self._on_host)

    @override
    def describe_learning(self) -> list[str]:
        config = self.config
        period, tau = config.target_update_timesteps, config.target_tau
        if period is None:
            how = f"target network: moved by {tau:g} after every update"
        else:
            n_updates = float(period * config.exact_replay_ratio)
            step = "copied" if tau == 1.0 else f"moved by {tau:g}"
            how = (
                f"target network: {step} every {period:,} timesteps = {n_updates:,.6g} updates = "
                f"{period / config.n_envs:,.6g} vector steps"
            )
        return [*super().describe_learning(), how]

    @override
    def learner_generators(self) -> list[torch.Generator]:
        return [self.noise_generator]

    @override
    def learner_state(self) -> dict[str, Any]:
        return super().learner_state() | {
            "n_target_periods": self._n_target_periods,
            "n_offline_updates": self._n_offline_updates,
            "noise_generator": self.noise_generator.get_state(),
        }

    @override
    def load_learner_state(self, state: dict[str, Any]) -> None:
        super().load_learner_state(state)
        if self._on_host is not None:
            self._on_host.forget()
        self._n_target_periods = state["n_target_periods"]
        self._n_offline_updates = state["n_offline_updates"]
        if state["device"] == self.config.device:  # other devices draw other numbers
            self.noise_generator.set_state(state["noise_generator"])


def _of_action(output: Tensor, action: Tensor) -> Tensor:
    """Pick the atoms (B, K) of one action of each row, out of (B, A, K)."""
    # An index of rows and actions is as good, but its gradient sorts them on a GPU.
    return output.gather(1, action[:, None, None].expand(-1, 1, output.shape[2]))[:, 0]
