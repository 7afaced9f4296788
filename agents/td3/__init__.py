"""Twin delayed deterministic policy gradient: an actor without randomness, two wary critics."""
