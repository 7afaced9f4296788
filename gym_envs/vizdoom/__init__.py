"""Doom scenarios as environments: an engine in a process of its own for each."""
