from __future__ import annotations

import pytest
import torch

from utils.world_models.heads import ContinueHead, Head, NormalHead, TwoHotHead, build_scalar_head

KINDS = {"width": 8, "n_layers": 2, "norm": "rms", "activation": "silu"}


def features(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def test_numbers_are_zero_exactly_at_first() -> None:
    torch.manual_seed(0)
    head = TwoHotHead(6, **KINDS)
    output = head(features(4, 5, 6))
    assert output.shape == (4, 5, 255)
    assert (head.mean(output) == 0).all()


def test_numbers_reach_as_far_as_the_published_bins() -> None:
    # the last of 255 bins is e^20 - 1, the one before the middle 1 - e^(40 / 254) = -0.1705671
    head = TwoHotHead(6, **KINDS)
    output = torch.full((2, 255), -300.0)
    output[0, 254] = output[1, 126] = 0.0
    torch.testing.assert_close(head.mean(output), torch.tensor([485165194.4, -0.1705671]))
    # even logits: ln 255 whatever the number
    loss = head.loss(torch.zeros(2, 255), torch.tensor([3.7, -1e9]))
    torch.testing.assert_close(loss, torch.full((2,), 5.5412635))
    # certain of the right bin, and of a wrong one
    loss = head.loss(output, torch.tensor([1e9, 0.0]))
    torch.testing.assert_close(loss, torch.tensor([0.0, 300.0]))


def test_normal_numbers_by_hand() -> None:
    # 0.5 (2 - 5)^2 + 0.5 ln(2 pi) = 4.5 + 0.9189385
    head = NormalHead(6, **KINDS)
    output = torch.tensor([[2.0]], requires_grad=True)
    target = torch.tensor([5.0], requires_grad=True)
    assert head.mean(output) == 2.0
    loss = head.loss(output, target)
    torch.testing.assert_close(loss, torch.tensor([5.4189385]))
    loss.sum().backward()
    assert output.grad == -3.0
    assert target.grad is None


def test_going_on_by_hand() -> None:
    # sigmoid(ln 3) = 0.75: -0.997 ln 0.75 - 0.003 ln 0.25 = 0.2868190 + 0.0041589; and -ln 0.25
    head = ContinueHead(6, **KINDS)
    output = torch.tensor([[1.0986123], [1.0986123]])
    torch.testing.assert_close(head.probability(output), torch.tensor([0.75, 0.75]))
    loss = head.loss(output, torch.tensor([0.997, 0.0]))
    torch.testing.assert_close(loss, torch.tensor([0.2909779, 1.3862944]), rtol=1e-5, atol=0)


def test_whether_an_episode_goes_on_may_be_told_as_a_flag() -> None:
    head = ContinueHead(6, **KINDS)
    output = torch.tensor([[0.0], [2.0]])
    flags = torch.tensor([True, False])
    torch.testing.assert_close(head.loss(output, flags), head.loss(output, flags.float()))


@pytest.mark.parametrize("kind", ["two_hot", "normal"])
def test_heads_by_name(kind: str) -> None:
    head = build_scalar_head(kind, 6, **KINDS)
    output = head(features(2, 3, 6))
    assert head.mean(output).shape == (2, 3)
    assert head.loss(output, torch.zeros(2, 3)).shape == (2, 3)


def test_layers_may_be_missing() -> None:
    head = Head(6, 3, width=8, n_layers=0, norm="rms", activation="silu")
    x = features(2, 6)
    torch.testing.assert_close(head(x), x @ head.output.weight.T)


def test_outputs_are_worked_out_in_float32_under_autocast() -> None:
    torch.manual_seed(0)
    head = Head(6, 3, **KINDS)
    x = features(2, 6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden, output = head.layers(x), head(x)
    assert hidden.dtype == torch.bfloat16
    assert output.dtype == torch.float32
    torch.testing.assert_close(output, head.output(hidden.float()), rtol=0, atol=0)


def test_the_last_layer_begins_as_small_as_asked() -> None:
    torch.manual_seed(0)
    head = Head(6, 300, **(KINDS | {"width": 256}), scale=0.01)
    assert float(head.output.weight.detach().std()) == pytest.approx(0.01 / 16, rel=0.02)
