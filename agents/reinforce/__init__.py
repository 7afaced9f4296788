"""REINFORCE (Williams 1992), with an optional baseline."""
