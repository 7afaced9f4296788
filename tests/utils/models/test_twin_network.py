from __future__ import annotations

import importlib

import pytest
import torch
from torch import Tensor, nn

from utils.models import SharedTrunk, TwinTrunks, has_analytic_backward, twin_network


def build(
    activation: str, hidden_dims: tuple[int, ...] = (5, 4), *, dtype: torch.dtype = torch.float64
) -> tuple[TwinTrunks, nn.Linear, nn.Linear]:
    torch.manual_seed(0)
    trunk = TwinTrunks(3, hidden_dims, activation=activation, orthogonal_init=False).to(dtype)
    width = hidden_dims[-1] if hidden_dims else 3
    return trunk, nn.Linear(width, 2).to(dtype), nn.Linear(width, 1).to(dtype)


def one_after_another(
    features: Tensor, trunk: TwinTrunks, actor_head: nn.Linear, critic_head: nn.Linear
) -> tuple[Tensor, Tensor]:
    actor, critic = trunk(features)
    return actor_head(actor), critic_head(critic)


def test_twins_by_hand() -> None:
    trunk = TwinTrunks(2, [1], activation="relu", orthogonal_init=False)
    with torch.no_grad():
        trunk.weights[0].copy_(torch.tensor([[[1.0], [2.0]], [[3.0], [-1.0]]]))
        trunk.biases[0].copy_(torch.tensor([[[0.5]], [[-4.0]]]))
    # actor: 1 * 1 + 2 * 1 + 0.5 = 3.5; critic: relu(3 * 1 - 1 * 1 - 4) = relu(-2) = 0
    actor, critic = trunk(torch.tensor([[1.0, 1.0]]))
    assert (actor.item(), critic.item()) == (3.5, 0.0)
    # The critic alone, relu of 3 * 2 - 0 - 4, is 2.
    assert trunk.critic_features(torch.tensor([[2.0, 0.0]])).item() == 2.0


def test_twins_share_nothing() -> None:
    trunk, _, _ = build("tanh")
    trunk(torch.randn(4, 3, dtype=torch.float64))[1].sum().backward()
    for parameter in trunk.parameters():
        assert parameter.grad is not None
        assert (parameter.grad[0] == 0).all()
        assert (parameter.grad[1] != 0).any()


def test_a_shared_trunk_gives_both_the_same() -> None:
    trunk = SharedTrunk(3, [4], activation="tanh", orthogonal_init=True)
    features = torch.randn(2, 3)
    actor, critic = trunk(features)
    assert torch.equal(actor, critic)
    assert torch.equal(trunk.critic_features(features), critic)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("hidden_dims", [(), (5,), (5, 4)])
def test_agrees_with_trunk_and_heads_one_after_another(
    activation: str, hidden_dims: tuple[int, ...]
) -> None:
    networks = build(activation, hidden_dims)
    weight = torch.randn(6, 2, dtype=torch.float64)
    results = []
    for evaluate in (one_after_another, twin_network):
        features = torch.linspace(-2, 2, 18, dtype=torch.float64).reshape(6, 3)
        features.requires_grad_(True)
        for network in networks:
            network.zero_grad()
        output, value = evaluate(features, *networks)
        ((output * weight).sum() + value.square().sum()).backward()
        gradients = [p.grad for network in networks for p in network.parameters()]
        results.append([output, value, features.grad, *gradients])
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_gradients_agree_with_finite_differences(activation: str) -> None:
    trunk, actor_head, critic_head = build(activation)
    features = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)

    def outputs(features: Tensor, *parameters: Tensor) -> tuple[Tensor, Tensor]:
        del parameters  # the same objects that the modules hold
        return twin_network(features, trunk, actor_head, critic_head)

    parameters = [*trunk.parameters(), *actor_head.parameters(), *critic_head.parameters()]
    assert torch.autograd.gradcheck(outputs, (features, *parameters))


def test_one_output_alone_leaves_the_other_half_without_gradient() -> None:
    trunk, actor_head, critic_head = build("tanh")
    _, value = twin_network(torch.randn(4, 3, dtype=torch.float64), trunk, actor_head, critic_head)
    value.sum().backward()
    assert (actor_head.weight.grad == 0).all()
    assert (trunk.weights[0].grad[0] == 0).all()
    assert (trunk.weights[0].grad[1] != 0).any()


def test_tanh_in_single_precision_is_torchs_to_the_last_digits() -> None:
    trunk, actor_head, critic_head = build("tanh", (64,), dtype=torch.float32)
    features = 20 * torch.randn(1000, 3)
    expected, _ = one_after_another(features, trunk, actor_head, critic_head)
    found, _ = twin_network(features, trunk, actor_head, critic_head)
    torch.testing.assert_close(found, expected, rtol=0, atol=3e-6)


def test_which_trunks_have_it() -> None:
    def made(kind: type, activation: str) -> nn.Module:
        return kind(3, [4], activation=activation, orthogonal_init=True)

    assert has_analytic_backward(made(TwinTrunks, "relu"))
    assert has_analytic_backward(made(TwinTrunks, "tanh"))
    assert not has_analytic_backward(made(TwinTrunks, "silu"))
    assert not has_analytic_backward(made(SharedTrunk, "tanh"))


@pytest.mark.parametrize("n_rows", [1, 511, 1024, 3072, 4096])
def test_sums_in_parts_are_the_whole_sum(n_rows: int) -> None:
    module = importlib.import_module("utils.models.twin_network")
    torch.manual_seed(0)
    features = torch.randn(n_rows, 3, dtype=torch.float64).expand(2, n_rows, 3)
    gradient = torch.randn(2, n_rows, 5, dtype=torch.float64)
    expected = torch.bmm(features.transpose(1, 2), gradient)
    torch.testing.assert_close(module._sum_in_parts(features, gradient), expected)
