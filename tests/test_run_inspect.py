"""`run_inspect.py` from its command line to its end, asked as programs ask it."""

from __future__ import annotations

import json
import signal
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import run_inspect
from tests.helpers.commands import processes_left
from tests.helpers.inspector_process import ROOT, InspectorProcess
from tests.helpers.played_runs import make_config, make_run
from tests.helpers.processor_time import run_measured
from tests.test_run_play import state_of
from utils.errors import exit_on_user_error


@pytest.fixture
def inspect(monkeypatch, capsys):
    """Run the script's main in this process; return its exit code, output and errors."""

    def inspect(*arguments):
        monkeypatch.setattr(sys, "argv", ["run_inspect.py", *arguments])
        with pytest.raises(SystemExit) as stop:
            exit_on_user_error(run_inspect.main)
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return inspect


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--run-id", "nope"), "there is no run 'nope'"),
        (("--run-id", "@last/epoch=99"), "there is no checkpoint 'epoch=99'"),
        (("--run", "x"), "did you mean '--run-id'"),
        (("--port", "x"), "must be a whole number"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(inspect, tmp_path, arguments, message):
    make_run(tmp_path, make_config())
    code, out, err = inspect("--runs-dir", str(tmp_path), *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_help_loads_nothing_heavy():
    script = (
        "import sys; sys.argv = ['run_inspect.py', '--help']\n"
        "try: import run_inspect; run_inspect.main()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('torch', 'gradio', 'numpy', 'gymnasium') if m in sys.modules])"
    )
    done, seconds = run_measured([sys.executable, "-c", script], cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
    assert "--run-id" in done.stdout
    assert seconds < 2.5


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=90) as response:
        return response.read()


def connect(inspector: InspectorProcess) -> Any:
    """Return a client of the page's interface for programs."""
    import gradio_client

    return gradio_client.Client(inspector.url, verbose=False, analytics_enabled=False)


def test_from_another_folder_with_a_space_in_the_path_to_a_clean_end(tmp_path):
    pytest.importorskip("gradio")
    runs_dir = tmp_path / "my runs"
    config = make_config()
    run = make_run(runs_dir, config, states=[state_of(config)])
    (runs_dir / "link").symlink_to(tmp_path)
    inspector = InspectorProcess(runs_dir, working_dir=tmp_path)
    try:
        # Five seconds to the page, some of them the browser's; torch comes after it.
        assert inspector.processor_seconds() < 4.0
        assert inspector.lines[-1].startswith(f"inspecting {run.id} at http://127.0.0.1:")
        client = connect(inspector)
        opened = client.predict(api_name="/open")
        assert opened[0]["value"] == run.id
        table, player, seed = client.predict(
            run.id, "epoch=00", "", "greedy", 5, 2, api_name="/play"
        )
        assert table["data"] == [[s, "greedy", 5.0, 5, "terminated"] for s in (5, 6)]
        assert seed == 7
        value = json.loads(player) if isinstance(player, str) else player
        film = get(inspector.url + value["episodes"][0]["film"])
        assert film[4:8] == b"ftyp"
        assert sorted(path.name for path in (run.path / "inspection").rglob("*.mp4")) == [
            "frames.mp4",
            "frames.mp4",
        ]
        with pytest.raises(Exception, match="at most 100 episodes"):
            client.predict(run.id, "epoch=00", "", "greedy", 5, 101, api_name="/play")
        code, out = inspector.end(signal.SIGTERM)
        assert (code, out.split()) == (0, ["inspector", "ended"])
        assert processes_left(inspector.session) == []
    finally:
        inspector.kill()


def test_ctrl_c_in_the_middle_of_a_recording_leaves_nothing_half_made(tmp_path):
    pytest.importorskip("gradio")
    # Without a limit: 10,000 steps are recorded, which takes long.
    config = make_config(env_kwargs={"length": 1_000_000})
    run = make_run(tmp_path, config, states=[state_of(config)])
    inspector = InspectorProcess(tmp_path, working_dir=Path("/"))
    try:
        client = connect(inspector)
        client.predict(api_name="/open")
        job = client.submit(run.id, "epoch=00", "", "greedy", 0, 1, api_name="/play")
        folder = run.path / "inspection"
        deadline = time.monotonic() + 180
        while not list(folder.glob(".partial-*/.frames.mp4.*")):
            assert time.monotonic() < deadline, job
            time.sleep(0.02)
        code, out = inspector.end(signal.SIGINT)
        assert (code, out.split()[-2:]) == (0, ["inspector", "ended"])
        assert "Traceback" not in out
        assert not folder.exists()
        assert processes_left(inspector.session) == []
    finally:
        inspector.kill()
