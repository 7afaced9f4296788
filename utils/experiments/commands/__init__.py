"""The commands of `scripts/experiments.py`, one module each with a `main(argv)`."""
