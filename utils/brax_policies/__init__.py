"""Policies that Brax trains in JAX, as policies of this project."""
