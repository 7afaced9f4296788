"""How much the metrics of training look back on."""

EPISODE_WINDOW = 100
"""Finished episodes that `train/roll/ep_rew_mean` and its like are over; fewer at the beginning."""
