"""Policies that Brax trains."""
