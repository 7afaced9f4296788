"""The control suite leaves the process as it was."""

import subprocess
import sys

import pytest

pytest.importorskip("dm_control")

PROGRAM = """
import logging
from utils.environment import build_env
env = build_env("dm_control/cartpole-swingup", n_envs=1, env_kwargs={})
env.reset(seed=0)
logging.getLogger("gymnasium_solver").addHandler(logging.NullHandler())
logging.getLogger("gymnasium_solver").warning("said once")
print(logging.root.handlers)
"""


def test_messages_of_a_run_do_not_come_to_the_terminal_too():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "[]"
    assert "said once" not in done.stderr
