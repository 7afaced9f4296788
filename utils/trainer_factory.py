"""A Lightning trainer that only drives the loop; everything else is passed in."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from typing import Any

from lightning.pytorch import Callback, Trainer

from utils.distributed.ranks import Ranks


def build_trainer(
    *, device: str, callbacks: Sequence[Callback], ranks: Ranks | None = None
) -> Trainer:
    """Build a trainer for agents.

    The loop runs until a callback or the agent asks it to stop. Lightning's own logging,
    checkpoints, progress bar and validation are off: rows are written once per epoch, checkpoints
    hold environments and generators too, and evaluation is made of episodes, not of batches.

    Args:
        device: "cpu" or "cuda".
        callbacks: In the order in which they run at the end of an epoch.
        ranks: This process among those that train together and have met; None for one alone.
    """
    # Lightning announces devices and advises loader workers; neither applies here.
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module=r"lightning\.pytorch")
    return Trainer(
        accelerator="gpu" if device == "cuda" else "cpu",
        **_processes(ranks),
        max_epochs=-1,
        num_sanity_val_steps=0,
        limit_val_batches=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        callbacks=list(callbacks),
    )


def _processes(ranks: Ranks | None) -> dict[str, Any]:
    if ranks is None:
        from lightning.pytorch.plugins.environments import LightningEnvironment

        # Named, for Lightning would take over, or refuse, whatever job a launcher's variables
        # tell of: sbatch sets them for a process that is not part of a step, too.
        return {"devices": 1, "plugins": [LightningEnvironment()]}
    from utils.distributed.lightning_strategy import TeamEnvironment, TeamStrategy

    return {
        "devices": ranks.local_size,
        "num_nodes": ranks.size // ranks.local_size,
        "strategy": TeamStrategy(cluster_environment=TeamEnvironment(ranks)),
    }
