"""Sequences of actions out of noise: networks that take noise away, and the schedule of it."""

from utils.diffusion.action_diffusion import ActionDiffusion, DiffusionSettings
from utils.diffusion.denoiser import Denoiser, DenoiserSettings

__all__ = ["ActionDiffusion", "Denoiser", "DenoiserSettings", "DiffusionSettings"]
