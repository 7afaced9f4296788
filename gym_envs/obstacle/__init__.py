"""A point that must go round an obstacle, by the left or by the right, and who shows it how."""
