"""Random actions are held for some steps, in each environment for itself."""

from __future__ import annotations

import torch

from agents.world_models.set_up import build_policy
from tests.helpers.world_models_2018 import make_world_models
from utils.rollouts.held_exploration import HeldRandomExplorer

CPU = torch.device("cpu")


def make(held_steps, *, n=6, seed=0):
    agent = make_world_models()
    policy = build_policy(
        agent.config, agent.train_env.single_observation_space, agent.train_env.single_action_space
    )
    return HeldRandomExplorer(policy, n, held_steps=held_steps, seed=seed, device=CPU)


def draw(explorer, n_steps, n=6):
    return torch.stack([explorer.draw(n, mask=None).stored[:, 0] for _ in range(n_steps)])


def run_lengths(column):
    lengths, last = [], None
    for value in column.tolist():
        if value == last:
            lengths[-1] += 1
        else:
            lengths.append(1)
        last = value
    return lengths


def test_an_action_is_held_between_least_and_most() -> None:
    drawn = draw(make((2, 4)), 400)
    lengths = [run_lengths(drawn[:, i])[:-1] for i in range(6)]
    assert {length for row in lengths for length in row} == {2, 3, 4}
    assert lengths[0] != lengths[1]
    assert -1.0 <= drawn.min() < -0.9
    assert 0.9 < drawn.max() <= 1.0


def test_one_step_is_a_new_action_each_time() -> None:
    drawn = draw(make((1, 1)), 50)
    assert (drawn[1:] != drawn[:-1]).all()


def test_its_state_goes_on_amid_a_held_action() -> None:
    explorer = make((3, 9))
    draw(explorer, 20)
    state = explorer.state_dict()
    again = make((3, 9), seed=5)
    again.load_state_dict(state)
    assert torch.equal(draw(explorer, 30), draw(again, 30))
