"""The control suite leaves the messages of the process as they were."""

import subprocess
import sys

import pytest

pytest.importorskip("dm_control")

PROGRAM = """
import logging
from utils.environment import build_env
env = build_env("dm_control/cartpole-swingup", n_envs=1, env_kwargs={"from_pixels": %s})
env.reset(seed=0)
own = logging.getLogger("gymnasium_solver")
own.addHandler(logging.NullHandler())
own.warning("told elsewhere")
own.setLevel(logging.INFO)
logging.getLogger("another").warning("told here")
logging.getLogger("another").info("told nowhere")
"""


@pytest.mark.parametrize("from_pixels", [False, True])
def test_messages_of_a_run_do_not_come_to_the_terminal_too(from_pixels):
    program = [sys.executable, "-c", PROGRAM % from_pixels]
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=120)
    assert "told here\n" in done.stderr
    assert "told elsewhere" not in done.stderr
    assert "told nowhere" not in done.stderr
