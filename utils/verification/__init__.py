"""Trains a run again by its stored config; says where and why it comes out otherwise."""
