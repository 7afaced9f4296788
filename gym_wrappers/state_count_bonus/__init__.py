"""Pays a bonus for states that were seldom visited."""
