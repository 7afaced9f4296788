"""Rewards the energy that the mountain car gains."""
