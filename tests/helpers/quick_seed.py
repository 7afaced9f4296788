"""A program in the place of train.py that makes a run of a group at once, or goes on with one.

The test return is `100 + seed`. With `--set n_epochs=N` seed N does something of its own: 13 fails,
7 waits until it is told to stop and saves then.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from utils.checkpoints.pointers import point
from utils.config import load_config
from utils.run import Run
from utils.storage import write_json


def main() -> int:
    """Write the files of a run as train.py does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("config_id", nargs="?")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--group")
    parser.add_argument("--resume")
    parser.add_argument("--runs-dir")
    parser.add_argument("-q", action="store_true")
    given = parser.parse_args()
    if given.resume:
        run, seed = (
            Run(Path(given.resume)),
            json.loads(Path(given.resume, "config.json").read_text())["seed"],
        )
    else:
        seed = given.seed
        config = load_config(given.config_id, [*given.set, f"seed={seed}"]).to_dict()
        run = Run.create(
            given.runs_dir, config_id=given.config_id, config_dict=config, group=given.group
        )
    run.write_status("running")
    _write_row(run, seed)
    if seed == 13:
        run.write_status("failed", reason="thirteen brings bad luck")
        print("error: thirteen brings bad luck", file=sys.stderr)
        return 3
    _save(run)
    if seed == 7 and not given.resume:
        return _wait(run)
    result = {"mean": 100.0 + seed, "std": 0.0, "returns": [100.0 + seed]}
    write_json(run.results_path, {"seed": seed, "test": {"best": result, "last": result}})
    run.write_status("completed", reason="max_timesteps reached")
    return 0


def _wait(run: Run) -> int:
    def stop(number: int, frame: object) -> None:
        del number, frame
        run.write_status("interrupted", reason="interrupted by SIGTERM")
        sys.exit(143)

    signal.signal(signal.SIGTERM, stop)
    (run.path / "waits").touch()
    while True:
        time.sleep(0.01)


def _write_row(run: Run, seed: int) -> None:
    row = {"epoch": 1, "timesteps": 100, "train/roll/ep_rew_mean": float(seed)}
    with run.metrics_jsonl.open("a") as file:
        file.write(json.dumps(row) + "\n")


def _save(run: Run) -> None:
    path = run.checkpoints_dir / "epoch=01.ckpt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("weights", b"weights")
    write_json(path.with_suffix(".json"), {"counters": {"timesteps": 100}})
    point(run.checkpoints_dir, "last", path)


if __name__ == "__main__":
    sys.exit(main())
