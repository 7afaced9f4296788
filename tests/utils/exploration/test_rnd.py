"""Random network distillation: the error by hand, and what was seen is new no longer."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from utils.exploration import RandomNetworkDistillation, Transition
from utils.exploration.rnd import distillation_error
from utils.exploration.whitening import Whitening

BOX = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)


def make_rnd(space: gym.Space = BOX, *, n_frames: int = 1) -> RandomNetworkDistillation:
    torch.manual_seed(0)
    whitening = Whitening(space, limit=5.0, n_frames=n_frames)
    return RandomNetworkDistillation(whitening, hidden_dims=(16,), feature_dim=4)


def leads_to(following: torch.Tensor) -> Transition:
    n = following.shape[0]
    return Transition(torch.zeros_like(following), torch.zeros(n, dtype=torch.int64), following)


def test_error_by_hand() -> None:
    prediction = torch.tensor([[1.0, 2.0], [0.0, 0.0]], requires_grad=True)
    target = torch.tensor([[3.0, 1.0], [0.0, -4.0]], requires_grad=True)
    error = distillation_error(prediction=prediction, target=target)
    # Means of 4 and 1, and of 0 and 16
    assert error.tolist() == [2.5, 8.0]
    error.sum().backward()
    # Twice the difference, over two features
    assert prediction.grad.tolist() == [[-2.0, 1.0], [0.0, 4.0]]
    assert target.grad is None


def test_only_the_predictor_learns() -> None:
    rnd = make_rnd()
    rnd.losses(leads_to(torch.ones(3, 2)))["novelty_loss"].sum().backward()
    assert all(p.grad is None for p in rnd.target.parameters())
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in rnd.predictor.parameters())


def test_the_bonus_is_of_the_next_observation() -> None:
    rnd = make_rnd()
    one, two = torch.tensor([[0.5, 0.5]]), torch.tensor([[-0.5, 1.0]])
    action = torch.zeros(1, dtype=torch.int64)
    here = rnd.bonus(Transition(one, action, two))
    assert torch.equal(here, rnd.bonus(Transition(two, action, two)))
    assert not torch.equal(here, rnd.bonus(Transition(two, action, one)))


def test_what_was_seen_is_new_no_longer() -> None:
    rnd = make_rnd()
    seen, unseen = torch.tensor([[1.0, 1.0]]), torch.tensor([[-1.0, -1.0]])
    before = rnd.bonus(leads_to(torch.cat([seen, unseen])))
    optimizer = torch.optim.Adam(rnd.predictor.parameters(), lr=1e-3)
    for _ in range(300):
        optimizer.zero_grad()
        rnd.losses(leads_to(seen))["novelty_loss"].mean().backward()
        optimizer.step()
    after = rnd.bonus(leads_to(torch.cat([seen, unseen])))
    assert after[0] < 1e-3 * before[0]
    assert after[1] > 0.1 * before[1]


SPACES = {
    "discrete": gym.spaces.Discrete(3, start=2),
    "picture": gym.spaces.Box(0, 255, (2, 40, 40), np.uint8),
    "dict": gym.spaces.Dict(
        {
            "a": gym.spaces.MultiDiscrete([3, 2]),
            "b": gym.spaces.Box(-1.0, 1.0, (2,), np.float32),
            "c": gym.spaces.Box(0, 255, (1, 36, 36), np.uint8),
            "d": gym.spaces.MultiBinary(3),
        }
    ),
}


@pytest.mark.parametrize("name", SPACES)
def test_every_kind_of_observation_has_a_bonus(name: str) -> None:
    space = SPACES[name]
    space.seed(0)
    samples = [space.sample() for _ in range(5)]
    if isinstance(space, gym.spaces.Dict):
        batch = {k: torch.as_tensor(np.stack([s[k] for s in samples])) for k in space.spaces}
    else:
        batch = torch.as_tensor(np.stack(samples))
    rnd = make_rnd(space)
    rnd.whitening.update(batch)
    bonus = rnd.bonus(Transition(batch, torch.zeros(5, dtype=torch.int64), batch))
    assert bonus.shape == (5,)
    assert bool((bonus > 0).all())
    assert torch.isfinite(bonus).all()
