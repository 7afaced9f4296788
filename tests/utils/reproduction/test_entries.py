import pytest

from utils.config import load_config
from utils.errors import ConfigError
from utils.reproduction import ENTRIES, Entry, select_entries
from utils.reproduction.entries import SOURCES, Published
from utils.reproduction.summary import summarize


def test_every_row_is_a_config_that_loads():
    ids = [entry.config_id for entry in ENTRIES]
    assert len(set(ids)) == len(ids)
    for entry in ENTRIES:
        # A game of Atari takes minutes.
        n_episodes = 30 if entry.config_id.startswith("ALE/") else 100
        assert load_config(entry.config_id).test_episodes >= n_episodes, entry
        assert entry.n_seeds >= 3
        assert {other.source for other in entry.others} <= SOURCES.keys()


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("cartpole-v1:p", ["CartPole-v1:ppo", "CartPole-v1:ppo_memory", "CartPole-v1:ppo_simd"]),
        ("Acro*:reinforce", ["Acrobot-v1:reinforce"]),
        ("", [entry.config_id for entry in ENTRIES]),
    ],
)
def test_a_filter_is_part_of_an_id_or_a_glob(pattern, found):
    assert [entry.config_id for entry in select_entries(pattern)] == found


def test_a_filter_that_fits_nothing_names_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'Taxi-v4:ppo'"):
        select_entries("Taxy-v4:ppo")


def seeds(best, last=None):
    """Summarise seeds with one test episode each."""
    return summarize(
        [
            {
                "seed": seed,
                "timesteps": 1,
                "process_seconds": 1.0,
                "training_seconds": 1.0,
                "test": {
                    "best": {"returns": [one], "n_unfinished": 0, "metrics": {}},
                    "last": {"returns": [other], "n_unfinished": 0, "metrics": {}},
                },
            }
            for seed, (one, other) in enumerate(zip(best, last or best, strict=True))
        ]
    )


def test_a_return_has_to_be_as_high_as_the_goal_and_a_metric_no_higher():
    of = seeds([475.0, 474.9, 500.0])
    assert Entry("a:ppo", 3, 475.0).n_reached(of) == 2
    assert Entry("a:ppo", 3, 475.0, metric="regret").n_reached(of) == 2
    assert Entry("a:ppo", 3, 9.0, metric="regret").n_reached(of) == 0
    assert Entry("a:ppo", 3, None).n_reached(of) == 0


def test_a_point_of_a_curve_is_asked_of_the_last_policy():
    of = seeds([475.0, 474.9, 500.0], last=[475.0, 400.0, 474.0])
    assert Entry("a:ppo", 3, 475.0, judged="last").n_reached(of) == 1


def test_a_figure_of_others_tells_what_is_known_of_it():
    assert str(Published("RL Zoo", 500.0, 0.0, "100k")) == "RL Zoo 500 ± 0 (100k)"
    assert str(Published("UCB1", 42.7, None)) == "UCB1 42.7"


def test_goals_that_are_points_of_published_curves_are_asked_of_the_last_policy():
    points = [e for e in ENTRIES if e.config_id.split(":")[1].startswith("dreamer_50k")]
    assert len(points) == 4
    assert {entry.judged for entry in points} == {"last"}
