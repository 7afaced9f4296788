"""The shape of a world model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class WorldModelSettings:
    """Widths, depths and kinds; see `utils.config.algos.world_model` for what each means."""

    deter: int
    hidden: int
    choices: int
    classes: int
    latent: Literal["categorical", "gaussian"]
    uniform_share: float
    min_std: float
    dynamics: Literal["block_gru", "gru"]
    blocks: int
    dynamics_layers: int
    prior_layers: int
    posterior_layers: int
    units: int
    depth: int
    pictures: Literal["pooled", "strided"]
    encoder_layers: int
    decoder_layers: int
    reward_layers: int
    continue_layers: int
    numbers: Literal["two_hot", "normal"]
    bins: int
    norm: Literal["rms", "layer", "none"]
    activation: str
