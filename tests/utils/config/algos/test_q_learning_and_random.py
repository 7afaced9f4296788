from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.config_files import write_variants
from utils.config import load_config
from utils.errors import ConfigError

Q_LEARNING = "algo_id: q_learning\nmax_timesteps: 1000\nn_envs: 4\npolicy_lr: 0.1\n"
RANDOM = "algo_id: random\nmax_timesteps: 1000\nn_envs: 4\n"


def load(folder: Path, variant: str, *overrides: str):
    write_variants(folder, q_learning=Q_LEARNING, random=RANDOM)
    return load_config(f"Toy-v0:{variant}", overrides, config_dir=folder)


@pytest.mark.parametrize(
    ("variant", "override", "text"),
    [
        ("q_learning", "policy_kwargs.hidden_dims=[8]", "q_learning has a table and no network"),
        ("q_learning", "optimizer=Adam", "q_learning has a table and no network"),
        ("q_learning", "policy_lr=2", "'policy_lr' must stay between 0 and 1"),
        ("random", "policy_lr=0.1", "'policy_lr' has no effect: random learns nothing"),
        ("random", "normalize_obs=rolling", "'normalize_obs' has no effect"),
    ],
)
def test_what_they_do_not_read_is_refused(tmp_path, variant, override, text) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, variant, override)
    (line,) = str(caught.value).splitlines()
    assert text in line


def test_they_need_little(tmp_path) -> None:
    assert load(tmp_path, "random").steps_per_epoch == 1000
    assert load(tmp_path, "q_learning").hyperparameters.keys() >= {"policy_lr", "epsilon"}
