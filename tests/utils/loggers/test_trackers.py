import json
import sys

import numpy as np
import pytest

from tests.helpers.commands import Command, only_run, small
from utils.errors import MissingDependencyError
from utils.loggers import Past, RunResult, TensorBoardWriter, TrackioWriter, WandbWriter
from utils.loggers.jsonl import read_jsonl
from utils.loggers.wandb import has_key
from utils.metrics.monitor import Alert
from utils.video import VideoWriter


def test_missing_packages_name_their_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    monkeypatch.setitem(sys.modules, "trackio", None)
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(MissingDependencyError, match=r"gymnasium-solver\[tensorboard\]"):
        TensorBoardWriter(tmp_path)
    with pytest.raises(MissingDependencyError, match=r"gymnasium-solver\[trackio\]"):
        TrackioWriter(project="p", run_id="r", config_dict={})
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


ALERT = Alert(
    key="train/grad/norm",
    value=2.0,
    epoch=3,
    bound="above 1",
    message="it grows",
    causes=("a",),
    fixes=("b",),
)


def make_film(path, n_frames=130):
    path.parent.mkdir(exist_ok=True)
    with VideoWriter(path, fps=50) as writer:
        for i in range(n_frames):
            writer.write(np.full((300, 400, 3), i, np.uint8))
    return path


def make_result(tmp_path):
    summary = {"val/best/ep_rew_mean": 7.5, "stop_reason": "max_timesteps reached"}
    return RunResult(summary=summary, config_path=tmp_path / "config.json")


def test_tensorboard_shows_config_film_alert_and_result(tmp_path):
    pytest.importorskip("tensorboard")
    from PIL import Image
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    writer = TensorBoardWriter(tmp_path, config_dict={"seed": 7})
    writer.write({"train/loss/value": 1.0}, epoch=1, timesteps=100)
    writer.alert(ALERT)
    writer.write_video(make_film(tmp_path / "videos" / "epoch=01.mp4"), timesteps=100)
    writer.write_result(make_result(tmp_path))
    writer.close()
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [(e.step, e.value) for e in events.Scalars("val/best/ep_rew_mean")] == [(100, 7.5)]
    texts = {
        tag: events.Tensors(tag)[0].tensor_proto.string_val[0].decode()
        for tag in events.Tags()["tensors"]
    }
    assert '"seed": 7' in texts["config/text_summary"]
    assert texts["alerts/train/grad/norm/text_summary"].startswith("it grows (2, above 1, epoch 3)")
    assert "max_timesteps reached" in texts["result/text_summary"]
    (image,) = events.Images("val/video/episode")
    assert (image.step, image.width, image.height) == (100, 240, 180)
    (tmp_path / "film.gif").write_bytes(image.encoded_image_string)
    with Image.open(tmp_path / "film.gif") as film:
        # Every second of 130 frames, in the same time.
        assert (film.n_frames, film.info["duration"]) == (65, 40)


def trackio_runs(environment):
    """Return what trackio has stored, read by a process of its own."""
    import os
    import subprocess

    script = (
        "import json, trackio\n"
        "logs = {}\n"
        "for run in trackio.Api().runs('gymnasium-solver'):\n"
        "    rows = trackio.SQLiteStorage.get_logs('gymnasium-solver', run.name)\n"
        "    logs[run.name] = {'rows': rows, 'config': run.config}\n"
        "print(json.dumps(logs, default=str))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_trackio_keeps_each_row_once_and_the_film_over_a_kill_and_a_resume(tmp_path):
    pytest.importorskip("trackio")
    environment = {"TRACKIO_DIR": str(tmp_path / "trackio")}
    runs_dir = tmp_path / "runs"
    arguments = small(
        vectorization="sync",
        checkpoint_freq_epochs=4,
        video="last",
        **{"policy_kwargs.activation": "silu"},
    )
    argv = ("train", "-q", "--runs-dir", str(runs_dir))
    killed = Command(
        *argv, *arguments, "--tracker", "trackio", environment=environment, fault="kill-in-epoch:11"
    ).wait()
    run = only_run(runs_dir)
    done = Command(*argv, "--resume", run.id, environment=environment).wait()
    assert (killed.code, done.code) == (-9, 0), (killed.err, done.err)
    assert "Trackio" not in done.out
    assert "note: trackio: look with: trackio show --project gymnasium-solver" in done.err
    stored = trackio_runs(environment)
    assert list(stored) == [run.id]
    rows = [row for row in stored[run.id]["rows"] if "train/cnt/epoch" in row]
    expected = read_jsonl(run.metrics_jsonl)
    assert [row["step"] for row in rows] == [row["timesteps"] for row in expected]
    for row, wanted in zip(rows, expected, strict=True):
        ours = {k: v for k, v in wanted.items() if "/time/" not in k and "/" in k}
        assert {k: row[k] for k in ours} == ours
    films = [row for row in stored[run.id]["rows"] if "val/video/episode" in row]
    assert [row["step"] for row in films] == [1536]
    config = stored[run.id]["config"]
    assert config["policy_kwargs"]["activation"] == "silu"
    last = stored[run.id]["rows"][-1]
    assert last["train/total/timesteps"] == 1536


class Recorder:
    def __init__(self):
        self.calls = []

    def write(self, row, *, epoch, timesteps):
        self.calls.append((dict(row), epoch, timesteps))

    def write_video(self, path, *, timesteps):
        self.calls.append((path.name, timesteps))


def test_what_a_tracker_has_lost_is_sent_again_up_to_the_checkpoint(tmp_path):
    (tmp_path / "epoch=02.mp4").touch()
    rows = [{"epoch": i, "timesteps": 10 * i, "a": float(i)} for i in (1, 2, 3, 4)]
    past = Past(rows=rows, timesteps=30, videos_dir=tmp_path)
    assert past.last_epoch == 4
    wanted = [("epoch=02.mp4", 20), ({"a": 2.0}, 2, 20), ({"a": 3.0}, 3, 30)]
    for after in ({"after_epoch": 1}, {"after_step": 10}):
        tracker = Recorder()
        past.send_again(tracker, **after)
        assert tracker.calls == wanted
