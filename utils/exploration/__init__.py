"""Bonuses for what is new: how surprising a transition is, and the networks that say so."""

from utils.exploration.icm import IntrinsicCuriosity
from utils.exploration.novelty import Novelty, Transition
from utils.exploration.reward_scale import IntrinsicRewardScale
from utils.exploration.rnd import RandomNetworkDistillation

__all__ = [
    "IntrinsicCuriosity",
    "IntrinsicRewardScale",
    "Novelty",
    "RandomNetworkDistillation",
    "Transition",
]
