"""PPO's whole update as one compiled call, for small actor-critics on the CPU.

A minibatch of a small network is a few microseconds of arithmetic; a call of torch costs as much
for each of its dozens of operations. Here all passes and minibatches of an update are one call:
the formulas of `ppo_losses`, the passes of `utils.compiled`, and the optimiser. `walk_minibatches`
is the reference that tests hold it to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from agents.ppo.ppo_compiled_kernels import LossSettings, Outcome, Samples, run_compiled_update
from agents.ppo.ppo_losses import KL_TOLERANCE
from agents.update_report import UpdateReport
from utils.compiled.eligibility import why_not_compiled
from utils.compiled.policy import CompiledPolicy
from utils.compiled.tiles import aligned_zeros
from utils.compiled.torch_adam import adam_settings, optimizer_addresses
from utils.dataloaders import UpdateBatch
from utils.policy_factory import ActorCritic

_KEYS = ("train/loss/total", "train/loss/policy", "train/loss/value", "train/policy/entropy")
_NO_CLIP = -1.0


def why_not(policy: ActorCritic, config: Any) -> str | None:
    """Say in a few words why the update cannot be compiled; None if it can."""
    kwargs = config.optimizer_kwargs
    if config.optimizer not in ("Adam", "AdamW"):
        return f"the optimiser is {config.optimizer}"
    known = {"betas", "eps", "weight_decay", "fused", "foreach", "decoupled_weight_decay"}
    unknown = sorted(key for key, value in kwargs.items() if key not in known and value)
    if unknown:
        return f"the optimiser's option {unknown[0]}"
    if kwargs.get("eps") == 0:
        return "the optimiser's eps is 0"
    return why_not_compiled(policy)


def compile_update(policy: ActorCritic, config: Any) -> PPOCompiledUpdate | None:
    """Prepare the compiled update of a policy; None where `why_not` has a reason."""
    return None if why_not(policy, config) else PPOCompiledUpdate(policy, config)


class PPOCompiledUpdate:
    """Carries out updates on a policy's parameters and an optimiser's state, in their memory.

    What it leaves is what torch's own optimiser would have left, but for rounding, so an update can
    be carried out one way and the next one the other.
    """

    def __init__(self, policy: ActorCritic, config: Any) -> None:
        """Lay out the policy's numbers; nothing is compiled before the first update."""
        self._layout = CompiledPolicy.of(policy)
        self._normalizes = config.normalize_advantages == "batch"
        size = self._layout.packed.size
        self._flat = (
            self._layout.packed,
            *(aligned_zeros(size) for _ in range(3)),
            self._layout.transposed,
        )

    def update(
        self,
        batch: UpdateBatch,
        hyperparameters: Mapping[str, float],
        *,
        optimizer: torch.optim.Optimizer,
    ) -> UpdateReport:
        """Take the optimiser steps of one update.

        Args:
            batch: A finished rollout on the CPU and the table of its minibatches.
            hyperparameters: clip_range, vf_coef, ent_coef; clip_range_vf, target_kl and
                max_grad_norm where they are set.
            optimizer: torch's Adam or AdamW of the policy's parameters, with the learning rate set.

        Returns:
            Losses of every minibatch and norms of every step, as the reference reports them.
        """
        layout = self._layout
        table = np.ascontiguousarray(batch.index_table.numpy())
        n_minibatches = len(table)
        outcome = Outcome(
            np.zeros((n_minibatches, len(_KEYS))),
            np.zeros((n_minibatches, len(layout.parameters)), dtype=np.float32),
            np.zeros(2),
        )
        n_seen, n_steps = run_compiled_update(
            layout.actor,
            layout.critic,
            layout.scratch,
            self._flat,
            layout.segments,
            optimizer_addresses(optimizer, layout.parameters),
            _flat_samples(batch, is_normal=layout.log_std_at >= 0),
            table,
            (
                _loss_settings(hyperparameters, normalizes=self._normalizes),
                adam_settings(optimizer, hyperparameters.get("max_grad_norm")),
            ),
            outcome,
            layout.log_std_at,
        )
        n_samples = n_seen * table.shape[1]
        summary = {
            "train/ppo/approx_kl": float(outcome.sums[0]) / n_samples,
            "train/ppo/clip_fraction": float(outcome.sums[1]) / n_samples,
        }
        if hyperparameters.get("target_kl") is not None:
            summary["train/ppo/kl_stopped"] = float(n_seen > n_steps)
        return UpdateReport(
            keys=_KEYS,
            rows=torch.from_numpy(outcome.losses[:n_seen]),
            norms=torch.from_numpy(outcome.norms[:n_steps]),
            summary=summary,
        )


def _flat_samples(batch: UpdateBatch, *, is_normal: bool) -> Samples:
    samples = batch.buffer.samples
    action = samples.action.numpy().reshape(-1)
    return Samples(
        observation=samples.observation.numpy().reshape(-1),
        choice=np.empty(0, dtype=np.int64) if is_normal else action,
        action=action if is_normal else np.empty(0, dtype=np.float32),
        old_logprob=samples.old_logprob.numpy(),
        old_value=samples.old_value.numpy(),
        advantage=samples.advantage.numpy(),
        returns=samples.returns.numpy(),
    )


def _loss_settings(hyperparameters: Mapping[str, float], *, normalizes: bool) -> LossSettings:
    clip_range_vf = hyperparameters.get("clip_range_vf")
    target_kl = hyperparameters.get("target_kl")
    return LossSettings(
        clip_range=float(hyperparameters["clip_range"]),
        clip_range_vf=_NO_CLIP if clip_range_vf is None else float(clip_range_vf),
        vf_coef=float(hyperparameters["vf_coef"]),
        ent_coef=float(hyperparameters["ent_coef"]),
        kl_limit=math.inf if target_kl is None else KL_TOLERANCE * target_kl,
        normalizes=normalizes,
    )
