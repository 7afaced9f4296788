"""Environments of Brax, whose physics JAX compiles, one at a time for Gymnasium."""
