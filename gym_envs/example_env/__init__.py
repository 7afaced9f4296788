"""A small and complete environment to copy: a walk over a grid to a goal."""
