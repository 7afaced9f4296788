"""Trains a run again by its stored config and seed, and says where and why it comes out otherwise."""
