"""One agent of rollouts in several processes: what each has, and what all must agree on."""
