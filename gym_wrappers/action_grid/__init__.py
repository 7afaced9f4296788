"""Offers a grid of values in place of continuous actions."""
