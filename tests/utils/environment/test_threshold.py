from __future__ import annotations

from types import SimpleNamespace

import pytest

from utils.environment import resolve_reward_threshold, solved_threshold


@pytest.mark.parametrize(
    ("of_run", "of_spec", "of_env", "expected"),
    [
        (1.0, 2.0, 3.0, 1.0),
        (0.0, 2.0, 3.0, 0.0),
        (None, 2.0, 3.0, 2.0),
        (None, None, 3.0, 3.0),
        (None, None, None, None),
    ],
)
def test_the_first_that_is_set_counts(
    of_run: float | None, of_spec: float | None, of_env: float | None, expected: float | None
) -> None:
    config = SimpleNamespace(
        reward_threshold=of_run, spec=SimpleNamespace(solved_threshold=of_spec)
    )
    env = SimpleNamespace(reward_threshold=of_env)
    assert resolve_reward_threshold(config, env) == expected


@pytest.mark.parametrize(
    ("of_spec", "of_env", "expected"), [(2.0, 3.0, 2.0), (None, 3.0, 3.0), (None, None, None)]
)
def test_solved_is_what_the_environment_says_wherever_the_run_stops(
    of_spec: float | None, of_env: float | None, expected: float | None
) -> None:
    config = SimpleNamespace(reward_threshold=9.0, spec=SimpleNamespace(solved_threshold=of_spec))
    assert solved_threshold(config, SimpleNamespace(reward_threshold=of_env)) == expected
