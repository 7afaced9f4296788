"""Rewards an upright pole and a cart in the middle."""
