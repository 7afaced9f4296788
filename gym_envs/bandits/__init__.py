"""Multi-armed bandits as episodes: many problems side by side, baselines, and regret."""
