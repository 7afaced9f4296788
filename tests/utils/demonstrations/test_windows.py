from __future__ import annotations

import numpy as np
import torch
from gymnasium import spaces

from utils.demonstrations.episodes import Demonstrations, Episode, join_episodes
from utils.demonstrations.windows import Windows, split_episodes

SPACE = spaces.Box(-np.inf, np.inf, (1,), np.float32)


def demonstrations(*lengths: int) -> Demonstrations:
    """Episode k shows 100 k + t and does 100 k + t + 0.5 at step t."""
    episodes = []
    for k, n in enumerate(lengths):
        shown = (100.0 * k + np.arange(n + 1))[:, None]
        episodes.append(Episode(shown, shown[:n] + 0.5, np.ones(n), True))
    return join_episodes(episodes, SPACE, SPACE)


def all_windows(data: Demonstrations, n_observations: int, n_actions: int) -> Windows:
    steps = torch.arange(len(data))
    return Windows(data, steps, n_observations=n_observations, n_actions=n_actions)


def test_episodes_lie_one_after_another_without_what_the_last_step_led_to() -> None:
    data = demonstrations(2, 3)
    assert data.observation.squeeze(1).tolist() == [0, 1, 100, 101, 102]
    assert data.start.tolist() == [0, 2, 5]
    assert data.returns.tolist() == [2.0, 3.0]
    assert (data.n_episodes, len(data)) == (2, 5)


def test_a_window_in_the_middle_holds_what_belongs_to_it() -> None:
    window = all_windows(demonstrations(9), 2, 4).gather(torch.tensor([4]))
    assert window.observation.squeeze().tolist() == [3, 4]
    assert window.action.squeeze().tolist() == [
        3.5,
        4.5,
        5.5,
        6.5,
    ]  # the first is of the first seen
    assert window.is_real.all()


def test_both_ends_of_an_episode_repeat_their_nearest_and_are_marked() -> None:
    windows = all_windows(demonstrations(3, 4), 3, 5)
    first, last = windows.gather(torch.tensor([3, 6])), windows.gather(torch.tensor([6]))
    assert first.observation[0].squeeze(1).tolist() == [100, 100, 100]
    assert first.action[0].squeeze(1).tolist() == [100.5, 100.5, 100.5, 101.5, 102.5]
    assert first.is_real[0].tolist() == [False, False, True, True, True]
    assert last.observation[0].squeeze(1).tolist() == [101, 102, 103]
    assert last.action[0].squeeze(1).tolist() == [101.5, 102.5, 103.5, 103.5, 103.5]
    assert last.is_real[0].tolist() == [True, True, True, False, False]


def test_no_window_looks_into_another_episode() -> None:
    data = demonstrations(1, 2, 7, 3)
    window = all_windows(data, 4, 9).gather(torch.arange(len(data)))
    episode = (data.observation.squeeze(1) // 100).long()
    assert ((window.observation.squeeze(2) // 100).long() == episode[:, None]).all()
    assert ((window.action.squeeze(2) // 100).long() == episode[:, None]).all()


def test_one_observation_and_one_action_are_those_of_the_step() -> None:
    data = demonstrations(3, 2)
    window = all_windows(data, 1, 1).gather(torch.arange(5))
    assert window.observation.flatten().tolist() == data.observation.flatten().tolist()
    assert window.action.flatten().tolist() == data.action.flatten().tolist()


def test_episodes_are_divided_whole() -> None:
    data = demonstrations(*[5] * 10)
    learnt, apart = split_episodes(
        data, val_fraction=0.2, generator=torch.Generator().manual_seed(0)
    )
    assert len(learnt) == 40
    assert len(apart) == 10
    assert not set((learnt // 5).tolist()) & set((apart // 5).tolist())
    everything, nothing = split_episodes(data, val_fraction=0.0, generator=torch.Generator())
    assert (len(everything), len(nothing)) == (50, 0)
    only, none_apart = split_episodes(
        demonstrations(4), val_fraction=0.5, generator=torch.Generator()
    )
    assert (len(only), len(none_apart)) == (4, 0)  # one episode is learnt from


def test_choices_count_from_zero_and_parts_keep_their_types() -> None:
    space = spaces.Dict(
        {
            "picture": spaces.Box(0, 255, (3, 40, 40), np.uint8),
            "numbers": spaces.Box(-1, 1, (2,), np.float64),
        }
    )
    shown = {"picture": np.full((3, 3, 40, 40), 7, np.uint8), "numbers": np.zeros((3, 2))}
    actions = spaces.Discrete(3, start=5)
    episode = Episode(shown, np.array([5, 7]), np.zeros(2), False)
    data = join_episodes([episode], space, actions)
    assert data.action.tolist() == [0, 2]
    assert data.action.dtype == torch.int64
    assert data.observation["picture"].dtype == torch.uint8
    assert data.observation["numbers"].dtype == torch.float32


def test_the_fingerprint_is_of_what_is_learnt_from() -> None:
    first, same, other = demonstrations(3, 2), demonstrations(3, 2), demonstrations(2, 3)
    assert first.fingerprint() == same.fingerprint() != other.fingerprint()
