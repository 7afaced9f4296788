"""How the inspector weighs what an episode paid."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.dreamer_runs import dreamer_config
from tests.helpers.played_runs import make_config
from utils.inspection.advantages import episode_advantage, learner_view


def test_the_decay_is_the_algorithms_own_by_whatever_name():
    ppo = make_config(gamma=0.9, gae_lambda=0.8)
    assert learner_view(ppo, timesteps=0, reward_factor=1.0).gae_lambda == 0.8
    dreamer = dreamer_config(return_lambda=0.5, gamma=0.75)
    view = learner_view(dreamer, timesteps=0, reward_factor=1.0)
    assert (view.gae_lambda, view.gamma) == (0.5, 0.75)


def test_the_advantage_of_a_dreamers_episode_by_hand():
    """Its return of decay 1/2 and discount 3/4, less the value."""
    view = learner_view(
        dreamer_config(return_lambda=0.5, gamma=0.75), timesteps=0, reward_factor=1.0
    )
    advantage = episode_advantage(
        view,
        reward=np.array([1.0, 2.0]),
        value=np.array([4.0, 8.0]),
        next_value=np.array([8.0, 16.0]),
        terminated=np.array([False, False]),
        done=np.array([False, True]),
    )
    # Last: 2 + 0.75 * 16 - 8 = 6. First: 1 + 0.75 * (0.5 * 8 + 0.5 * 14) - 4, as 14 = 2 + 12.
    assert advantage == pytest.approx([1 + 0.75 * (0.5 * 8 + 0.5 * 14) - 4, 6.0])
