"""End training when the budget is spent or the goal is reached."""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback, Trainer
from typing_extensions import override

from utils.errors import ConfigError

SOLVED_EPISODES = 100
"""Training episodes whose mean must reach the threshold (Gymnasium's meaning of solved)."""
_KEY = "train/roll/ep_rew_mean"


def ends_here(agent: Any, threshold: float | None) -> bool:
    """Say whether the epoch that has just been trained is the last one, evaluations aside.

    Args:
        agent: At the end of an epoch, before its metrics are flushed.
        threshold: See `EarlyStopping`.
    """
    if agent.end_reason is not None:
        return True
    if not agent.config.early_stop_on_train_reward:
        return False
    mean = _solved_mean(agent, agent.recorder.peek(_KEY))
    return mean is not None and threshold is not None and mean >= threshold


def _solved_mean(agent: Any, mean: float | None) -> float | None:
    """Return the mean of the last 100 training episodes, once there were as many."""
    return mean if agent.counters.episodes >= SOLVED_EPISODES else None


class EarlyStopping(Callback):
    """Ask the agent to stop after the epoch in which a limit was reached.

    The limits: the end of what the config asks for (`max_timesteps`, or its phases); the mean
    return of an evaluation (`early_stop_on_eval_reward`); the mean return of the last 100 training
    episodes (`early_stop_on_train_reward`). All returns are raw. An epoch without an ended episode,
    or without an evaluation, decides nothing. It stands after DispatchMetrics in the list.
    """

    def __init__(self, *, reward_threshold: float | None) -> None:
        """Take the goal.

        Args:
            reward_threshold: Raw return: the config's, or the environment's own; None when
                neither has one.
        """
        super().__init__()
        self._threshold = reward_threshold

    @override
    def on_train_start(self, trainer: Trainer, pl_module: Any) -> None:
        config = pl_module.config
        wants_goal = config.early_stop_on_eval_reward or config.early_stop_on_train_reward
        if wants_goal and self._threshold is None:
            raise ConfigError(
                f"{config.config_id}: early stopping needs a threshold and {config.env_id} has "
                "none of its own; set reward_threshold"
            )

    @override
    def on_train_epoch_end(self, trainer: Trainer, pl_module: Any) -> None:
        config, row = pl_module.config, pl_module.last_row
        if pl_module.end_reason is not None:
            pl_module.request_stop(pl_module.end_reason)
        if config.early_stop_on_eval_reward:
            self._stop_if_reached(pl_module, row.get("val/roll/ep_rew_mean"), "evaluation")
        if config.early_stop_on_train_reward:
            self._stop_if_reached(pl_module, _solved_mean(pl_module, row.get(_KEY)), "training")

    def _stop_if_reached(self, agent: Any, value: float | None, which: str) -> None:
        assert self._threshold is not None
        if value is not None and value >= self._threshold:
            agent.request_stop(
                f"mean return in {which} {value:.2f} reached the threshold {self._threshold:g}"
            )
