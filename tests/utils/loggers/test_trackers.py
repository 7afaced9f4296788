import subprocess
import sys
from pathlib import Path

import pytest

from utils.errors import MissingDependencyError
from utils.loggers import TensorBoardWriter, WandbWriter
from utils.loggers.wandb import has_key

ROOT = Path(__file__).resolve().parents[3]


def test_missing_packages_name_their_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(MissingDependencyError, match=r"gymnasium-solver\[tensorboard\]"):
        TensorBoardWriter(tmp_path)
    with pytest.raises(MissingDependencyError, match=r"gymnasium-solver\[wandb\]"):
        WandbWriter(project="p", run_id="r", run_dir=tmp_path, config_dict={})


@pytest.mark.slow
def test_tensorboard_steps_are_timesteps_and_a_resume_hides_repeated_rows(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    first = TensorBoardWriter(tmp_path)
    for epoch in (1, 2, 3):
        first.write({"train/loss/value": 1.0 * epoch}, epoch=epoch, timesteps=100 * epoch)
    first.close()
    resumed = TensorBoardWriter(tmp_path, first_timestep=200)
    resumed.write({"train/loss/value": 30.0}, epoch=3, timesteps=300)
    resumed.close()
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    found = [(event.step, event.value) for event in events.Scalars("train/loss/value")]
    assert found == [(100, 1.0), (200, 2.0), (300, 30.0)]


def test_key_is_found_in_the_environment_or_where_login_leaves_it(tmp_path, monkeypatch):
    for name in ("WANDB_MODE", "WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE", "WANDB_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    login = tmp_path / "netrc"
    monkeypatch.setenv("NETRC", str(login))
    assert not has_key()
    login.write_text("machine elsewhere.example login user password secret\n")
    assert not has_key()
    login.write_text("machine api.wandb.ai login user password secret\n")
    assert has_key()
    login.unlink()
    monkeypatch.setenv("WANDB_API_KEY", "k")
    assert has_key()


WANDB_SCRIPT = """
import logging, sys
from pathlib import Path
import agents  # W&B takes it for a package of that name, and has advice on it
from utils.loggers import WandbWriter
logging.basicConfig(format="%(message)s")
logging.getLogger("gymnasium_solver").setLevel(logging.INFO)
folder = Path(sys.argv[1])
for epochs in ((1, 2), (3, 4)):
    writer = WandbWriter(project="p", run_id="r", run_dir=folder, config_dict={"seed": 7})
    for epoch in epochs:
        row = {"train/cnt/epoch": float(epoch), "train/loss/value": 1.0}
        if epoch % 2 == 0:
            row["val/roll/ep_rew_mean"] = 5.0
        writer.write(row, epoch=epoch, timesteps=100 * epoch)
    writer.close()
    writer.close()
"""


def read_history(path):
    """Return the rows of an offline W&B file; its frames are those of a LevelDB log."""
    import json
    import struct

    from wandb.proto.wandb_internal_pb2 import Record

    content, position, rows, parts = path.read_bytes(), 7, [], b""
    while position + 7 <= len(content):
        left = 32768 - position % 32768
        if left < 7:
            position += left
            continue
        _, length, kind = struct.unpack("<IHB", content[position : position + 7])
        parts += content[position + 7 : position + 7 + length]
        position += 7 + length
        if kind not in (1, 4):
            continue
        record = Record.FromString(parts)
        parts = b""
        if record.WhichOneof("record_type") == "history":
            items = record.history.item
            rows.append({i.key or "/".join(i.nested_key): json.loads(i.value_json) for i in items})
    return rows


@pytest.mark.slow
def test_wandb_offline_keeps_one_row_per_epoch_over_a_resume(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    for name in ("WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    done = subprocess.run(
        [sys.executable, "-c", WANDB_SCRIPT, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == ""
    told = done.stderr.splitlines()
    assert [line.partition(" in ")[0] for line in told] == ["W&B: offline,"] * 2, told
    rows = [
        row
        for path in sorted(
            tmp_path.glob("wandb/offline-run-*/run-r.wandb"), key=lambda p: p.stat().st_mtime_ns
        )
        for row in read_history(path)
    ]
    assert [row["train/cnt/timesteps"] for row in rows] == [100, 200, 300, 400]
    assert ["val/roll/ep_rew_mean" in row for row in rows] == [False, True, False, True]
