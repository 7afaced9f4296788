"""Evaluate now and then, not before the policy had a chance to learn."""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback, Trainer
from typing_extensions import override

from trainer_callbacks.early_stopping import ends_here


class WarmupEval(Callback):
    """Call `agent.evaluate()` at the end of the epochs that the config names.

    By epochs: at the epoch numbers (epochs completed) that `eval_freq_epochs` divides, from
    `eval_warmup_epochs` on; 50 and 15 give 60, 75, 90. By timesteps: at the end of each epoch in
    which a multiple of `eval_freq_timesteps` environment steps, summed over the environments, was
    reached; the warm-up counts epochs and does not apply.

    The epoch that ends the training is evaluated in any case, so that its policy may be the best
    one; an interrupted training, which is to go on, is left as it is.
    """

    def __init__(self, *, reward_threshold: float | None) -> None:
        """Take the goal.

        Args:
            reward_threshold: As EarlyStopping has it.
        """
        super().__init__()
        self._threshold = reward_threshold
        self._timesteps_before = 0

    @override
    def on_train_start(self, trainer: Trainer, pl_module: Any) -> None:
        self._timesteps_before = pl_module.counters.timesteps

    @override
    def on_train_epoch_end(self, trainer: Trainer, pl_module: Any) -> None:
        counters = pl_module.counters
        before, self._timesteps_before = self._timesteps_before, counters.timesteps
        is_due = is_evaluation_epoch(
            pl_module.config,
            epoch=counters.epoch,
            timesteps_before=before,
            timesteps=counters.timesteps,
        )
        if is_due or ends_here(pl_module, self._threshold):
            pl_module.evaluate()


def is_evaluation_epoch(config: Any, *, epoch: int, timesteps_before: int, timesteps: int) -> bool:
    """Say whether an evaluation is due.

    Args:
        config: Holds `eval_warmup_epochs`, `eval_freq_epochs` and `eval_freq_timesteps`.
        epoch: Epochs completed.
        timesteps_before: Environment steps at the end of the epoch before.
        timesteps: Environment steps now.
    """
    by_epochs = config.eval_freq_epochs
    if by_epochs is not None and epoch >= config.eval_warmup_epochs and epoch % by_epochs == 0:
        return True
    by_timesteps = config.eval_freq_timesteps
    return by_timesteps is not None and timesteps // by_timesteps > timesteps_before // by_timesteps


def first_evaluation_epoch(config: Any, *, timesteps_per_epoch: float) -> float:
    """Return the number of the first epoch that is evaluated; infinite when none is.

    Args:
        config: See `is_evaluation_epoch`.
        timesteps_per_epoch: Environment steps of one epoch, > 0.
    """
    first = float("inf")
    if config.eval_freq_epochs is not None:
        periods = max(1, -(-config.eval_warmup_epochs // config.eval_freq_epochs))
        first = periods * config.eval_freq_epochs
    if config.eval_freq_timesteps is not None:
        first = min(first, -(-config.eval_freq_timesteps // timesteps_per_epoch))
    return first
