from __future__ import annotations

from types import SimpleNamespace

import pytest

from utils.environment import resolve_reward_threshold


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
