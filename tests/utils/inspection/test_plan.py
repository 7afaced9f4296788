import importlib.util
import socket

import pytest

from tests.helpers.played_runs import make_config, make_run
from utils.errors import CheckpointError, MissingDependencyError, RunNotFoundError, UserError
from utils.inspection import parse_inspect_args, plan_inspect


def plan(runs_dir, *arguments):
    argv = ["--runs-dir", str(runs_dir), "--port", "0", *arguments]
    planned = plan_inspect(parse_inspect_args(argv))
    planned.listener.close()
    return planned


def test_the_newest_run_and_a_free_port(tmp_path, monkeypatch):
    run = make_run(tmp_path / "my runs", make_config())
    monkeypatch.chdir(tmp_path)
    argv = ["--runs-dir", "my runs", "--port", "0"]
    planned = plan_inspect(parse_inspect_args(argv))
    with planned.listener:
        port = planned.listener.getsockname()[1]
        assert planned.address == f"http://127.0.0.1:{port}"
        assert (planned.checkpoint, planned.warnings) == (None, [])
    assert planned.run.path == run.path.resolve()
    assert planned.runs_dir.is_absolute()


def test_a_checkpoint_may_follow_the_run(tmp_path):
    make_run(tmp_path, make_config(), states=[{}, {}])
    assert plan(tmp_path, "--run-id", "@last/epoch=1").checkpoint == "epoch=01"
    with pytest.raises(CheckpointError, match="there are epoch=00, epoch=01"):
        plan(tmp_path, "--run-id", "@last/epoch=7")


def test_another_interface_is_warned_of(tmp_path):
    make_run(tmp_path, make_config())
    argv = ["--runs-dir", str(tmp_path), "--port", "0", "--host", "0.0.0.0"]
    planned = plan_inspect(parse_inspect_args(argv))
    with planned.listener:
        assert not planned.is_loopback
        (warning,) = planned.warnings
        assert planned.address.startswith("http://127.0.0.1:")
    assert "no password" in warning


def test_a_port_in_use_is_one_line(tmp_path):
    make_run(tmp_path, make_config())
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UserError, match=f"--port {port}: another program uses this port"):
            plan(tmp_path, "--port", str(port))


@pytest.mark.parametrize("host", ["no such host", "192.0.2.1"])
def test_an_address_of_nobody_is_refused(tmp_path, host):
    make_run(tmp_path, make_config())
    with pytest.raises(UserError, match="--host"):
        plan(tmp_path, "--host", host)


def test_without_gradio_its_extra_is_named(tmp_path, monkeypatch):
    make_run(tmp_path, make_config())
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"gymnasium-solver\[inspect\]"):
        plan(tmp_path)


def test_no_run_takes_no_port(tmp_path):
    with pytest.raises(RunNotFoundError):
        plan(tmp_path)
