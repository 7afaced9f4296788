import math
import sys

import pytest

from utils.benchmarks import training_speed
from utils.benchmarks.training_speed import (
    Outcome,
    Solver,
    run_untimed,
    summarize,
    time_solvers,
    time_trainings,
)
from utils.errors import RunFailedError


def outcome(name, seconds, mean, timesteps=100):
    return Outcome(name, 1, seconds, seconds + 1.0, seconds / 2, timesteps, mean)


def test_a_summary_is_of_medians_of_its_own_runs():
    outcomes = [outcome("a", s, 500.0) for s in (3.0, 9.0, 4.0)] + [outcome("b", 1.0, 500.0)]
    found = summarize(outcomes, "a", threshold=475.0)
    assert (found.n_solved, found.n_runs) == (3, 3)
    assert (found.median_seconds, found.median_total_seconds) == (4.0, 5.0)
    assert found.median_cpu_seconds == 2.0


def test_a_run_that_missed_the_threshold_took_for_ever():
    means = (475.0, 474.9, 100.0)
    outcomes = [outcome("a", 1.0, mean) for mean in means]
    found = summarize(outcomes, "a", threshold=475.0)
    assert found.n_solved == 1
    assert found.median_seconds == math.inf


def test_only_the_training_is_timed(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(training_speed.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(training_speed.time, "process_time", lambda: now[0] / 2)
    order = []

    def contestant(name, seconds):
        def prepare(seed):
            now[0] += 100.0
            order.append((name, seed))

            def train():
                now[0] += seconds

            return train

        return prepare

    scores = time_trainings(
        {"a": contestant("a", 2.0), "b": contestant("b", 4.0)}, timesteps=80, seeds=[1, 2]
    )
    assert [(s.name, s.rates, s.cpu_rates) for s in scores] == [
        ("a", (40.0, 40.0), (80.0, 80.0)),
        ("b", (20.0, 20.0), (40.0, 40.0)),
    ]
    assert order == [("a", 1), ("b", 1), ("b", 2), ("a", 2)]


def python_solver(name, code):
    return Solver(
        name,
        lambda seed: [sys.executable, "-c", code, str(seed)],
        lambda seed, output: (seed, float(output.splitlines()[0])),
    )


def test_the_result_counts_when_it_is_told_and_not_at_the_end():
    work = "[None for _ in iter(lambda: time.process_time() < 0.1, False)]"
    code = f"import time; {work}; print(480, flush=True); time.sleep(2.0)"
    (found,) = time_solvers([python_solver("a", code)], seeds=[3], tell=lambda _: None)
    assert (found.seed, found.timesteps, found.mean) == (3, 3, 480.0)
    assert found.total_seconds - found.seconds > 0.4
    assert 0.08 < found.cpu_seconds < found.seconds + 0.5


def test_a_process_that_fails_is_named_with_its_last_words():
    code = "import sys; print('first', file=sys.stderr); sys.exit('no memory')"
    with pytest.raises(RunFailedError, match="a, seed 1: exit code 1: no memory"):
        time_solvers([python_solver("a", code)], seeds=[1], tell=lambda _: None)


def test_a_run_before_the_measurements_must_succeed(tmp_path):
    mark, words = tmp_path / "mark", "no such luck"
    run_untimed([sys.executable, "-c", f"open({str(mark)!r}, 'w')"])
    assert mark.exists()
    with pytest.raises(RunFailedError, match="exit code 3: no such luck"):
        run_untimed([sys.executable, "-c", f"import sys; sys.stderr.write({words!r}); sys.exit(3)"])
