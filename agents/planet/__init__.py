"""PlaNet: plans with a learnt model of the world."""
