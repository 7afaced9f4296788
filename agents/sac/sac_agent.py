"""Soft actor-critic for continuous actions and for choices.

Haarnoja et al. 2018, "Soft actor-critic algorithms and applications", algorithm 1; Christodoulou
2019, "Soft actor-critic for discrete action settings", algorithm 1.
"""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor
from typing_extensions import override

from agents.replay_agent import Learned, ReplayAgent, ReplayBatch
from agents.sac.sac_losses import (
    actor_loss,
    actor_loss_of_choices,
    critic_loss,
    q_target,
    soft_value,
    soft_value_of_choices,
    temperature_loss,
)
from utils.config import SACConfig
from utils.errors import ConfigError
from utils.models.critic_ensemble import CriticEnsemble
from utils.models.temperature import Temperature
from utils.optimization.averaging import move_towards_
from utils.policies import ActorCritic, PolicySettings
from utils.policies.continuous_actor import SquashedNormalActor, continuous_actor_settings
from utils.policy_factory import build_policy
from utils.rollouts.continuous_exploration import ContinuousExplorer, SampledChoices
from utils.seeding import derive_seed

if TYPE_CHECKING:
    from agents.sac.sac_compiled import CompiledSAC

KEYS = (
    "train/loss/critic",
    "train/loss/actor",
    "train/sac/q_mean",
    "train/sac/entropy",
    "train/sac/alpha",
    "train/grad/critic",
    "train/grad/actor",
)
"""Metric keys, one per column of what compiled updates report."""

CHOICE_ENTROPY = 0.98
"""Share of the highest entropy of choices that is kept: Christodoulou 2019, section 4."""


