from __future__ import annotations

import pytest

from gym_envs.bandits.settings import BanditSettings, read_settings
from utils.errors import ConfigError


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_arm": 3}, "takes no 'n_arm'; did you mean n_arms?"),
        ({"zzz": 3}, "takes no 'zzz'; it takes rewards, n_arms"),
        ({"n_arms": 1}, "n_arms must be a whole number >= 2, got 1"),
        ({"n_arms": 2.5}, "n_arms must be a whole number"),
        ({"horizon": 0}, "horizon must be a whole number >= 1"),
        ({"horizon": True}, "horizon must be a whole number >= 1"),
        ({"rewards": "beta"}, "rewards must be one of bernoulli, gaussian, got 'beta'"),
        ({"observation": "all"}, "observation must be one of none, last, statistics"),
        ({"drift_std": 0.1}, "drift_std has no effect with rewards: bernoulli"),
        ({"rewards": "gaussian", "noise_std": 0}, "noise_std must be above 0"),
        ({"rewards": "gaussian", "mean_std": float("nan")}, "mean_std must be a number >= 0"),
        ({"arm_order": "mean", "observation": "last"}, "arm_order has no effect"),
        ({"memory": 0}, r"memory must be in \(0, 1\]"),
        ({"memory": 0.5, "observation": "last"}, "memory has no effect with observation: last"),
    ],
)
def test_mistakes_are_named(arguments: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_settings(arguments)


def test_arguments_become_settings() -> None:
    assert read_settings({"n_arms": 3, "horizon": 7}) == BanditSettings(n_arms=3, horizon=7)
