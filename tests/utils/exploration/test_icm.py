"""Intrinsic curiosity: errors by hand, gradients as in equation 7, actions of every kind."""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import pytest
import torch

from utils.exploration import IntrinsicCuriosity, Transition
from utils.exploration.actions import ActionCode
from utils.exploration.icm import forward_error
from utils.exploration.whitening import Whitening

BOX = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)
ACTIONS = {
    "discrete": gym.spaces.Discrete(3, start=-1),
    "multi_discrete": gym.spaces.MultiDiscrete([3, 2]),
    "multi_binary": gym.spaces.MultiBinary(2),
    "box": gym.spaces.Box(np.array([-2.0, 0.0]), np.array([2.0, 0.5]), dtype=np.float64),
    "unbounded": gym.spaces.Box(-np.inf, np.inf, (2,), np.float32),
}
STORED = {
    "discrete": torch.tensor([0, 2]),
    "multi_discrete": torch.tensor([[2, 0], [1, 1]]),
    "multi_binary": torch.tensor([[1, 0], [1, 1]]),
    "box": torch.tensor([[1.0, 0.5], [-7.0, 0.25]]),
    "unbounded": torch.tensor([[3.0, -4.0], [0.0, 1.0]]),
}


def make_icm(space: gym.Space, *, beta: float = 0.2) -> IntrinsicCuriosity:
    torch.manual_seed(0)
    whitening = Whitening(BOX, limit=5.0, n_frames=1)
    sizes = {"hidden_dims": (8,), "feature_dim": 4}
    return IntrinsicCuriosity(whitening, ActionCode(space), forward_weight=beta, **sizes)


def transition_of(name: str) -> Transition:
    generator = torch.Generator().manual_seed(1)
    before, after = torch.rand(2, 2, 3, generator=generator).unbind(0)
    return Transition(before, STORED[name], after)


def test_error_by_hand() -> None:
    error = forward_error(
        prediction=torch.tensor([[1.0, 2.0], [0.0, 0.0]]),
        next_feature=torch.tensor([[3.0, 1.0], [0.0, -4.0]]),
    )
    # Halves of 4 + 1 and of 16
    assert error.tolist() == [2.5, 8.0]


def test_codes_by_hand() -> None:
    code = {name: ActionCode(space)(STORED[name]).tolist() for name, space in ACTIONS.items()}
    assert code["discrete"] == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    assert code["multi_discrete"] == [[0.0, 0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0, 1.0]]
    assert code["multi_binary"] == [[1.0, 0.0], [1.0, 1.0]]
    assert code["box"] == [[0.5, 1.0], [-1.0, 0.0]]  # -7 is clipped to -2, the lower bound
    assert code["unbounded"] == [[3.0, -4.0], [0.0, 1.0]]


def test_guesses_by_hand() -> None:
    def loss(name: str, guess: list[float]) -> float:
        code = ActionCode(ACTIONS[name])
        return code.guess_loss(torch.tensor([guess]), STORED[name][:1]).item()

    two = math.log(2.0)
    # -log(e / (e + 2)) for the first of three choices
    assert loss("discrete", [1.0, 0.0, 0.0]) == pytest.approx(math.log(math.e + 2.0) - 1.0)
    assert loss("multi_discrete", [0.0] * 5) == pytest.approx(math.log(3.0) + two)
    assert loss("multi_binary", [0.0, 0.0]) == pytest.approx(2 * two)
    # scaled action (0.5, 1): (0.25 + 1) / 2
    assert loss("box", [0.0, 0.0]) == pytest.approx(0.625)


@pytest.mark.parametrize("name", ACTIONS)
def test_loss_weighs_both_models(name: str) -> None:
    icm = make_icm(ACTIONS[name], beta=0.25)
    losses = icm.losses(transition_of(name))
    expected = 0.75 * losses["inverse_loss"] + 0.25 * losses["forward_loss"]
    torch.testing.assert_close(losses["novelty_loss"], expected)
    torch.testing.assert_close(losses["forward_loss"], icm.bonus(transition_of(name)))
    losses["novelty_loss"].sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in icm.parameters())


def test_both_losses_shape_the_features() -> None:
    for term in ("inverse_loss", "forward_loss"):
        icm = make_icm(ACTIONS["discrete"])
        icm.losses(transition_of("discrete"))[term].sum().backward()
        assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in icm.encoder.parameters())


def test_the_bonus_depends_on_the_action() -> None:
    icm = make_icm(ACTIONS["discrete"])
    before, _, after = transition_of("discrete")
    one = icm.bonus(Transition(before, torch.tensor([0, 0]), after))
    two = icm.bonus(Transition(before, torch.tensor([1, 1]), after))
    assert not torch.allclose(one, two)


def test_what_is_foreseen_earns_less() -> None:
    icm = make_icm(ACTIONS["discrete"])
    transition = transition_of("discrete")
    before = icm.bonus(transition)
    optimizer = torch.optim.Adam(icm.parameters(), lr=1e-2)
    for _ in range(200):
        optimizer.zero_grad()
        icm.losses(transition)["novelty_loss"].mean().backward()
        optimizer.step()
    assert bool((icm.bonus(transition) < 0.05 * before).all())