class SACAgent(ReplayAgent):
    """An actor, the critics whose lowest value it climbs, and the worth of its entropy."""

    config: SACConfig
    policy: SquashedNormalActor | ActorCritic

    @staticmethod
    @override
    def build_models(
        config: SACConfig, observation_space: gym.Space, action_space: gym.Space
    ) -> SquashedNormalActor | ActorCritic:
        if isinstance(action_space, gym.spaces.Box):
            if config.action_masks:
                raise ConfigError(
                    f"'action_masks' has no effect on the action space {action_space}: only "
                    "choices (Discrete) can be forbidden"
                )
            settings = continuous_actor_settings(config, algorithm="sac")
            return SquashedNormalActor(observation_space, action_space, settings)
        if not isinstance(action_space, gym.spaces.Discrete):
            raise ConfigError(
                f"sac acts in a Box or chooses in a Discrete space, and the action space is "
                f"{action_space}: use ppo"
            )
        if config.exploration_correlation:
            raise ConfigError(
                f"'exploration_correlation' has no effect on the action space {action_space}: only "
                "the noise of continuous actions can last"
            )
        kwargs = config.policy_kwargs
        settings = PolicySettings(
            hidden_dims=kwargs.hidden_dims,
            activation=kwargs.activation,
            orthogonal_init=kwargs.orthogonal_init,
            share_trunk=False,
            log_std_init=0.0,
            feature_dim=kwargs.feature_dim,
            normalize_obs=config.normalize_obs,
            clip_obs=config.clip_obs,
            has_critic=False,
            action_masks=config.action_masks,
            written=frozenset(kwargs.model_fields_set),
        )
        return build_policy(observation_space, action_space, settings)

    @staticmethod
    @override
    def build_critic(
        config: Any, observation_space: gym.Space, action_space: gym.Space
    ) -> CriticEnsemble:
        is_continuous, kwargs = isinstance(action_space, gym.spaces.Box), config.policy_kwargs
        return CriticEnsemble(
            observation_space,
            n_critics=config.n_critics,
            action_dim=int(np.prod(action_space.shape)) if is_continuous else 0,
            output_dim=1 if is_continuous else int(action_space.n),
            hidden_dims=kwargs.hidden_dims,
            activation=kwargs.activation,
            feature_dim=kwargs.feature_dim,
            layer_norm=kwargs.critic_layer_norm,
        )

    @override
    def build_learner(self) -> None:
        super().build_learner()
        config, env = self.config, self.train_env
        action_space = env.single_action_space
        self.is_continuous = isinstance(action_space, gym.spaces.Box)
        self.critic = self.build_critic(config, env.single_observation_space, action_space).to(
            self.compute_device
        )
        self.target = copy.deepcopy(self.critic).requires_grad_(False)
        is_learnt = config.ent_coef == "auto"
        first = config.ent_coef_init if is_learnt else config.ent_coef
        self.temperature = Temperature(first, is_learnt=is_learnt).to(self.compute_device)
        self.target_entropy = entropy_to_keep(config.target_entropy, action_space)
        self.networks |= {
            "critic": self.critic,
            "target": self.target,
            "temperature": self.temperature,
        }
        self.optimizers["policy"] = self.new_optimizer(self.policy.parameters())
        self.optimizers["critic"] = self.new_optimizer(self.critic.parameters())
        if is_learnt:
            self.optimizers["temperature"] = self.new_optimizer(self.temperature.parameters())
        self.noise_generator = torch.Generator(device=self.compute_device)
        self.noise_generator.manual_seed(derive_seed(config.seed, "learner"))
        self.compiled, self.path = self._choose_update()

    def _choose_update(self) -> tuple[CompiledSAC | None, str]:
        """Find the fastest way; say what carries out updates and why, in a few words."""
        from agents.sac.sac_compiled import why_not_compiled

        reason = self.shared_path() or why_not_compiled(self.policy, self.config)
        if reason is not None:
            return None, self.torch_path(reason)
        return self.build_compiled(), "compiled updates"

    def build_compiled(self) -> CompiledSAC:
        """Move networks and optimisers into the memory of compiled updates."""
        from agents.sac.sac_compiled import CompiledSAC

        assert isinstance(self.policy, SquashedNormalActor)
        return CompiledSAC(
            self.policy,
            self.critic,
            self.target,
            self.temperature,
            self.config,
            optimizers=self.optimizers,
            target_entropy=self.target_entropy,
        )

    @override
    def build_explorer(self) -> ContinuousExplorer | SampledChoices:
        seed = derive_seed(self.config.seed, "policy", self.part.rank)
        if isinstance(self.policy, SquashedNormalActor):
            correlation = self.config.exploration_correlation
            return ContinuousExplorer(self.policy, seed=seed, correlation=correlation)
        return SampledChoices(self.policy, seed=seed, device=self.compute_device)

    @override
    def make_updates(self, n_updates: int) -> None:
        if self.compiled is None:
            super().make_updates(n_updates)
            return
        for batch in self.batches_at_once(n_updates):
            size = self.config.batch_size
            noise = [self.draw_noise(size) for _ in range(2 * (len(batch.reward) // size))]
            drawn = torch.stack(noise).unflatten(0, (-1, 2))
            rows, errors = self.compiled.update(batch, drawn, hyperparameters=self.hyperparameters)
            if batch.weight is not None:
                self.source.buffer.update_priorities(batch.index, errors)
            self.log.add_rows(KEYS, rows)

    @override
    def learn(self, batch: ReplayBatch) -> Learned:
        # The critics learn first, and the actor climbs what they have become.
        alpha = self.temperature().detach()
        target = q_target(
            reward=batch.reward, discount=batch.discount, next_value=self.next_value(batch, alpha)
        )
        q = self.q_of_batch(batch)
        loss = critic_loss(q=q, target=target)
        of_critic = (loss if batch.weight is None else loss * batch.weight).mean()
        critic_norm = self.step_optimizer("critic", of_critic)
        losses, entropies = self.actor_losses(batch, alpha)
        of_actor, entropy = losses.mean(), entropies.mean()
        actor_norm = self.step_optimizer("policy", of_actor)
        if "temperature" in self.optimizers:
            of_temperature = temperature_loss(
                log_alpha=self.temperature.log_alpha,
                entropy=entropy,
                target_entropy=self.entropy_to_keep(batch),
            )
            self.step_optimizer("temperature", of_temperature)
        move_towards_(self.target, self.critic, tau=self.config.target_tau)
        numbers = (
            of_critic.detach(),
            of_actor.detach(),
            q.detach().mean(),
            entropy,
            alpha,
            critic_norm,
            actor_norm,
        )
        is_wanted = self.config.prioritized_replay
        error = (q.detach() - target).abs().mean(dim=0) if is_wanted else None
        return Learned(dict(zip(KEYS, numbers, strict=True)), error)

    def next_value(self, batch: ReplayBatch, alpha: Tensor) -> Tensor:
        """Return what the target critics say of the next observations, (B,), without gradient."""
        seen = batch.next_observation
        with torch.no_grad():
            if isinstance(self.policy, SquashedNormalActor):
                action, logprob = self.policy.sample(seen, self.draw_noise(len(batch.reward)))
                return soft_value(q=self.target(seen, action), logprob=logprob, alpha=alpha)
            (logits,), _ = self.policy(seen, mask=batch.next_mask)
            logprob = logits.log_softmax(dim=1)
            return soft_value_of_choices(q=self.target(seen), logprob=logprob, alpha=alpha)

    def q_of_batch(self, batch: ReplayBatch) -> Tensor:
        """Return what each critic says of the actions that were taken, (E, B)."""
        if self.is_continuous:
            return self.critic(batch.observation, batch.action.reshape(len(batch.action), -1))
        q = self.critic(batch.observation)
        index = batch.action.expand(len(q), -1).unsqueeze(2)
        return q.gather(2, index).squeeze(2)

    def actor_losses(self, batch: ReplayBatch, alpha: Tensor) -> tuple[Tensor, Tensor]:
        """Return loss (B,) with a gradient to the actor, and its entropy (B,) without."""
        if isinstance(self.policy, SquashedNormalActor):
            noise = self.draw_noise(len(batch.reward))
            action, logprob = self.policy.sample(batch.observation, noise)
            self.critic.requires_grad_(False)  # the gradient passes through, and none stays
            q = self.critic(batch.observation, action)
            self.critic.requires_grad_(True)
            return actor_loss(q=q, logprob=logprob, alpha=alpha), -logprob.detach()
        (logits,), _ = self.policy(batch.observation, mask=batch.mask)
        logprob = logits.log_softmax(dim=1)
        with torch.no_grad():
            q = self.critic(batch.observation)
        entropy = -(logprob.exp() * logprob).sum(dim=1).detach()
        return actor_loss_of_choices(q=q, logprob=logprob, alpha=alpha), entropy

    def entropy_to_keep(self, batch: ReplayBatch) -> float | Tensor:
        """Return the mean entropy to keep, (); it depends on where masks leave fewer choices.

        Where only few are allowed the entropy of all of them is out of reach, and the temperature
        would rise without end.
        """
        if batch.mask is None or self.config.target_entropy != "auto":
            return self.target_entropy
        return CHOICE_ENTROPY * batch.mask.sum(dim=1).log().mean()

    def draw_noise(self, n: int) -> Tensor:
        """Return standard normal noise for n actions of this process's part of a batch, (n, A)."""
        assert isinstance(self.policy, SquashedNormalActor)
        shape = (self.part.whole(n), self.policy.scale.size)
        drawn = torch.randn(shape, generator=self.noise_generator, device=self.compute_device)
        return self.part.own(drawn)

    @override
    def warm_up(self) -> None:
        if self.compiled is None:
            return
        from agents.sac.warm_up import warm_up_compiled

        warm_up_compiled(self)

    @override
    def describe_learning(self) -> list[str]:
        config = self.config
        how = (
            f"temperature {config.ent_coef:g}, fixed"
            if config.ent_coef != "auto"
            else f"temperature from {config.ent_coef_init:g} on, learnt to keep an entropy of "
            f"{self.target_entropy:.3g} nats"
            + (", less where fewer choices are allowed" if self.policy.has_masks else "")
        )
        return [*super().describe_learning(), how]

    @override
    def learner_generators(self) -> list[torch.Generator]:
        return [self.noise_generator]

    @override
    def learner_state(self) -> dict[str, Any]:
        return super().learner_state() | {"noise_generator": self.noise_generator.get_state()}

    @override
    def load_learner_state(self, state: dict[str, Any]) -> None:
        super().load_learner_state(state)
        if state["device"] == self.config.device:  # other devices draw other numbers
            self.noise_generator.set_state(state["noise_generator"])


def entropy_to_keep(setting: float | str, action_space: gym.Space) -> float:
    """Return the target entropy in nats.

    ``-A`` for A action dimensions (Haarnoja et al. 2018, appendix D), ``0.98 ln n`` for n choices
    (Christodoulou 2019, section 4), unless a number is set.
    """
    if setting != "auto":
        return float(setting)
    if isinstance(action_space, gym.spaces.Discrete):
        return CHOICE_ENTROPY * math.log(int(action_space.n))
    return -float(np.prod(action_space.shape))
