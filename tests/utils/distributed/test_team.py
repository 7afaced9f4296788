"""What is left of a team that has parted."""

import subprocess
import sys

from tests.helpers.commands import ROOT

PROGRAM = """
import pathlib, sys
from utils.distributed.ranks import Ranks
from utils.distributed.team import Team

def threads():
    names = [path.read_text() for path in pathlib.Path("/proc/self/task").glob("*/comm")]
    return sum("gloo" in name for name in names)

team = Team(Ranks(0, 1, 0, 1, "train.py"), store_file=pathlib.Path(sys.argv[1]))
import agents.training  # as a follower does, once it has met the leader
assert threads() > 0
team.close()
print(threads())
"""


def test_no_thread_of_the_exchanges_is_left(tmp_path):
    """One would abort the process now and then: it may need the interpreter while that ends."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "store")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "0\n"
