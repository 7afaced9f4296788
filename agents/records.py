"""Which metrics a rollout and an update leave in the recorder."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from agents.update_report import UpdateReport
from agents.whole_rollout import WholeRollout
from utils.metrics import MetricsRecorder
from utils.optimization import GradientGroups
from utils.rollouts import RolloutBuffer, RolloutSummary


def record_rollout(
    recorder: MetricsRecorder,
    buffer: RolloutBuffer | WholeRollout,
    summary: RolloutSummary,
    advantage: Tensor,
    returns: Tensor,
) -> None:
    """Record episodes, rewards and learning targets.

    Args:
        recorder: Takes them.
        buffer: Written.
        summary: Of the rollout in the buffer.
        advantage: (T, N) before any scaling.
        returns: (T, N)
    """
    record = recorder.record
    record("train/roll/n_episodes", float(summary.n_episodes))
    is_valid = buffer.rows(buffer.is_valid)
    learner_reward = buffer.rows(buffer.reward)[is_valid]
    record("train/roll/learner_reward_mean", float(learner_reward.mean()))
    if summary.n_episodes:
        of_episodes, lengths = summary.episode_returns, summary.episode_lengths
        record("train/roll/ep_rew_mean", sum(of_episodes) / len(of_episodes))
        record("train/roll/ep_rew_min", min(of_episodes))
        record("train/roll/ep_rew_max", max(of_episodes))
        record("train/roll/ep_len_mean", sum(lengths) / len(lengths))
    for name, mean in summary.episode_metrics.items():
        record(f"train/env/{name}", mean)
    returns, advantage = returns[is_valid], advantage[is_valid]
    record("train/adv/mean", float(advantage.mean()))
    record("train/adv/std", float(advantage.std(correction=0)))
    record("train/returns/mean", float(returns.mean()))
    record("train/returns/std", float(returns.std(correction=0)))


def record_update(
    recorder: MetricsRecorder,
    report: UpdateReport,
    groups: GradientGroups,
    *,
    max_grad_norm: float | None,
) -> None:
    """Record losses and gradients, averaged over the minibatches and steps of an update."""
    means = dict(zip(report.keys, report.rows.mean(dim=0).tolist(), strict=True))
    recorder.record_many(means)
    recorder.record_many(report.summary)
    recorder.record("train/loss/entropy", -means["train/policy/entropy"])
    if not len(report.norms):
        return
    total = total_norms(report.norms)
    recorder.record("train/grad/norm", float(total.mean()))
    if max_grad_norm is not None:
        clipped = (total > max_grad_norm).float().mean()
        recorder.record("train/grad/clipped_fraction", float(clipped))
    for name, norm in groups.norms(report.norms).items():
        recorder.record(f"train/grad/norm_{name}", norm)


def total_norms(norms: Tensor) -> Tensor:
    """Return the norm of all parameters together, (n_steps,), from (n_steps, n_parameters)."""
    return norms.square().sum(dim=1).sqrt()


def find_divergence(report: UpdateReport) -> tuple[str, float, int] | None:
    """Return metric, value and minibatch (from 0) of the first number that is not finite."""
    if math.isfinite(float(report.rows.sum()) + float(report.norms.sum())):
        return None
    for keys, rows in (
        (report.keys, report.rows),
        (("train/grad/norm",), total_norms(report.norms).unsqueeze(1)),
    ):
        bad = ~torch.isfinite(rows)
        if bool(bad.any()):
            step, column = (int(i) for i in bad.nonzero()[0])
            return keys[column], float(rows[step, column]), step
    return None
