"""Ends the learner's episode whenever a life is lost."""
