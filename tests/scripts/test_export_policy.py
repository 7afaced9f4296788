import sys

import pytest

from scripts import export_policy
from tests.helpers.played_runs import make_config, make_run
from tests.test_run_play import state_of
from utils.errors import exit_on_user_error


@pytest.fixture
def run_script(monkeypatch, capsys):
    """Run the script's main in this process; return its exit code, output and errors."""

    def run_script(*arguments):
        monkeypatch.setattr(sys, "argv", ["export_policy.py", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            exit_on_user_error(export_policy.main)
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return run_script


def test_a_run_becomes_an_onnx_file(run_script, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    config = make_config()
    run = make_run(tmp_path, config, states=[state_of(config)])
    code, out, err = run_script("@last", "--runs-dir", tmp_path)
    assert (code, err) == (0, "")
    path = run.path / "exports" / "epoch=00.onnx"
    assert str(path) in out
    assert "1,000 observations" in out
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert session.get_outputs()[0].name == "action"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nope",), "there is no run 'nope'"),
        (("@last", "--format", "torch-export", "--output", "x.onnx"), "ends with .pt2"),
        (("@last", "--checkpoint", "epoch=99"), "there is no checkpoint 'epoch=99'"),
        (("@last", "--formt", "onnx"), "did you mean '--format'?"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(run_script, tmp_path, arguments, message):
    make_run(tmp_path, make_config())
    code, out, err = run_script(*arguments, "--runs-dir", tmp_path)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
