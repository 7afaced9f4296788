"""Deep Q-learning and what Rainbow adds to it."""
