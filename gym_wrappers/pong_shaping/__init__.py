"""Rewards a Pong player for being where the ball is."""
