from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from utils.errors import ConfigError
from utils.policies import Policy
from utils.policies.q_table import QTable

ACTIONS = gym.spaces.Discrete(3, start=-1)


def build(space: gym.Space, **changes) -> QTable:
    settings = {"initial_value": 0.0, "action_masks": False}
    return QTable(space, ACTIONS, **(settings | changes))


def test_states_are_counted_from_the_first() -> None:
    table = build(gym.spaces.Discrete(5, start=10), initial_value=2.5)
    assert isinstance(table, Policy)
    assert table.q.shape == (5, 3)
    assert table.q.unique().tolist() == [2.5]
    assert table.state_index(torch.tensor([10, 14])).tolist() == [0, 4]
    several = build(gym.spaces.MultiDiscrete([4, 3], start=[1, 0]))
    # (value - start): 2 * 3 + 1 and 0 * 3 + 2.
    assert several.state_index(torch.tensor([[3, 1], [1, 2]])).tolist() == [7, 2]
    assert several.q.shape == (12, 3)


def test_the_best_allowed_action_is_taken() -> None:
    table = build(gym.spaces.Discrete(2))
    table.q.copy_(torch.tensor([[0.0, 5.0, 1.0], [3.0, 2.0, 1.0]]))
    observation = torch.tensor([0, 1])
    step = table.act(observation)
    assert (step.action.tolist(), step.value.tolist()) == ([1, 0], [5.0, 3.0])
    mask = torch.tensor([[True, False, True], [False, False, True]])
    assert table.act(observation, mask=mask).action.tolist() == [2, 2]
    assert table.explain(observation)["q_values"].tolist() == table.q.tolist()


@pytest.mark.parametrize(
    ("space", "actions", "text"),
    [
        (gym.spaces.Box(0, 1, (2,), np.float32), ACTIONS, "a row for each state"),
        (gym.spaces.Discrete(4), gym.spaces.MultiBinary(2), "a column for each action"),
        (gym.spaces.MultiDiscrete([1000, 1000, 1000]), ACTIONS, "1,000,000,000 states x 3"),
    ],
)
def test_what_has_no_table_is_refused(space, actions, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        QTable(space, actions, initial_value=0.0, action_masks=False)
