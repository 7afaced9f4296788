import pytest

from tests.helpers.played_runs import make_config
from tests.helpers.policies import build_linear_policy
from tests.helpers.published import make_results
from utils.playback.environment import build_playback_env
from utils.publishing.results import (
    ResultError,
    play_fresh_episodes,
    publication_seed,
)
from utils.seeding import derive_seed


def play(config, **changes):
    env = build_playback_env(config, render_mode=None)
    policy = build_linear_policy(env)
    env.close()
    options = {"n_episodes": 2, "seed": 3, "deterministic": True, "max_steps": None}
    return play_fresh_episodes(config, policy, **(options | changes))


def test_mean_and_deviation_are_those_of_the_returns():
    results = make_results([1.0, 2.0, 6.0])
    # mean 9 / 3 = 3; squares 4 + 1 + 9 = 14, 14 / 2 = 7, sqrt(7) = 2.6458
    assert results.mean_reward == "3.00 +/- 2.65"
    assert results.std == pytest.approx(2.6457513)
    record = results.record(make_config(), checkpoint="epoch=03", timesteps=48)
    assert record["mean_reward"] == 3.0
    assert record["seeds"] == [10, 11, 12]
    assert record["returns"] == [1.0, 2.0, 6.0]
    assert record["is_deterministic"] is True
    assert record["checkpoint"] == "epoch=03"


def test_episodes_have_one_seed_after_another():
    results = play(make_config(), n_episodes=3)
    assert [episode.seed for episode in results.episodes] == [3, 4, 5]
    assert results.returns == [5.0, 5.0, 5.0]


def test_the_seeds_are_of_a_stream_that_nothing_else_uses():
    config = make_config(seed=4)
    others = {derive_seed(4, stream) for stream in ("train", "val", "test", "video", "play")}
    assert publication_seed(config) not in others


def test_episodes_that_do_not_end_are_no_result():
    with pytest.raises(ResultError, match="2 of 2 episodes did not end within 4 steps"):
        play(make_config(), max_steps=4)
    with pytest.raises(ResultError, match="within 3 steps"):
        play(make_config(eval_max_episode_steps=3))


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_a_return_that_is_not_finite_is_no_result():
    rewards = [3e38, 3e38, 1e308, 1e308, 1e308]
    config = make_config(env_id="tests.helpers.envs:RewardList-v0", env_kwargs={"rewards": rewards})
    with pytest.raises(ResultError, match="seed 3 is inf: nothing was published"):
        play(config)
