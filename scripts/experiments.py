"""Work with finished runs: `python scripts/experiments.py list algo=ppo --sort test`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.errors import exit_on_user_error
from utils.experiments.cli import main

if __name__ == "__main__":
    exit_on_user_error(main)
