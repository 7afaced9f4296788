"""Dreamer: an actor and a critic that learn in the dreams of a world model."""
