"""Policies of Stable-Baselines3, rebuilt from their files without running what lies in these."""
