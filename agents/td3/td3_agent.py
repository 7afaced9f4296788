"""Twin delayed deep deterministic policy gradient.

Fujimoto et al. 2018, "Addressing function approximation error in actor-critic methods",
algorithm 1.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import torch
from torch import Tensor
from typing_extensions import override

from agents.replay_agent import Learned, ReplayAgent, ReplayBatch
from agents.td3.td3_losses import actor_loss, critic_loss, q_target, smoothed_action
from utils.config import TD3Config
from utils.errors import ConfigError
from utils.models.critic_ensemble import CriticEnsemble
from utils.optimization.averaging import move_towards_
from utils.policies.continuous_actor import DeterministicActor, continuous_actor_settings
from utils.rollouts.continuous_exploration import ContinuousExplorer
from utils.seeding import derive_seed


class TD3Agent(ReplayAgent):
    """A deterministic actor, updated more seldom than the critics whose first one it climbs."""

    config: TD3Config
    policy: DeterministicActor

    @staticmethod
    @override
    def build_models(
        config: TD3Config, observation_space: gym.Space, action_space: gym.Space
    ) -> DeterministicActor:
        if not isinstance(action_space, gym.spaces.Box) or config.action_masks:
            raise ConfigError(
                f"td3 acts in a Box and without action masks, and the action space is "
                f"{action_space}: use sac, dqn or ppo"
            )
        settings = continuous_actor_settings(config, algorithm="td3")
        return DeterministicActor(observation_space, action_space, settings)

    @staticmethod
    @override
    def build_critic(
        config: Any, observation_space: gym.Space, action_space: gym.Space
    ) -> CriticEnsemble:
        kwargs = config.policy_kwargs
        return CriticEnsemble(
            observation_space,
            n_critics=config.n_critics,
            action_dim=math.prod(action_space.shape),
            output_dim=1,
            hidden_dims=kwargs.hidden_dims,
            activation=kwargs.activation,
            feature_dim=kwargs.feature_dim,
            layer_norm=kwargs.critic_layer_norm,
        )

    @override
    def build_learner(self) -> None:
        super().build_learner()
        config, env = self.config, self.train_env
        self.critic = self.build_critic(
            config, env.single_observation_space, env.single_action_space
        ).to(self.compute_device)
        self.target_critic = copy.deepcopy(self.critic).requires_grad_(False)
        self.target_policy = copy.deepcopy(self.policy).requires_grad_(False)
        self.networks |= {
            "critic": self.critic,
            "target_critic": self.target_critic,
            "target_policy": self.target_policy,
        }
        self.optimizers["policy"] = self.new_optimizer(self.policy.parameters())
        self.optimizers["critic"] = self.new_optimizer(self.critic.parameters())
        self.noise_generator = torch.Generator(device=self.compute_device)
        self.noise_generator.manual_seed(derive_seed(config.seed, "learner"))
        self._n_critic_updates = 0
        self._last_actor = torch.zeros(2, device=self.compute_device)
        self.path = self.torch_path("td3 has no other way")

    @override
    def build_explorer(self) -> ContinuousExplorer:
        return ContinuousExplorer(
            self.policy,
            seed=derive_seed(self.config.seed, "policy", self.part.rank),
            noise=lambda timesteps: self.value_now("exploration_noise", timesteps),
            correlation=self.config.exploration_correlation,
        )

    @override
    def learn(self, batch: ReplayBatch) -> Learned:
        q = self.critic(batch.observation, batch.action.reshape(len(batch.action), -1))
        target = self.target_for(batch)
        loss = critic_loss(q=q, target=target)
        of_critic = (loss if batch.weight is None else loss * batch.weight).mean()
        critic_norm = self.step_optimizer("critic", of_critic)
        if self.update_kind() == "critics and actor":
            self.improve_actor(batch)
        error = (q.detach() - target).abs()
        metrics = {
            "train/loss/critic": of_critic.detach(),
            "train/loss/actor": self._last_actor[0].clone(),
            "train/td3/q_mean": q.detach().mean(),
            "train/td3/td_error": error.mean(),
            "train/grad/critic": critic_norm,
            "train/grad/actor": self._last_actor[1].clone(),
        }
        return Learned(metrics, error.mean(dim=0))

    @override
    def update_kind(self) -> str:
        is_due = (self._n_critic_updates + 1) % self.config.policy_delay == 0
        return "critics and actor" if is_due else "critics"

    @override
    def count_update(self) -> None:
        self._n_critic_updates += 1

    @override
    def learner_tensors(self) -> list[Tensor]:
        return [self._last_actor]

    @override
    def learner_generators(self) -> list[torch.Generator]:
        return [self.noise_generator]

    def target_for(self, batch: ReplayBatch) -> Tensor:
        """Return what the critics shall say of the batch, (B,), without gradient."""
        seen = batch.next_observation
        with torch.no_grad():
            action = self.target_policy(seen)
            noise = action.new_empty((self.part.whole(len(action)), *action.shape[1:]))
            noise = self.part.own(noise.normal_(generator=self.noise_generator))
            action = smoothed_action(
                action=action,
                noise=self.config.target_noise * noise,
                limit=self.config.target_noise_limit,
            )
            next_q = self.target_critic(seen, action)
        return q_target(reward=batch.reward, discount=batch.discount, next_q=next_q)

    def improve_actor(self, batch: ReplayBatch) -> None:
        """Take a step of the actor, and move all targets."""
        self.critic.requires_grad_(False)  # the gradient passes through, and none stays
        q = self.critic(batch.observation, self.policy(batch.observation))
        self.critic.requires_grad_(True)
        loss = actor_loss(q=q).mean()
        norm = self.step_optimizer("policy", loss)
        move_towards_(self.target_critic, self.critic, tau=self.config.target_tau)
        move_towards_(self.target_policy, self.policy, tau=self.config.target_tau)
        self._last_actor.copy_(torch.stack([loss.detach(), norm]))

    @override
    def take_over_policy(self, state: Mapping[str, Any]) -> None:
        super().take_over_policy(state)
        self.target_policy.load_state_dict(self.policy.state_dict())

    @override
    def learner_state(self) -> dict[str, Any]:
        return super().learner_state() | {
            "noise_generator": self.noise_generator.get_state(),
            "n_critic_updates": self._n_critic_updates,
            "last_actor": self._last_actor.cpu(),
        }

    @override
    def load_learner_state(self, state: dict[str, Any]) -> None:
        super().load_learner_state(state)
        self._n_critic_updates = state["n_critic_updates"]
        self._last_actor = state["last_actor"].to(self.compute_device)
        if state["device"] == self.config.device:  # other devices draw other numbers
            self.noise_generator.set_state(state["noise_generator"])
