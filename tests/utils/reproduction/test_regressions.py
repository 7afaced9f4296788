import math
from pathlib import Path

import pytest

from utils.reproduction.regressions import compare_suites, describe_comparison
from utils.reproduction.store import StoredEntry, StoredSeed, StoredSuite

MACHINE = {"processor": "a", "usable_cores": 2, "device": "cpu"}
OLD = [480.0, 490.0, 500.0, 495.0]


def suite_of(*, speed=100.0, machine=MACHINE, metric=None, **values):
    entries = {
        name: StoredEntry(
            config_id=name,
            metric=metric,
            seeds=tuple(
                StoredSeed(
                    seed=seed,
                    value=value,
                    last=value,
                    timesteps=1000,
                    seconds=10.0,
                    steps_per_second=speed,
                    machine=0,
                )
                for seed, value in enumerate(group)
            ),
        )
        for name, group in values.items()
    }
    return StoredSuite(
        path=Path("old.json"),
        written_at="then",
        commit=None,
        machines=(machine,),
        overrides=(),
        entries=entries,
    )


def verdict(old, new, **changes):
    (found,) = compare_suites(suite_of(a=old, **changes), suite_of(a=new, **changes))
    return found.verdict


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (OLD, "equal"),
        ([300.0, 310.0, 320.0, 290.0], "regression"),
        ([100.0, 500.0, 495.0, 490.0], "no difference"),  # one bad seed of four may be chance
        ([483.0, 489.0, 501.0, 494.0], "no difference"),
        ([476.0, 486.0, 496.0, 491.0], "no difference"),  # less than one hundredth
        ([600.0, 610.0, 605.0, 602.0], "improvement"),
        ([300.0], "cannot tell"),
    ],
)
def test_verdicts(new, expected):
    assert verdict(OLD, new) == expected


def test_less_of_a_regret_is_better():
    assert verdict([20.0, 21.0, 22.0], [30.0, 31.0, 32.0], metric="regret") == "regression"
    assert verdict([30.0, 31.0, 32.0], [20.0, 21.0, 22.0], metric="regret") == "improvement"


def test_equal_seeds_that_all_fall_are_a_regression():
    assert verdict([500.0] * 3, [480.0] * 3) == "regression"


def test_many_configs_are_corrected_for():
    old, new = [10.0, 12.0, 11.0], [8.0, 10.0, 9.2]
    (alone,) = compare_suites(suite_of(a=old), suite_of(a=new))
    others = {f"c{i}": [10.0, 12.0, 11.0] for i in range(9)}
    moved = {name: [10.1, 12.1, 10.8] for name in others}
    found = compare_suites(suite_of(a=old, **others), suite_of(a=new, **moved))
    assert alone.verdict == "regression"
    assert found[0].p_worse > alone.p_worse
    assert found[0].verdict == "no difference"


def test_speeds_are_compared_on_one_kind_of_machine_only():
    old, new = suite_of(a=OLD, speed=100.0), suite_of(a=OLD, speed=50.0)
    (found,) = compare_suites(old, new)
    assert found.speed == pytest.approx(0.5)
    assert found.is_slower
    other = suite_of(a=OLD, speed=50.0, machine=MACHINE | {"processor": "b"})
    (found,) = compare_suites(old, other)
    assert found.speed is None
    assert not found.is_slower


def test_what_is_told():
    old = suite_of(a=OLD, b=OLD, c=OLD, gone=OLD)
    new = suite_of(a=[300.0, 310.0, 320.0, 290.0], b=OLD, c=[300.0], new=OLD, speed=10.0)
    text = describe_comparison(old, new, compare_suites(old, new))
    assert "REGRESSION a: return 305.00, was 491.25" in text
    assert "cannot tell of c" in text
    assert "not there now: gone" in text
    assert "slower: b makes 0.10 times" in text
    assert "new" not in [line.split(" ")[0] for line in text.splitlines()]
    calm = describe_comparison(old, old, compare_suites(old, old))
    assert calm.endswith("no regression among 4 configs")
    assert "(p < 0.001 after correction)" in text
    assert math.isnan(compare_suites(old, new)[2].p_worse)
