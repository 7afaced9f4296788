"""Policies that were trained with Stable-Baselines3."""
