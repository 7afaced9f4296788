import pytest

from utils.reproduction import summarize
from utils.reproduction.summary import unmeasured


def result(
    seed, best, last=(400.0, 500.0), timesteps=1000, seconds=2.0, training=1.0, n_unfinished=0
):
    tests = {
        "best": {"returns": list(best), "n_unfinished": n_unfinished},
        "last": {"returns": list(last), "n_unfinished": 0},
    }
    return {
        "seed": seed,
        "timesteps": timesteps,
        "process_seconds": seconds,
        "training_seconds": training,
        "test": tests,
    }


def test_the_mean_is_of_seeds_with_students_interval():
    # Means of the seeds 480, 500, 490: mean 490, s = sqrt((100 + 100 + 0) / 2) = 10,
    # t(0.975, 2) = 4.30265, so +- 4.30265 * 10 / sqrt(3) = 24.841.
    found = summarize(
        [
            result(2, (500.0, 500.0), timesteps=4000),
            result(1, (460.0, 500.0), timesteps=1000, seconds=5.0),
            result(3, (490.0, 490.0), timesteps=4000),
        ]
    )
    assert found.seeds == (1, 2, 3)
    assert found.means("best") == (480.0, 500.0, 490.0)
    assert found.means("last") == (450.0, 450.0, 450.0)
    assert found.best.mean == pytest.approx(490.0)
    assert found.best.half_width == pytest.approx(24.841, abs=2e-3)
    assert str(found.best) == "490.00 ± 24.84"
    assert (found.last.mean, found.last.half_width) == (450.0, 0.0)
    assert (found.mean_timesteps, found.mean_seconds) == (3000.0, 3.0)
    assert (found.n_episodes, found.n_unfinished) == (2, 0)


def test_a_metric_can_take_the_place_of_the_return():
    results = [result(1, (1.0,), last=(1.0,)), result(2, (1.0,), last=(1.0,))]
    for item, regret in zip(results, (3.0, 5.0), strict=True):
        item["test"]["best"]["metrics"] = {"regret": regret}
        item["test"]["last"]["metrics"] = {"regret": regret + 1.0}
    found = summarize(results, "regret")
    assert found.means("best") == (3.0, 5.0)
    assert (found.best.mean, found.last.mean) == (4.0, 5.0)


def test_the_wall_time_of_a_resumed_training_is_that_of_all_its_processes():
    # 2 s alone, and 5 s by the last process of a training that took 9 s in all, and tests of 3 s
    # and 2 s.
    resumed = result(2, (1.0, 2.0), seconds=5.0, training=9.0)
    resumed["test"]["best"]["seconds"], resumed["test"]["last"]["seconds"] = 3.0, 2.0
    found = summarize([result(1, (1.0, 2.0)), resumed])
    assert found.mean_seconds == (2.0 + 14.0) / 2
    resumed["test"]["last"] = resumed["test"]["best"]  # one policy, one test
    assert summarize([resumed]).mean_seconds == 12.0


def test_one_seed_has_no_interval():
    found = summarize([result(7, (1.0, 2.0))])
    assert found.best.half_width is None
    assert str(found.best) == "1.50"


def test_unfinished_episodes_are_counted_and_in_no_mean():
    found = summarize([result(1, (100.0,), n_unfinished=1), result(2, (300.0, 300.0))])
    assert found.best.mean == 200.0
    assert (found.n_episodes, found.n_unfinished) == (2, 1)


@pytest.mark.parametrize(
    "results",
    [
        [],
        [result(1, (1.0, 1.0)), result(1, (2.0, 2.0))],
        [result(1, (1.0, 1.0)), result(2, (2.0, 2.0, 2.0))],
    ],
    ids=["none", "one seed twice", "unequal tests"],
)
def test_what_cannot_be_summarised_is_refused(results):
    with pytest.raises(AssertionError):
        summarize(results)


def test_a_test_without_a_value_is_named():
    whole = {"returns": [1.0], "metrics": {"regret": 2.0}}
    results = [
        {"seed": 2, "test": {"best": whole, "last": whole}},
        {"seed": 1, "test": {"best": whole, "last": {"returns": [], "metrics": {}}}},
    ]
    assert unmeasured(results[:1]) is None
    assert unmeasured(results) == "no test episode of the last policy of seed 1 has ended"
    assert unmeasured(results[:1], "error") == "the test of seed 2 has no 'error'"
    assert unmeasured(results[:1], "regret") is None
