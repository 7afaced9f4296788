"""Watch a run from another terminal, while it trains or afterwards.

`python scripts/monitor.py`; `--run-id` names another run than the newest, `--once` prints how it
stands as plain text.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.errors import exit_on_user_error
from utils.monitoring.cli import main

if __name__ == "__main__":
    exit_on_user_error(main)
