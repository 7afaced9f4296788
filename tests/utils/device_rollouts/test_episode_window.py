from utils.device_rollouts import EpisodeTotals, EpisodeWindow


def group(n, each):
    """n episodes of return `each` and twice the length."""
    return EpisodeTotals(n, n * each, each, each, 2.0 * n * each)


def test_nothing_is_told_without_episodes():
    window = EpisodeWindow()
    window.add(EpisodeTotals(0, 0.0, float("inf"), float("-inf"), 0.0))
    assert window.metrics() == {}


def test_groups_stay_while_the_newer_ones_are_too_few():
    window = EpisodeWindow(10)
    window.add(group(8, 1.0))
    window.add(group(4, 4.0))
    # 8 x 1 + 4 x 4 = 24 over 12 episodes.
    assert window.metrics() == {
        "train/roll/ep_rew_mean": 2.0,
        "train/roll/ep_rew_min": 1.0,
        "train/roll/ep_rew_max": 4.0,
        "train/roll/ep_len_mean": 4.0,
    }
    window.add(group(6, 5.0))  # 4 + 6 are ten: the first group goes
    assert window.metrics()["train/roll/ep_rew_mean"] == (4 * 4.0 + 6 * 5.0) / 10
    assert window.metrics()["train/roll/ep_rew_min"] == 4.0


def test_one_episode_moves_the_mean_by_a_hundredth():
    window = EpisodeWindow()
    window.add(group(100, 10.0))
    window.add(group(1, 500.0))
    assert window.metrics()["train/roll/ep_rew_mean"] == (100 * 10.0 + 500.0) / 101


def test_state_is_restored():
    one, other = EpisodeWindow(), EpisodeWindow()
    one.add(group(3, 7.0))
    other.load_state_dict(one.state_dict())
    assert other.metrics() == one.metrics()
