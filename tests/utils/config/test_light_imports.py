"""The command line answers without loading what takes seconds to load."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys, time
start = time.process_time()
{body}
elapsed = time.process_time() - start
heavy = {{"torch", "lightning", "gymnasium", "numpy", "numba", "matplotlib", "wandb"}}
print(sorted(heavy & set(sys.modules)), elapsed)
"""
BODIES = {
    "load": "from utils.config import load_config; load_config('CartPole-v1:ppo', ['gamma=0.9'])",
    "parse": (
        "from utils.config.cli import parse_train_args; parse_train_args(['a:b', '--set', 'x=1'])"
    ),
    "list": "from utils.config import list_configs; assert 'CartPole-v1' in list_configs()",
    "refuse": """
from utils.config import load_config
from utils.errors import ConfigError
try:
    load_config("CartPol-v1:ppo")
except ConfigError as error:
    assert "CartPole-v1" in str(error)
else:
    raise AssertionError
""",
}


@pytest.mark.parametrize("name", BODIES)
def test_nothing_heavy_is_loaded(name):
    program = PROGRAM.format(body=BODIES[name])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded, elapsed = done.stdout.rsplit(maxsplit=1)
    assert loaded == "[]"
    # Processor time, so that a busy machine makes no difference.
    assert float(elapsed) < 0.5
