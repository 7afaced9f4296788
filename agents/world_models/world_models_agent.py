"""World Models: see (V), remember (M), act (C).

Ha and Schmidhuber 2018, "World models", the procedure of section 3.3.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor
from typing_extensions import override

from agents.base_agent import BaseAgent
from agents.replay_records import UpdateLog, record_episodes
from agents.world_models.evolution import Judged, evolve, search_state
from agents.world_models.set_up import build_policy, build_source
from agents.world_models.world_models_losses import (
    divergence_loss,
    end_loss,
    expectation_loss,
    mean_where,
    reconstruction_loss,
)
from utils.buffers import SequenceBatch
from utils.checkpoints.pointers import follow
from utils.config import WorldModelsConfig
from utils.config.algos.world_models import EVOLVE, UPDATE_RNN, UPDATE_VAE
from utils.dataloaders.stretch_source import StretchBatch, StretchSource
from utils.errors import CheckpointError
from utils.evolution import CmaEs, play_population, require_cma
from utils.mdn_rnn import play_dreams
from utils.mdn_rnn.vae import sample_normal
from utils.optimization import build_optimizer, clip_and_step, set_learning_rate
from utils.phases import ALL_COMPLETE, COLLECT, PHASES_DONE_KEY
from utils.phases.phase_clock import PhaseClock
from utils.policies.linear_controller_policy import LinearControllerPolicy
from utils.seeding import derive_seed

REPLAY_SUFFIX = ".replay"
_ROWS_AT_ONCE = 256
_BLIND = 0.1
"""Share of the pictures' variance below which the autoencoder tells hardly any two apart."""
_log = logging.getLogger("gymnasium_solver")


