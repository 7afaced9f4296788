"""Jobs as real processes."""

import signal
import sys

import pytest

from utils.jobs import Job, JobPool

# Writes that it has begun, and on SIGTERM that it has saved.
PROGRAM = """
import pathlib, signal, sys, time
place = pathlib.Path(sys.argv[1])
def save(number, frame):
    (place / f"{sys.argv[2]}.saved").touch()
    sys.exit(143)
signal.signal(signal.SIGTERM, save)
(place / f"{sys.argv[2]}.begun").touch()
if sys.argv[3] == "fail":
    print("error: it went wrong", file=sys.stderr)
    sys.exit(3)
while sys.argv[3] == "wait":
    time.sleep(0.01)
"""


def make_job(folder, name, what):
    command = [sys.executable, "-S", "-c", PROGRAM, str(folder), name, what]
    return Job(command, output=folder / f"{name}.txt")


def is_gone(job):
    return job.process is not None and job.process.poll() is not None


def test_jobs_run_in_order_up_to_a_limit(tmp_path):
    jobs = [make_job(tmp_path, str(i), "end") for i in range(5)]
    most = 0

    def look():
        nonlocal most
        most = max(most, sum(job.is_running() for job in jobs))

    JobPool(jobs, n_parallel=2).run(look=look, on_stop=lambda: None)
    assert [job.exit_code for job in jobs] == [0] * 5
    assert most <= 2
    assert len(list(tmp_path.glob("*.begun"))) == 5


def test_one_that_fails_is_told_and_the_others_go_on(tmp_path):
    jobs = [make_job(tmp_path, "a", "fail"), make_job(tmp_path, "b", "end")]
    JobPool(jobs, n_parallel=1).run(look=lambda: None, on_stop=lambda: None)
    assert [job.exit_code for job in jobs] == [3, 0]
    assert jobs[0].last_output() == "it went wrong"


def test_output_of_an_earlier_start_says_nothing_of_a_later_one(tmp_path):
    first, second = make_job(tmp_path, "a", "fail"), make_job(tmp_path, "a", "end")
    for job in (first, second):
        JobPool([job], n_parallel=1).run(look=lambda: None, on_stop=lambda: None)
    assert first.last_output() != second.last_output() == "no output"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_lets_all_save_and_leaves_no_process(tmp_path, number):
    jobs = [make_job(tmp_path, str(i), "wait") for i in range(3)]
    stops = []

    def look():
        if len(list(tmp_path.glob("*.begun"))) == 2 and not stops:
            signal.raise_signal(number)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            JobPool(jobs, n_parallel=2).run(look=look, on_stop=lambda: stops.append(1))
    finally:
        signal.signal(signal.SIGINT, before)
    assert stops == [1]
    assert sorted(path.name for path in tmp_path.glob("*.saved")) == ["0.saved", "1.saved"]
    assert is_gone(jobs[0])
    assert is_gone(jobs[1])
    assert jobs[2].process is None


def test_what_does_not_end_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("utils.jobs.pool.STOP_SECONDS", 0.0)
    job = make_job(tmp_path, "0", "wait")

    def look():
        if (tmp_path / "0.begun").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        JobPool([job], n_parallel=1).run(look=look, on_stop=lambda: None)
    assert job.exit_code in (-signal.SIGKILL, 143)


def test_handlers_are_given_back(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    JobPool([make_job(tmp_path, "0", "end")], n_parallel=1).run(
        look=lambda: None, on_stop=lambda: None
    )
    assert signal.getsignal(signal.SIGTERM) is before
