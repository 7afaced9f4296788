"""Offers the learner a list of chosen actions."""
