"""A program in the place of train.py that takes its arguments and leaves a run at once.

Its ten evaluations rise towards `100 * (1 - (gamma - 0.9)^2) + seed`. `n_epochs: 13` fails; 6 and 7
take some time and more of it, so that they can be interrupted; 9 waits for a file `go` beside it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path


def main() -> int:
    """Write the files of a run as train.py does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("config_id")
    parser.add_argument("-q", action="store_true")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs-dir", type=Path)
    given = parser.parse_args()
    settings = {k: _read(v) for k, _, v in (word.partition("=") for word in given.set)}
    run = given.runs_dir / "20260101-000000-run"
    run.mkdir(parents=True)
    (run / "config.json").write_text(json.dumps(settings | {"seed": given.seed}))
    if settings.get("n_epochs") == 13:
        print("error: thirteen is too many", file=sys.stderr)
        return 3
    best = 100.0 * (1.0 - (settings.get("gamma", 0.9) - 0.9) ** 2) + given.seed
    with (run / "metrics.jsonl").open("w") as file:
        for i in range(1, 11):
            row = {"epoch": i, "timesteps": 100 * i, "val/roll/ep_rew_mean": best * i / 10}
            file.write(json.dumps(row) + "\n")
            file.flush()
            while settings.get("n_epochs") == 9 and not Path(__file__).with_name("go").exists():
                time.sleep(0.02)
            time.sleep({6: 0.2, 7: 2.0}.get(settings.get("n_epochs", 1), 0.0))
    return 0


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text  # a plain word


if __name__ == "__main__":
    sys.exit(main())
