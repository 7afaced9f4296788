"""Numbers that are not finite are named where they appear first."""

import math

import pytest
import torch
from torch import nn

from utils.debugging import NetworkWatch
from utils.errors import DivergedError


class Root(nn.Module):
    """A layer that makes NaN of negative numbers."""

    def forward(self, x):
        return x.sqrt()


@pytest.fixture
def network():
    layers = nn.Sequential(nn.Linear(2, 2, bias=False), Root(), nn.Linear(2, 1, bias=False))
    with torch.no_grad():
        layers[0].weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
        layers[2].weight.copy_(torch.tensor([[3.0, -1.0]]))
    return layers


@pytest.fixture
def watch(network):
    watch = NetworkWatch({"policy": network}, where=lambda: "epoch 3")
    yield watch
    watch.release()


def test_the_module_that_makes_nan_is_named(network, watch):
    with pytest.raises(DivergedError) as error:
        network(torch.tensor([[1.0, -2.0], [4.0, 8.0]]))
    assert str(error.value) == (
        "debug: the output of policy.1 (Root, (2, 2)) holds 1 NaN of 4 values, the first at "
        "[0, 1] in epoch 3, optimiser step 1; its input was finite"
    )
    assert error.value.exit_code == 3


def test_an_input_that_is_not_finite_is_not_blamed_on_the_module(network, watch):
    with pytest.raises(DivergedError, match=r"policy\.0 .*its input already holds 1 infinite"):
        network(torch.tensor([[math.inf, 1.0]]))


def test_weights_that_are_not_finite_are_named(network, watch):
    network[0].weight.data[1, 1] = math.nan
    with pytest.raises(DivergedError, match=r"policy\.0 .*its weight holds 1 NaN of 4 values"):
        network(torch.tensor([[1.0, 1.0]]))


def test_a_gradient_that_is_not_finite_stops_before_the_step(network, watch):
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    watch.watch_optimizer(optimizer)
    before = network[0].weight.detach().clone()
    network(torch.tensor([[0.0, 1.0]])).sum().backward()  # d sqrt(x) at 0 is infinite
    with pytest.raises(DivergedError, match=r"the gradient of policy\.0\.weight \(2, 2\) holds"):
        optimizer.step()
    assert torch.equal(network[0].weight, before)


def test_a_step_that_spoils_weights_is_to_blame(network, watch):
    optimizer = torch.optim.SGD(network.parameters(), lr=3e38)
    watch.watch_optimizer(optimizer)
    network(torch.tensor([[1.0, 1.0]])).sum().backward()
    message = r"policy\.\d\.weight .* after the optimiser's step .* its gradient was finite"
    with pytest.raises(DivergedError, match=message):
        optimizer.step()


def test_statistics_are_those_of_all_values_since_the_last_time(network, watch):
    optimizer = torch.optim.SGD(network.parameters(), lr=0.0)
    watch.watch_optimizer(optimizer)
    network(torch.tensor([[1.0, 8.0]])).sum().backward()  # first layer: 1, 16; root: 1, 4; last: -1
    network(torch.tensor([[9.0, 0.5]])).sum().backward()  # first layer: 9, 1; root: 3, 1; last: 8
    optimizer.step()
    found = watch.take_statistics()
    # Of 1, 4, 3, 1: mean 2.25, squares 27, variance 27 / 4 - 2.25^2 = 1.6875.
    assert found["activations"]["policy.1"] == pytest.approx(
        {"mean": 2.25, "std": math.sqrt(1.6875), "largest": 4.0, "zeros": 0.0}
    )
    # Weights 1, 0, 0, 2.
    assert found["weights"]["policy.0.weight"] == pytest.approx(
        {"mean": 0.75, "std": math.sqrt(5 / 4 - 0.75**2), "largest": 2.0, "zeros": 0.5}
    )
    # d loss / d last weights: the sums of the roots, 4 and 5.
    assert found["gradients"]["policy.2.weight"]["mean"] == pytest.approx(4.5)
    assert watch.n_steps == 1
    assert watch.take_statistics()["activations"] == {}


def test_nothing_is_looked_at_after_the_release(network, watch):
    optimizer = torch.optim.SGD(network.parameters(), lr=3e38)
    watch.watch_optimizer(optimizer)
    watch.release()
    network(torch.tensor([[1.0, -2.0]]))
    assert watch.activations == {}
    network(torch.tensor([[1.0, 1.0]])).sum().backward()
    optimizer.step()
    assert not any(module._forward_hooks for module in network.modules())
