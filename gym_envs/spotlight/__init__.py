"""A pixel environment for models of the world: keep a wandering actor in the light."""
