import pytest

from utils.config import load_config
from utils.errors import ConfigError
from utils.reproduction import ENTRIES, select_entries
from utils.reproduction.entries import SOURCES


def test_every_row_is_a_config_that_loads():
    ids = [entry.config_id for entry in ENTRIES]
    assert len(set(ids)) == len(ids)
    for entry in ENTRIES:
        assert load_config(entry.config_id).test_episodes >= 100, entry
        assert entry.n_seeds >= 3
        assert {published.source for published in entry.published} <= SOURCES.keys()


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("cartpole", ["CartPole-v1:ppo", "CartPole-v1:ppo_simd", "CartPole-v1:reinforce"]),
        ("Acro*:reinforce", ["Acrobot-v1:reinforce"]),
        ("", [entry.config_id for entry in ENTRIES]),
    ],
)
def test_a_filter_is_part_of_an_id_or_a_glob(pattern, found):
    assert [entry.config_id for entry in select_entries(pattern)] == found


def test_a_filter_that_fits_nothing_names_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'Taxi-v4:ppo'"):
        select_entries("Taxy-v4:ppo")
