"""Proximal policy optimisation.

Schulman et al. 2017, "Proximal Policy Optimization Algorithms", algorithm 1.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import time
from typing import TYPE_CHECKING, Any

import gymnasium as gym
from torch import Tensor
from typing_extensions import override

from agents.on_policy_agent import OnPolicyAgent
from agents.ppo.device_loop import DeviceLoop
from agents.ppo.exploration import Exploration, build_exploration
from agents.ppo.ppo_gradients import PPOTerms, has_closed_form, write_ppo_gradients
from agents.ppo.ppo_losses import (
    KL_TOLERANCE,
    approximate_kl,
    clipped_fraction,
    clipped_policy_loss,
    value_loss,
)
from agents.rollout_setup import build_rollout_buffer, build_step_collector
from agents.update_report import UpdateLosses, UpdateReport
from agents.whole_rollout import WholeRollout
from utils.compiled.eligibility import why_not_compiled
from utils.config import PPOConfig
from utils.dataloaders import DataSource, DeviceSource, HookBatch, RolloutSource, UpdateBatch
from utils.errors import CheckpointError
from utils.normalization import PopArtHead
from utils.policy_factory import ActorCritic, build_policy, policy_settings_from_config
from utils.returns import explained_variance, generalized_advantage, standardize
from utils.rollouts import Minibatch, RolloutBuffer
from utils.rollouts.compiled_collector import CompiledCollector
from utils.seeding import derive_seed

if TYPE_CHECKING:
    from agents.ppo.captured_update import CapturedUpdate
    from agents.ppo.ppo_compiled import PPOCompiledUpdate
    from utils.distributed.team import Team

_log = logging.getLogger("gymnasium_solver")


class PPOAgent(OnPolicyAgent):
    """Actor and critic learn from each rollout in several passes over shuffled minibatches."""

    config: PPOConfig
    device_loop: DeviceLoop | None = None
    """Carries out whole iterations where the environments live on a device; else None."""
    compiled_update: PPOCompiledUpdate | None = None
    """Carries out whole updates in one compiled call; None: torch does, minibatch by minibatch."""
    exploration: Exploration | None = None
    """Rewards what is new; None: nothing does."""
    captured_update: CapturedUpdate | None = None
    """Replays a CUDA graph for each minibatch; None: every operation is launched by itself."""
    path: str = "collector and update"
    """What carries out the iterations, and why nothing faster does."""

    @staticmethod
    @override
    def build_models(
        config: PPOConfig, observation_space: gym.Space, action_space: gym.Space
    ) -> ActorCritic:
        settings = dataclasses.replace(
            policy_settings_from_config(config, has_critic=True),
            normalizes_value=config.value_normalization == "popart",
        )
        return build_policy(observation_space, action_space, settings)

    @override
    def build_source(self) -> DataSource:
        if self.train_env.vectorization_name == "torch":
            from agents.ppo.device_loops import build_device_loop

            self.device_loop, self.path = build_device_loop(self)
            if self.device_loop is not None:
                return DeviceSource(self.train_env, self.device_loop)
        config = self.config
        self.exploration = build_exploration(config, self.train_env, device=self.compute_device)
        collector, how_collected = build_step_collector(
            self.train_env,
            self.policy,
            config,
            hyperparameters=self.hyperparameters,
            device=self.compute_device,
            record=None if self.exploration is None else self.exploration.record,
            is_shared=self.team is not None,
            is_plain=config.debug,
        )
        how_updated = self._choose_update()
        if self.train_env.vectorization_name != "torch":  # there it says why no loop does it all
            self.path = f"{how_collected}; {how_updated}"
        return RolloutSource(
            collector,
            build_rollout_buffer(
                self.train_env,
                self.policy,
                n_steps=config.n_steps,
                sequence_length=config.resolved_sequence_length,
                device=self.compute_device,
            ),
            collect=lambda collector, buffer: collector.collect(buffer, n_steps=config.n_steps),
            batch_size=lambda: config.resolved_batch_size // config.resolved_sequence_length,
            n_passes=config.n_epochs,
            seed=derive_seed(config.seed, "minibatch"),
            n_units=self.n_all_units,
        )

    @override
    def warm_up(self) -> None:
        if self.compiled_update is None and not self._has_compiled_rollouts():
            return
        from agents.ppo.warm_up import warm_up_rollouts, warm_up_update
        from utils.compiled.stoppable_compiler import stoppable_compiler

        with stoppable_compiler():
            if self._has_compiled_rollouts():
                warm_up_rollouts(self.train_env, self.policy)
            if self.compiled_update is not None:
                warm_up_update(
                    self.train_env, self.policy, self.config, hyperparameters=self.hyperparameters
                )

    def _choose_update(self) -> str:
        """Find the fastest way; say what carries out updates and why, in a few words."""
        if self.config.debug:
            self.policy.has_analytic_backward = False  # modules are looked at as they are called
            return "updates by torch (debug is set)"
        if self.team is not None:
            return f"updates by torch (each of {self.team.size} processes has a part)"
        if self.compute_device.type == "cuda":
            from agents.ppo.captured_update import CapturedUpdate, why_not_captured

            reason = why_not_captured(self)
            if reason is None:
                self.captured_update = CapturedUpdate(self)
                return "minibatches as captured graphs"
            return f"updates by torch ({reason})"
        reason = why_not_compiled(self.policy)
        if reason is None:  # numba takes a fifth of a second to import: only who needs it waits
            from agents.ppo.ppo_compiled import compile_update, why_not

            reason = why_not(self.policy, self.config)
            if reason is None:
                self.compiled_update = compile_update(self.policy, self.config)
                return "compiled updates"
        return f"updates by torch ({reason})"

    def _has_compiled_rollouts(self) -> bool:
        source = self.source
        return isinstance(source, RolloutSource) and isinstance(source.collector, CompiledCollector)

    @property
    @override
    def seed_index(self) -> int:
        # Tensor environments number themselves from 0, so each process has seeds of its own.
        is_on_device = self.train_env.vectorization_name == "torch"
        return self.team.rank if self.team is not None and is_on_device else 0

    @override
    def join_team(self, team: Team) -> None:
        if self.device_loop is None:
            super().join_team(team)

    @override
    def phases(self) -> list[tuple[Any, str, str]]:
        if self.device_loop is None:
            return super().phases()
        return [(self.device_loop, "run", "iterations")]

    @override
    def on_fit_start(self) -> None:
        super().on_fit_start()
        _log.info("iterations by: %s", self.path)

    @override
    def collect_rollout(self) -> None:
        if self.device_loop is None:  # it collects and learns in one go
            super().collect_rollout()

    @override
    def learn_from(self, batch: UpdateBatch | HookBatch) -> None:
        if self.device_loop is None:
            super().learn_from(batch)
            return
        assert isinstance(self.source, DeviceSource), self.source
        started = time.perf_counter()
        report = self.device_loop.run(self.config.rollouts_per_epoch, self.hyperparameters)
        self.counters.timesteps += report.n_timesteps
        self.counters.vec_steps += report.n_vec_steps
        self.counters.updates += report.n_updates
        self.counters.episodes += report.episodes.n_episodes
        # A loss that is not finite spoils everything after it: it is named first.
        for key in sorted(report.metrics, key=lambda key: not key.startswith("train/loss/")):
            if not math.isfinite(report.metrics[key]):
                self.stop_diverged(key, report.metrics[key])
        self.source.episodes.add(report.episodes)
        self.recorder.record("train/roll/n_episodes", float(report.episodes.n_episodes))
        if report.episodes.n_episodes:
            self.recorder.record_many(self.source.episodes.metrics())
        self.recorder.record_many(report.metrics)
        self.recorder.record("train/time/update_seconds", time.perf_counter() - started)
        self.finish_epoch()

    @override
    def compute_targets(self, buffer: RolloutBuffer | WholeRollout) -> tuple[Tensor, Tensor]:
        rows = buffer.rows
        compute = generalized_advantage
        if self.compiled_update is not None:
            from utils.compiled.returns import compiled_generalized_advantage as compute
        advantage, returns = compute(
            reward=rows(buffer.reward),
            value=rows(buffer.value),
            next_value=rows(buffer.next_value),
            terminated=rows(buffer.terminated),
            done=rows(buffer.done),
            gamma=self.hyperparameters["gamma"],
            gae_lambda=self.hyperparameters["gae_lambda"],
        )
        explained = float(explained_variance(value=rows(buffer.value), returns=returns))
        if explained == explained:  # undefined where the returns do not vary
            self.recorder.record("train/ppo/explained_variance", explained)
        self._normalize_value(returns, buffer)
        return self._add_bonus(advantage, buffer), returns

    def _normalize_value(self, returns: Tensor, buffer: RolloutBuffer | WholeRollout) -> None:
        """Let the critic's moments take in the returns (T, N) that it will learn."""
        head = self.policy.critic_head
        if isinstance(head, PopArtHead):
            is_first = not bool(head.weight_seen)
            head.update(returns, beta=self.config.popart_beta)
            if is_first:  # V has moved: what clip_range_vf bounds is how far an update moves it
                buffer.rows(buffer.value).mul_(head.scale.cpu()).add_(head.shift.cpu())
            self.recorder.record("train/popart/mean", float(head.shift))
            self.recorder.record("train/popart/std", float(head.scale))

    def _add_bonus(self, advantage: Tensor, buffer: RolloutBuffer | WholeRollout) -> Tensor:
        """Weigh the advantage (T, N) of the reward and that of what is new."""
        if self.exploration is None:
            return advantage
        assert isinstance(buffer, RolloutBuffer), "one process rewards what is new"
        hp = self.hyperparameters
        of_bonus, metrics = self.exploration.compute_advantage(
            buffer, self.policy, gae_lambda=hp["gae_lambda"]
        )
        self.recorder.record_many(metrics)
        return hp["exploration.extrinsic_coef"] * advantage + hp["exploration.coef"] * of_bonus

    @override
    def scale_advantage(self, advantage: Tensor) -> Tensor:
        is_wanted = self.config.normalize_advantages == "rollout"
        return standardize(advantage) if is_wanted else advantage

    @override
    def run_update(self, batch: UpdateBatch) -> UpdateReport:
        if self.exploration is not None:
            self._learn_what_is_new(self.exploration)
        if self.captured_update is not None:
            return self.captured_update.update(batch, self.hyperparameters)
        if self.compiled_update is None:
            return super().run_update(batch)
        return self.compiled_update.update(batch, self.hyperparameters, optimizer=self.optimizer)

    def _learn_what_is_new(self, exploration: Exploration) -> None:
        hp = self.hyperparameters
        metrics = exploration.learn(value_lr=hp["policy_lr"], max_grad_norm=hp.get("max_grad_norm"))
        self.recorder.record_many(metrics)
        for key, value in metrics.items():
            if not math.isfinite(value):
                self.stop_diverged(key, value)

    @override
    def losses_for_batch(self, minibatch: Minibatch) -> UpdateLosses:
        config, hp = self.config, self.hyperparameters
        new = self.policy.evaluate_actions(
            minibatch.observation,
            minibatch.action,
            mask=minibatch.mask,
            sequences=minibatch.sequences,
        )
        advantage = minibatch.advantage
        if config.normalize_advantages == "batch":
            advantage = standardize(advantage, over=minibatch.whole_advantage)
        policy = clipped_policy_loss(
            logprob=new.logprob,
            old_logprob=minibatch.old_logprob,
            advantage=advantage,
            clip_range=hp["clip_range"],
        ).mean()
        value = self._value_loss(minibatch, new.value).mean()
        entropy = new.entropy.mean()
        total = policy + hp["vf_coef"] * value
        # A term without weight would still be walked backwards.
        if isinstance(hp["ent_coef"], Tensor) or hp["ent_coef"] != 0:
            total = total - hp["ent_coef"] * entropy
        terms = PPOTerms(policy, value, entropy, new.logprob)
        return self._report(total, terms, minibatch.old_logprob)

    def _value_loss(self, minibatch: Minibatch, value: Tensor) -> Tensor:
        """Return the critic's loss, (B,); in deviations of the returns with PopArt."""
        terms = {
            "value": value,
            "old_value": minibatch.old_value,
            "returns": minibatch.returns,
        }
        head = self.policy.critic_head
        if isinstance(head, PopArtHead):  # the mean that all are taken from cancels
            terms = {name: term / head.scale for name, term in terms.items()}
        return value_loss(**terms, clip_range_vf=self.hyperparameters.get("clip_range_vf"))

    @override
    def write_gradients(self, minibatch: Minibatch) -> UpdateLosses:
        if not has_closed_form(self.policy):
            return super().write_gradients(minibatch)
        hp = self.hyperparameters
        advantage = minibatch.advantage
        if self.config.normalize_advantages == "batch":
            advantage = standardize(advantage, over=minibatch.whole_advantage)
        terms = write_ppo_gradients(
            self.policy,
            minibatch.observation,
            minibatch.action,
            old_logprob=minibatch.old_logprob,
            old_value=minibatch.old_value,
            advantage=advantage,
            returns=minibatch.returns,
            hyperparameters=hp,
        )
        total = terms.policy + hp["vf_coef"] * terms.value - hp["ent_coef"] * terms.entropy
        return self._report(total, terms, minibatch.old_logprob)

    def _report(self, total: Tensor, terms: PPOTerms, old_logprob: Tensor) -> UpdateLosses:
        return UpdateLosses(
            total,
            {
                "train/loss/total": total,
                "train/loss/policy": terms.policy,
                "train/loss/value": terms.value,
                "train/policy/entropy": terms.entropy,
            },
            {"logprob": terms.logprob.detach(), "old_logprob": old_logprob},
            stops_update=self._leaves_trust_region(terms.logprob, old_logprob),
        )

    def _leaves_trust_region(self, logprob: Tensor, old_logprob: Tensor) -> bool:
        target_kl = self.hyperparameters.get("target_kl")
        if target_kl is None:
            return False
        kl = approximate_kl(logprob=logprob.detach(), old_logprob=old_logprob)
        leaves = self.mean_over_all(kl) > KL_TOLERANCE * target_kl
        self.recorder.record("train/ppo/kl_stopped", float(leaves))
        return leaves

    @override
    def diagnose_update(self, samples: dict[str, Tensor]) -> dict[str, float]:
        logprob, old_logprob = samples["logprob"], samples["old_logprob"]
        clipped = clipped_fraction(
            logprob=logprob, old_logprob=old_logprob, clip_range=self.hyperparameters["clip_range"]
        )
        return {
            "train/ppo/approx_kl": float(
                approximate_kl(logprob=logprob, old_logprob=old_logprob).mean()
            ),
            "train/ppo/clip_fraction": float(clipped.mean()),
        }

    @override
    def checkpoint_state(self) -> dict[str, Any]:
        state = super().checkpoint_state()
        if self.exploration is not None:
            state["exploration"] = self.exploration.state_dict()
        return state

    @override
    def load_checkpoint_state(self, state: dict[str, Any]) -> int:
        if self.exploration is not None:
            if "exploration" not in state:
                raise CheckpointError(
                    "the saved state has no bonus networks, and the run's config.json asks for "
                    f"exploration.kind {self.config.exploration.kind} now: put none back into it"
                )
            self.exploration.load_state_dict(state["exploration"])
        return super().load_checkpoint_state(state)
