"""The advantage of each step of a whole episode, as the learner would have estimated it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from utils.returns import generalized_advantage
from utils.schedules import schedule_value


@dataclass(frozen=True, kw_only=True, slots=True)
class LearnerView:
    """How the learner of a run weighed rewards when the policy was saved."""

    gamma: float
    """Discount in [0, 1]."""
    gae_lambda: float
    """Trace decay in [0, 1]; 1 for learners that have none."""
    reward_factor: float
    """What the reward normaliser multiplied by, > 0; 1 without one."""
    reward_limit: float
    """Bound of a normalised reward; infinite without a normaliser."""
    reward_scale: float
    """What rewards were multiplied by after that, > 0."""

    def paid(self, reward: np.ndarray) -> np.ndarray:
        """Return rewards (T,) as the learner would be paid them."""
        limit = self.reward_limit
        return np.clip(reward * self.reward_factor, -limit, limit) * self.reward_scale


def learner_view(
    config: Any, *, timesteps: int, reward_factor: float, own_discount: float | None = None
) -> LearnerView:
    """Read how a run's learner weighed rewards.

    Args:
        config: Of the run; `gamma` and, where the algorithm has one, its trace decay may follow a
            schedule.
        timesteps: How long the policy had been trained.
        reward_factor: What the reward normaliser multiplied by then; 1 without one.
        own_discount: What the policy discounts by, where the config leaves that to the length of
            an episode (`gamma: null`).
    """
    gamma = getattr(config, "gamma", 1.0)
    if gamma is None:
        assert own_discount is not None, config.algo_id
        gamma = own_discount
    # The return of Dreamer's dreams less the value is the advantage of the same decay.
    trace = getattr(config, "gae_lambda", getattr(config, "return_lambda", 1.0))
    gamma, gae_lambda = (
        schedule_value(setting, timesteps=timesteps, max_timesteps=config.max_timesteps)
        for setting in (gamma, trace)
    )
    return LearnerView(
        gamma=gamma,
        gae_lambda=gae_lambda,
        reward_factor=reward_factor,
        reward_limit=config.clip_reward if config.normalize_reward else np.inf,
        reward_scale=config.reward_scale,
    )


def episode_advantage(
    view: LearnerView,
    *,
    reward: np.ndarray,
    value: np.ndarray,
    next_value: np.ndarray,
    terminated: np.ndarray,
    done: np.ndarray,
) -> np.ndarray:
    """Return the advantage of each step; see `generalized_advantage`.

    Args:
        view: Discount and trace decay.
        reward: (T,) as the learner is paid.
        value: (T,) of the states in which the steps began.
        next_value: (T,) of the states that they led to, never of another episode's first.
        terminated: (T,) bool, the MDP ended.
        done: (T,) bool, the learner's episode ended.

    Returns:
        (T,) float32.
    """
    columns = {
        "reward": reward,
        "value": value,
        "next_value": next_value,
        "terminated": terminated,
        "done": done,
    }
    advantage, _ = generalized_advantage(
        **{name: _column(values) for name, values in columns.items()},
        gamma=view.gamma,
        gae_lambda=view.gae_lambda,
    )
    return advantage.squeeze(1).numpy().astype(np.float32)


def _column(values: np.ndarray) -> torch.Tensor:
    tensor = torch.from_numpy(np.ascontiguousarray(values))
    return (tensor if tensor.dtype == torch.bool else tensor.double()).unsqueeze(1)
