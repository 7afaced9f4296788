from __future__ import annotations

import torch

from utils.distributions.bounded_normal import BoundedNormal

# tanh(0.5) = 0.4621172; 0.9 sigmoid(2) + 0.1 = 0.9 * 0.8807971 + 0.1 = 0.8927174
# tanh(-2) = -0.9640276; 0.9 sigmoid(-1) + 0.1 = 0.9 * 0.2689414 + 0.1 = 0.3420473
PARAMETERS = torch.tensor([[0.5, -2.0]]), torch.tensor([[0.0, -3.0]])


def test_density_by_hand() -> None:
    # z = (1 - 0.4621172) / 0.8927174 = 0.6025229: -(0.1815169 - 0.1134852 + 0.9189385)
    # z = (-1 + 0.9640276) / 0.3420473 = -0.1051679: -(0.0055301 - 1.0728063 + 0.9189385)
    # -0.9869702 + 0.1483377 = -0.8386325
    logprob = BoundedNormal(2).logprob(PARAMETERS, torch.tensor([[1.0, -1.0]]))
    torch.testing.assert_close(logprob, torch.tensor([-0.8386325]), rtol=1e-5, atol=0)


def test_entropy_by_hand() -> None:
    # ln 0.8927174 + ln 0.3420473 + ln(2 pi e) = -0.1134852 - 1.0728063 + 2.8378771
    expected = torch.tensor([1.6515856])
    torch.testing.assert_close(BoundedNormal(2).entropy(PARAMETERS), expected)
    both = BoundedNormal(2).logprob_and_entropy(PARAMETERS, torch.tensor([[1.0, -1.0]]))
    torch.testing.assert_close(both[1], expected)


def test_draws_have_the_mean_and_deviation_that_are_described() -> None:
    distribution = BoundedNormal(2)
    rows = tuple(part.expand(100_000, 2) for part in PARAMETERS)
    action = distribution.sample(rows, torch.Generator().manual_seed(0))
    described = distribution.describe(PARAMETERS)
    torch.testing.assert_close(action.mean(0), described["action_mean"][0], rtol=0, atol=0.01)
    torch.testing.assert_close(action.std(0), described["action_std"][0], rtol=0, atol=0.01)
    torch.testing.assert_close(described["action_mean"], torch.tensor([[0.4621172, -0.9640276]]))
    torch.testing.assert_close(described["action_std"], torch.tensor([[0.8927174, 0.3420473]]))
    assert torch.equal(distribution.mode(PARAMETERS), described["action_mean"])


def test_deviations_stay_between_a_tenth_and_one() -> None:
    extremes = torch.zeros(1, 2), torch.tensor([[-100.0, 100.0]])
    std = BoundedNormal(2).describe(extremes)["action_std"]
    torch.testing.assert_close(std, torch.tensor([[0.1, 1.0]]))


def test_gradients_reach_both_parameters_through_a_draw() -> None:
    parameters = tuple(part.clone().requires_grad_() for part in PARAMETERS)
    BoundedNormal(2).sample(parameters, torch.Generator().manual_seed(0)).sum().backward()
    assert all((part.grad != 0).all() for part in parameters)
