import os
import subprocess
import sys
import time

import pytest

from utils.smoke.sessions import end_session, find_processes, wait_for_end

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")


@pytest.fixture
def leader():
    """A process that leads a session, and a child of it that outlives it."""
    script = "sleep 30 & echo started; exit 0"
    process = subprocess.Popen(["bash", "-c", script], stdout=-1, start_new_session=True)
    assert process.stdout.readline() == b"started\n"
    process.wait()
    while "sleep" not in find_processes(process.pid).values():  # a copy of bash at first
        time.sleep(0.01)
    yield process.pid
    process.stdout.close()
    end_session(process.pid)


def test_a_process_that_outlives_its_leader_is_found_and_ended(leader):
    assert set(find_processes(leader).values()) == {"sleep"}
    assert wait_for_end(leader, seconds=0.1) == ["sleep"]
    end_session(leader)
    assert wait_for_end(leader, seconds=60) == []


def test_one_that_ends_by_itself_is_waited_for():
    process = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(0.2)"], start_new_session=True
    )
    started = time.perf_counter()
    assert wait_for_end(process.pid, seconds=120) == []
    assert time.perf_counter() - started < 60
    process.wait()
