"""REINFORCE, the Monte Carlo policy gradient.

Williams 1992, "Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement
Learning"; Sutton and Barto 2018, section 13.3, and 13.4 for the baseline.
"""

from __future__ import annotations

import gymnasium as gym
from torch import Tensor
from typing_extensions import override

from agents.on_policy_agent import OnPolicyAgent
from agents.reinforce.reinforce_losses import baseline_loss, policy_gradient_loss
from agents.rollout_setup import build_collector, build_rollout_buffer
from agents.update_report import UpdateLosses
from agents.whole_rollout import WholeRollout
from utils.config import REINFORCEConfig
from utils.dataloaders import RolloutSource
from utils.errors import ConfigError
from utils.policy_factory import ActorCritic, build_policy, policy_settings_from_config
from utils.returns import episode_return, explained_variance, reward_to_go, standardize
from utils.rollouts import Minibatch, RolloutBuffer
from utils.seeding import derive_seed


class REINFORCEAgent(OnPolicyAgent):
    """Each rollout is a fixed number of whole episodes of every environment; one step from it."""

    config: REINFORCEConfig

    @staticmethod
    @override
    def build_models(
        config: REINFORCEConfig, observation_space: gym.Space, action_space: gym.Space
    ) -> ActorCritic:
        settings = policy_settings_from_config(config, has_critic=config.use_baseline)
        return build_policy(observation_space, action_space, settings)

    @override
    def build_source(self) -> RolloutSource:
        config = self.config
        limit = self.train_env.max_episode_steps
        if limit is None:
            raise ConfigError(
                f"reinforce learns from whole episodes, and {config.env_id} has no step limit: "
                "set max_episode_steps"
            )
        n_episodes = config.episodes_per_env
        buffer = build_rollout_buffer(
            self.train_env,
            self.policy,
            n_steps=limit * n_episodes,
            device=self.compute_device,
        )
        return RolloutSource(
            build_collector(
                self.train_env,
                self.policy,
                config,
                hyperparameters=self.hyperparameters,
                device=self.compute_device,
            ),
            buffer,
            collect=lambda collector, rollout: collector.collect_episodes(
                rollout, n_episodes=n_episodes
            ),
            batch_size=self.n_all_units,
            n_passes=1,
            seed=derive_seed(config.seed, "minibatch"),
            n_units=self.n_all_units,
        )

    @override
    def compute_targets(self, buffer: RolloutBuffer | WholeRollout) -> tuple[Tensor, Tensor]:
        config, rows = self.config, buffer.rows
        value, done = rows(buffer.value), rows(buffer.done)
        returns = reward_to_go(
            reward=rows(buffer.reward),
            next_value=rows(buffer.next_value),
            terminated=rows(buffer.terminated),
            done=done,
            gamma=self.hyperparameters["gamma"],
        )
        if config.use_baseline:
            is_valid = rows(buffer.is_valid)
            explained = explained_variance(value=value[is_valid], returns=returns[is_valid])
            if explained == explained:  # undefined where the returns do not vary
                self.recorder.record("train/reinforce/explained_variance", float(explained))
        target = returns
        if config.returns_type == "mc:episode":
            target = episode_return(returns=returns, done=done)
        if config.policy_targets == "advantages":
            target = target - value
        return target, returns

    @override
    def losses_for_batch(self, minibatch: Minibatch) -> UpdateLosses:
        hp = self.hyperparameters
        new = self.policy.evaluate_actions(
            minibatch.observation,
            minibatch.action,
            mask=minibatch.mask,
            sequences=minibatch.sequences,
        )
        target = minibatch.advantage
        if self.config.normalize_targets:
            target = standardize(target, over=minibatch.whole_advantage)
        policy = policy_gradient_loss(logprob=new.logprob, target=target).mean()
        entropy = new.entropy.mean()
        total = policy - hp["ent_coef"] * entropy
        metrics = {
            "train/loss/policy": policy,
            "train/policy/entropy": entropy,
        }
        if self.config.use_baseline:
            value = baseline_loss(value=new.value, returns=minibatch.returns).mean()
            total = total + hp["vf_coef"] * value
            metrics["train/loss/value"] = value
        metrics["train/loss/total"] = total
        return UpdateLosses(total, metrics, {})
