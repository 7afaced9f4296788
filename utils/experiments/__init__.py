"""What is done with many finished runs: find, compare, draw, export, tidy up, put away."""
