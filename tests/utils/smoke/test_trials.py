import time

import pytest

from tests.helpers.trials import act
from utils.smoke import TrialResult, run_trials, trial_table


@pytest.fixture(scope="module")
def results():
    config_ids = [
        "prints",
        "raises",
        "errs",
        "lacks",
        "no rom",
        "dies",
        "leaks",
        "spawns",
        "prints",
    ]
    return list(run_trials(act, config_ids, timeout_seconds=30, preload=[]))


def by_name(results, name):
    return next(result for result in results if result.config_id == name)


def test_what_was_done_is_the_last_thing_said(results):
    found = by_name(results, "prints")
    assert (found.outcome, found.reason) == ("ok", "two episodes")


@pytest.mark.parametrize(
    ("name", "outcome", "reason"),
    [
        ("raises", "failed", "ValueError: no such door"),
        ("errs", "failed", "wrong key"),
        ("leaks", "failed", "AssertionError: processes are left: sleeper"),
        ("spawns", "failed", "processes are left: sleep"),
    ],
)
def test_a_trial_that_goes_wrong_has_failed_with_its_reason(results, name, outcome, reason):
    found = by_name(results, name)
    assert (found.outcome, found.reason) == (outcome, reason)


def test_a_missing_package_is_no_failure(results):
    found = by_name(results, "lacks")
    assert found.outcome == "not installed"
    assert "gymnasium-solver[box2d]" in found.reason


def test_a_missing_file_is_no_failure(results):
    found = by_name(results, "no rom")
    assert (found.outcome, found.reason) == ("not installed", "import the ROM of Pong")


def test_several_run_at_a_time():
    started = time.perf_counter()
    found = list(run_trials(act, ["naps"] * 4, timeout_seconds=60, preload=[], n_jobs=4))
    assert [result.outcome for result in found] == ["ok"] * 4
    # Each naps for 2 seconds: one after the other they would take 8 and more.
    assert time.perf_counter() - started < sum(result.seconds for result in found) * 0.75


def test_whoever_stops_listening_ends_the_trials_under_way():
    trials = run_trials(act, ["prints", "hangs"], timeout_seconds=60, preload=[], n_jobs=2)
    assert next(trials).config_id == "prints"
    started = time.perf_counter()
    trials.close()
    assert time.perf_counter() - started < 50


def test_a_process_that_dies_takes_no_other_with_it(results):
    died = by_name(results, "dies")
    assert died.outcome == "failed"
    assert died.reason.startswith("ended by signal 6")
    assert results[-1].outcome == "ok"


def test_a_trial_that_hangs_is_ended():
    started = time.perf_counter()
    (found,) = run_trials(act, ["hangs"], timeout_seconds=1, preload=[])
    assert time.perf_counter() - started < 50
    assert found.outcome == "failed"
    assert found.reason == "not through after 1 s; at the door"


def test_the_table_counts_outcomes_and_cuts_long_reasons():
    text = trial_table(
        [
            TrialResult("A:ppo", "ok", 1.25, ""),
            TrialResult("B:ppo", "failed", 0.5, "x" * 500),
            TrialResult("C:ppo", "failed", 0.5, "y"),
        ]
    )
    lines = text.splitlines()
    assert lines[2] == "A:ppo   ok          1.2  -"
    assert max(map(len, lines)) < 200
    assert lines[-1] == "1 ok, 2 failed"
