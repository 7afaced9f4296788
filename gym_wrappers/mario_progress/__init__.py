"""Rewards the way that Mario makes to the right."""