class WorldModelsAgent(BaseAgent):
    """One epoch is a stretch of the present phase: steps, updates of a model, or generations."""

    config: WorldModelsConfig
    source: StretchSource
    policy: LinearControllerPolicy  # type: ignore[assignment]

    @staticmethod
    @override
    def build_models(  # type: ignore[override]
        config: WorldModelsConfig, observation_space: gym.Space, action_space: gym.Space
    ) -> LinearControllerPolicy:
        return build_policy(config, observation_space, action_space)

    @override
    def build_learner(self) -> None:
        model, config = self.policy.world_model, self.config
        if any(EVOLVE in phase.hooks for phase in config.phases):
            require_cma()  # not after hours of learning what to see
        self.optimizers: dict[str, torch.optim.Optimizer] = {
            name: build_optimizer(
                config.optimizer,
                list(part.parameters()),
                lr=self.hyperparameters[rate],
                kwargs=config.optimizer_kwargs,
            )
            for name, part, rate in (
                (UPDATE_VAE, model.vision, "policy_lr"),
                (UPDATE_RNN, model.memory, "rnn_lr"),
            )
        }
        self.noise_generator = torch.Generator(device=self.compute_device)
        self.noise_generator.manual_seed(derive_seed(config.seed, "learner"))
        self.log = UpdateLog()
        self.progress = PhaseClock(_log.info)
        self.search: CmaEs | None = None
        self._search_phase = -1
        self._n_vae_updates = 0
        self._encoded_at: list[int] | None = None
        """Steps stored and updates of the autoencoder at the time of the stored latents."""
        self._saved: tuple[Any, Path] | None = None
        """What the buffer held when it was last saved, and where."""

    @override
    def build_source(self) -> StretchSource:
        return build_source(self.config, self.train_env, self.policy, self.compute_device)

    @override
    def all_optimizers(self) -> list[torch.optim.Optimizer]:
        return list(self.optimizers.values())

    @override
    def phases(self) -> list[tuple[Any, str, str]]:
        return [
            *super().phases(),
            (self.source, "collect", "collect"),
            (self, "_learn", "updates of V and M"),
            (self, "_evolve", "generations"),
        ]

    # -- one epoch ------------------------------------------------------------------------------

    @override
    def learn_from(self, batch: StretchBatch) -> None:
        started = time.perf_counter()
        match batch.hooks:
            case (hook,) if hook == COLLECT:
                work = self._collect()
            case (hook,) if hook == UPDATE_VAE:
                work = self._learn(batch, UPDATE_VAE, self._vae_loss)
                self._n_vae_updates += batch.n_updates
            case (hook,) if hook == UPDATE_RNN:
                self._encode_all()
                work = self._learn(batch, UPDATE_RNN, self._rnn_loss)
            case _:
                work = self._evolve(in_dream=batch.hooks == (EVOLVE,))
        seconds = "rollout_seconds" if COLLECT in batch.hooks else "update_seconds"
        self.recorder.record(f"train/time/{seconds}", time.perf_counter() - started)
        self.recorder.record("train/replay/phase", float(self.source.scheduler.index))
        self.recorder.record("train/replay/n_transitions", float(len(self.source.buffer)))
        self._advance(**work)
        self.recorder.record(PHASES_DONE_KEY, self.phases_done)
        self.finish_epoch()

    def _advance(self, **work: int) -> None:
        """Count what was done in the present phase, and say how far it is."""
        scheduler = self.source.scheduler
        phase, index = scheduler.current, scheduler.index
        unit = phase.unit if phase.duration is not None else "timesteps"
        done = scheduler.done(unit) + work.get(unit, 0)
        total = phase.duration
        if unit == "timesteps" and total is None:
            total = self.config.max_timesteps
            done = self.counters.timesteps
        scheduler.advance(**work)
        if self._is_spent:
            scheduler.leave_online()
        words = "generations" if unit == "updates" and phase.hooks[-1] == EVOLVE else unit
        name = f"phase {index + 1} of {len(scheduler.phases)}, {phase.name}"
        self.progress.note(name, done, total, words)

    def _collect(self) -> dict[str, int]:
        """Make the vector steps of an epoch; without a controller yet they are random."""
        source, n_envs = self.source, self.train_env.num_envs
        if source.scheduler.done("cycles") == 0:
            index = source.scheduler.index
            source.begin_collecting(seed=derive_seed(self.config.seed, "train", index))
        wanted = min(
            source.amount("timesteps", self.config.steps_per_epoch * n_envs),
            self.config.steps_per_epoch * n_envs,
            self.config.max_timesteps - self.counters.timesteps,
        )
        summary = source.collect(-(-wanted // n_envs), is_random=self.search is None)
        self.count(summary)
        record_episodes(self.recorder, summary)
        return {"timesteps": summary.n_timesteps, "cycles": 1}

    # -- V and M --------------------------------------------------------------------------------

    @property
    @override
    def phases_done(self) -> float:
        return self.source.scheduler.position

    def _learn(self, batch: StretchBatch, hook: str, loss_of: Any) -> dict[str, int]:
        """Take the optimiser steps of an epoch."""
        optimizer = self.optimizers[hook]
        rate = "policy_lr" if hook == UPDATE_VAE else "rnn_lr"
        set_learning_rate(optimizer, self.hyperparameters[rate])
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        for picked in batch.minibatches():
            for parameter in parameters:
                parameter.grad = None
            loss, metrics = loss_of(picked)
            loss.backward()
            limit = None
            if hook == UPDATE_RNN:
                limit = self.hyperparameters.get("max_grad_norm")
                if self.config.max_grad_value is not None:
                    torch.nn.utils.clip_grad_value_(parameters, self.config.max_grad_value)
            norms = clip_and_step(optimizer, parameters, max_grad_norm=limit)
            self.log.add(metrics | {f"train/grad/{hook.removeprefix('update_')}": norms.norm()})
        means, diverged = self.log.flush()
        self.counters.updates += batch.n_updates
        if diverged is not None:
            key, value, update = diverged
            self.stop_diverged(key, value, where=f"update {update + 1} of the epoch, ")
        self.recorder.record_many(means)
        return {"updates": batch.n_updates, "cycles": batch.n_updates}

    def _vae_loss(self, observation: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of V on pictures (B, C, H, W), and what it tells."""
        model, config = self.policy.world_model, self.config
        observation = _to(observation, self.compute_device)
        part = model.encoder.parts.pictures[0]
        picture = model.encoder.parts.picture(part, observation)
        posterior = model.encoder(observation, n_leading=1)
        mean, log_var = posterior.chunk(2, dim=-1)
        noise = self._normal(mean.shape)
        error = reconstruction_loss(
            model.decoder.decode(sample_normal(posterior, noise)), picture
        ).mean()
        free = config.free_nats_per_latent * config.policy_kwargs.latents
        divergence = divergence_loss(mean, log_var, free_nats=free).mean()
        with torch.no_grad():
            variance = (picture - picture.mean(dim=0)).square().flatten(1).sum(dim=1).mean()
            metrics = {
                "train/loss/picture": error.detach(),
                "train/vae/divergence": divergence.detach(),
                "train/vae/explained": 1.0 - error / variance.clamp_min(1e-6),
            }
        return error + divergence, metrics

    def _rnn_loss(self, batch: SequenceBatch) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of M on sequences of stored latents, and what it tells."""
        model, config, device = self.policy.world_model, self.config, self.compute_device

        def time_major(part: Tensor) -> Tensor:
            return part.to(device).transpose(0, 1)

        posterior = torch.cat(
            [time_major(batch.state["mean"]), time_major(batch.state["log_var"])], dim=-1
        )
        # Drawn anew each time, so that M learns how sure V is.
        latent = sample_normal(posterior, self._normal(posterior.chunk(2, dim=-1)[0].shape))
        action = self.policy.code.encode(time_major(batch.action))
        reward, terminated = time_major(batch.reward), time_major(batch.terminated)
        is_first = time_major(batch.is_first)
        deter = model.rssm.remember(latent, action, is_first)
        # What led to the first row of a sequence is not known, unless an episode began there.
        is_foretold = torch.ones_like(is_first)
        is_foretold[0] = is_first[0]
        is_reached = is_foretold & ~is_first
        expectation = expectation_loss(model.rssm.latent.mixture, model.rssm.prior(deter), latent)
        foretold = model.reward(deter)
        end = end_loss(model.goes_on(deter).squeeze(-1), terminated, end_weight=config.end_weight)
        terms = {
            "expectation": mean_where(expectation, is_foretold),
            "reward": mean_where(model.reward.loss(foretold, reward), is_reached),
            "continue": mean_where(end, is_reached),
        }
        scales = {"reward": config.reward_loss_scale, "continue": config.end_loss_scale}
        with torch.no_grad():
            size = mean_where((reward - mean_where(reward, is_reached)).square(), is_reached)
            metrics = {f"train/loss/{name}": term.detach() for name, term in terms.items()}
            metrics["train/rnn/reward_explained"] = 1.0 - terms["reward"] / size.clamp_min(1e-6)
        return sum(scales.get(name, 1.0) * term for name, term in terms.items()), metrics

    def _normal(self, shape: torch.Size) -> Tensor:
        return torch.randn(shape, generator=self.noise_generator, device=self.compute_device)

    @torch.no_grad()
    def _encode_all(self) -> None:
        """Store the latents of all pictures, once V and the pictures are what they will be."""
        buffer = self.source.buffer
        now = [buffer.n_added, self._n_vae_updates]
        if self._encoded_at == now:
            return
        model = self.policy.world_model
        names = buffer.all_rows()
        for first in range(0, len(names), _ROWS_AT_ONCE):
            index = names[first : first + _ROWS_AT_ONCE]
            seen = _to(buffer.gather_observations(index), self.compute_device)
            mean, log_var = model.encoder(seen, n_leading=1).chunk(2, dim=-1)
            buffer.write_state(index, {"mean": mean, "log_var": log_var})
            self.progress.note("pictures seen by V", first + len(index), len(names), "pictures")
        self._encoded_at = now
        self._look_again(names)

    def _look_again(self, names: Tensor) -> None:
        """Say so where V tells pictures hardly apart: nothing good can come of the rest."""
        model, buffer = self.policy.world_model, self.source.buffer
        some = names[:: max(1, len(names) // _ROWS_AT_ONCE)]
        seen = _to(buffer.gather_observations(some), self.compute_device)
        picture = model.encoder.parts.picture(model.encoder.parts.pictures[0], seen)
        latent = model.encoder(seen, n_leading=1).chunk(2, dim=-1)[0]
        error = (model.decoder.decode(latent) - picture).square().mean()
        explained = 1.0 - float(error / (picture - picture.mean(dim=0)).square().mean())
        self.recorder.record("train/vae/explained", explained)
        if not explained >= _BLIND:
            _log.warning(
                "the autoencoder explains %.0f %% of how pictures differ: what follows will be "
                "blind; give it more updates (phases), a higher policy_lr or less "
                "free_nats_per_latent",
                100.0 * explained if math.isfinite(explained) else 0.0,
            )

    # -- C --------------------------------------------------------------------------------------

    def _evolve(self, *, in_dream: bool) -> dict[str, int]:
        """Make the generations of an epoch; the controller becomes the mean of the search."""
        if in_dream:
            self._encode_all()
        search = self._the_search()
        judge = self._judge_in_dreams if in_dream else self._judge_in_environment
        before = self.counters.timesteps
        n_made = 0
        for _ in range(self.source.amount("updates", self.config.generations_per_epoch)):
            generation = evolve(
                search,
                lambda parameters: judge(parameters, search.n_generations),
                decay=self.config.controller_decay,
                device=self.compute_device,
            )
            self.recorder.record_many(generation.metrics)
            n_made += 1
            if self.end_reason is not None:
                break
        mean = torch.from_numpy(search.mean).float()
        self.policy.controller.copy_(mean.to(self.compute_device))
        n_timesteps = self.counters.timesteps - before
        return {"timesteps": n_timesteps, "updates": n_made, "cycles": n_made}

    def _the_search(self) -> CmaEs:
        """Return the search of the present phase; a new one goes on from the controller."""
        index = self.source.scheduler.index
        if self.search is None or self._search_phase != index:
            self.search = CmaEs(
                self.policy.controller.double().cpu().numpy(),
                sigma=self.config.sigma,
                population=self.config.population,
                seed=derive_seed(self.config.seed, "exploration", index),
            )
            self._search_phase = index
        return self.search

    def _judge_in_dreams(self, parameters: Tensor, generation: int) -> Judged:
        """Let candidates (P, n) dream: all of them the same beginnings and the same chance."""
        del generation
        config, buffer, generator = self.config, self.source.buffer, self.noise_generator
        first = buffer.first_rows()
        chosen = torch.randint(
            len(first), (config.episodes_per_candidate,), generator=self.source.generator
        )
        known = buffer.gather_state(first[chosen])
        posterior = torch.cat([known["mean"], known["log_var"]], dim=-1).to(self.compute_device)
        latent = sample_normal(posterior, self._normal(known["mean"].shape))
        assert config.evolve_max_steps is not None, "a config that dreams has it"
        played = play_dreams(
            self.policy.world_model,
            lambda features: self.policy.control(parameters, features),
            latent,
            n_controllers=len(parameters),
            n_steps=config.evolve_max_steps,
            temperature=config.temperature,
            generator=generator,
        )
        returns = played.returns.double().cpu().numpy()
        self._check_returns(returns)
        return Judged(returns, played.lengths.cpu().numpy())

    def _judge_in_environment(self, parameters: Tensor, generation: int) -> Judged:
        """Let candidates (P, n) play real episodes, all of them those of the same seeds."""
        config, n = self.config, self.config.episodes_per_candidate
        n_envs, name = self.train_env.num_envs, f"generation {generation + 1}"
        first = (self.source.scheduler.index << 32) + generation * n
        played = play_population(
            self.train_env,
            self.policy.rows,
            parameters,
            seeds=[derive_seed(config.seed, "exploration", first + r) for r in range(n)],
            device=self.compute_device,
            max_steps=config.evolve_max_steps,
            on_wave=lambda done, total: self.progress.note(name, done, total, "waves"),
        )
        self.counters.timesteps += played.n_vec_steps * n_envs
        self.counters.vec_steps += played.n_vec_steps
        self.counters.episodes += played.returns.size
        record, raw = self.recorder.record, played.raw_returns
        record("train/roll/n_episodes", float(raw.size))
        record("train/roll/ep_rew_mean", float(raw.mean()))
        record("train/roll/ep_rew_min", float(raw.min()))
        record("train/roll/ep_rew_max", float(raw.max()))
        record("train/roll/ep_len_mean", float(played.lengths.mean()))
        self._check_returns(played.returns)
        return Judged(played.returns, played.lengths)

    def _check_returns(self, returns: np.ndarray) -> None:
        if not np.isfinite(returns).all():
            bad = float(returns[~np.isfinite(returns)][0])
            self.stop_diverged("the return of a candidate", bad)

    # -- what it says, and its saved state ------------------------------------------------------

    @property
    @override
    def end_reason(self) -> str | None:
        scheduler = self.source.scheduler
        if scheduler.is_complete:
            return ALL_COMPLETE
        is_online = scheduler.current.type == "online"
        return "max_timesteps reached" if self._is_spent and is_online else None

    @property
    def _is_spent(self) -> bool:
        return self.counters.timesteps >= self.config.max_timesteps

    @override
    def describe_learning(self) -> list[str]:
        config, buffer, policy = self.config, self.source.buffer, self.policy
        where = "in memory" if config.buffer_folder is None else f"in '{config.buffer_folder}'"
        mib = f"{buffer.nbytes_declared / 2**20:,.1f} MiB {where}"
        counts = {
            "V": sum(p.numel() for p in policy.world_model.vision.parameters()),
            "M": sum(p.numel() for p in policy.world_model.memory.parameters()),
            "C": policy.controller.numel(),
        }
        kind = "one joint mixture" if config.policy_kwargs.joint_mixture else "mixtures per latent"
        return [
            f"buffer: {buffer.capacity:,} steps ({mib})",
            f"phases: {', '.join(phase.name for phase in self.source.scheduler.phases)}",
            "parameters: "
            + ", ".join(f"{name} {n:,}" for name, n in counts.items())
            + f" ({kind})",
        ]

    @override
    def take_over_policy(self, state: Mapping[str, Any]) -> None:
        del state  # the models and the controller are the policy's

    @override
    def learner_state(self) -> dict[str, Any]:
        return {
            "optimizers": {name: part.state_dict() for name, part in self.optimizers.items()},
            "noise_generator": self.noise_generator.get_state(),
            "search": search_state(self.search, self._search_phase),
            "n_vae_updates": self._n_vae_updates,
            "encoded_at": self._encoded_at,
        }

    @override
    def load_learner_state(self, state: dict[str, Any]) -> None:
        for name, optimizer in self.optimizers.items():
            optimizer.load_state_dict(state["optimizers"][name])
        if state["device"] == self.config.device:  # other devices draw other numbers
            self.noise_generator.set_state(state["noise_generator"])
        if state["search"] is not None:
            self.search = CmaEs.from_state(state["search"]["search"])
            self._search_phase = state["search"]["phase"]
        self._n_vae_updates, self._encoded_at = state["n_vae_updates"], state["encoded_at"]
        if self._saved is not None:
            self._saved = (self._contents(), self._saved[1])

    def _contents(self) -> Any:
        """Name what the buffer holds now."""
        return [self.source.buffer.n_added, self._encoded_at]

    @override
    def save_companions(self, checkpoint: Path) -> None:
        path, contents = checkpoint.with_suffix(REPLAY_SUFFIX), self._contents()
        unchanged = None
        if self._saved is not None and self._saved[0] == contents and self._saved[1].exists():
            unchanged = self._saved[1]
        if unchanged != path:
            self.source.save_buffer(path, unchanged=unchanged)
        self._saved = (contents, path)

    @override
    def load_companions(self, checkpoint: Path) -> None:
        path = follow(checkpoint).with_suffix(REPLAY_SUFFIX)
        if not path.exists():
            raise CheckpointError(
                f"'{path.name}' is not there: the steps that its run has stored lie beside the "
                "newest checkpoint only; resume from @last, or begin anew with --init-from-run"
            )
        self.source.load_buffer(path)
        self._saved = (None, path)


def _to(observation: Any, device: torch.device) -> Any:
    if isinstance(observation, dict):
        return {key: part.to(device) for key, part in observation.items()}
    return observation.to(device)
