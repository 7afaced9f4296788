import pytest

from utils.errors import UserError
from utils.reproduction import suite as suite_module
from utils.reproduction.cli import read_options
from utils.reproduction.entries import ENTRIES, Entry
from utils.reproduction.runner import Job
from utils.reproduction.suite import Machine, every_config, plan_suite
from utils.reproduction.time_left import TimeLeft, describe_seconds

NAMES = ("CartPole-v1:ppo", "Acrobot-v1:ppo", "Pendulum-v1:ppo", "ALE/Pong-v5:rainbow_gpu")
JOBS = {Entry(name, 2, None): [Job(name, seed) for seed in (1, 2)] for name in NAMES}
SECONDS = {"CartPole-v1:ppo": 10.0, "Acrobot-v1:ppo": 30.0}


def plan(*, done=(), has_gpu=True, budget=None, n_processes=1, seconds=SECONDS):
    suite = plan_suite(
        JOBS,
        machine=Machine(has_gpu=has_gpu),
        seconds=seconds,
        budget_seconds=budget,
        is_done={job: job in done for group in JOBS.values() for job in group},
        n_processes=n_processes,
    )
    return [entry.config_id for entry in suite.jobs], {
        item.config_id: item.reason for item in suite.left_out
    }


def test_everything_fits_without_a_bound():
    chosen, left_out = plan()
    assert chosen == list(NAMES)
    assert left_out == {}


def test_what_needs_a_gpu_is_left_out_with_the_reason():
    chosen, left_out = plan(has_gpu=False)
    assert chosen == list(NAMES[:3])
    assert "meant for a GPU" in left_out[NAMES[3]]


def test_what_needs_an_extra_is_left_out_with_the_reason(monkeypatch):
    monkeypatch.setattr(
        suite_module, "missing_extras", lambda s: ["atari"] if "Pong" in s["env_id"] else []
    )
    _, left_out = plan()
    assert left_out == {NAMES[3]: "the extra 'atari' is not installed (pip install -e '.[atari]')"}


def test_a_budget_takes_the_cheapest_with_all_their_seeds():
    chosen, left_out = plan(budget=25.0)
    assert chosen == ["CartPole-v1:ppo"]
    assert left_out["Acrobot-v1:ppo"] == "beyond the time budget: it takes some 60 s of a core"
    assert left_out["Pendulum-v1:ppo"].startswith("nobody knows how long it takes")
    chosen, _ = plan(budget=40.0, n_processes=2)
    assert chosen == ["CartPole-v1:ppo", "Acrobot-v1:ppo"]


def test_what_is_there_already_costs_nothing_and_needs_nothing():
    done = [job for group in JOBS.values() for job in group][2:]
    chosen, left_out = plan(done=done, budget=1.0, has_gpu=False)
    assert chosen == list(NAMES[1:])
    assert list(left_out) == ["CartPole-v1:ppo"]


def test_all_configs_are_those_of_the_page_and_the_others():
    found = every_config(["CartPole-v1:ppo", "Other-v0:ppo"])
    assert found[: len(ENTRIES)] == list(ENTRIES)
    assert [entry.config_id for entry in found[len(ENTRIES) :]] == ["Other-v0:ppo"]


def test_the_time_left_learns_from_what_is_done():
    clock = TimeLeft({"a": 10.0, "b": 20.0}, 2)
    assert clock.left(["a", "b"], []) == pytest.approx(15.0)
    assert clock.left(["a"], [("c", 1.0)]) is None
    clock.note("a", 20.0)  # twice as slow as was known
    assert clock.of("b") == pytest.approx(40.0)
    assert clock.left(["b"], [("a", 5.0)]) == pytest.approx((40.0 + 15.0) / 2)
    assert clock.left([], [("a", 25.0)]) == 0.0
    assert [describe_seconds(s) for s in (45, 600, 9000)] == ["45 s", "10 min", "2.5 h"]


def test_lengths_of_time():
    assert read_options(["--budget", "90s"]).budget == 90.0
    assert read_options(["--budget", "1.5h"]).budget == 5400.0
    for text in ("90", "h", "-1m", "0s"):
        with pytest.raises(UserError, match="must be a time such as"):
            read_options([f"--budget={text}"])
