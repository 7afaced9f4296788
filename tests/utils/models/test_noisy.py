from __future__ import annotations

import torch

from utils.models.noisy import NoisyLinear, draw_noise


def build(**changes) -> NoisyLinear:
    torch.manual_seed(0)
    return NoisyLinear(**({"input_dim": 2, "output_dim": 2, "std": 0.5} | changes))


def test_the_noise_is_the_outer_product_of_two_vectors() -> None:
    layer = build()
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        layer.bias.copy_(torch.tensor([0.5, -0.5]))
        layer.weight_std.fill_(0.1)
        layer.bias_std.fill_(0.2)
        layer.noise_in.copy_(torch.tensor([2.0, -1.0]))
        layer.noise_out.copy_(torch.tensor([3.0, 0.5]))
    # weight + 0.1 * out in^T = [[1 + 0.6, 2 - 0.3], [3 + 0.1, 4 - 0.05]]; bias + 0.2 * out
    # = [0.5 + 0.6, -0.5 + 0.1]. For (1, 1): 1.6 + 1.7 + 1.1 and 3.1 + 3.95 - 0.4.
    ones = torch.ones(1, 2)
    torch.testing.assert_close(layer(ones, is_noisy=True), torch.tensor([[4.4, 6.65]]))
    torch.testing.assert_close(layer(ones, is_noisy=False), torch.tensor([[3.5, 6.5]]))


def test_deviations_begin_as_the_paper_says() -> None:
    # 0.5 / sqrt(4) = 0.25; the means are within 1 / sqrt(4).
    layer = build(input_dim=4, output_dim=3)
    torch.testing.assert_close(layer.weight_std, torch.full((3, 4), 0.25))
    torch.testing.assert_close(layer.bias_std, torch.full((3,), 0.25))
    assert float(layer.weight.detach().abs().max()) <= 0.5


def test_a_draw_has_the_moments_of_a_signed_root() -> None:
    layer = build(input_dim=100_000, output_dim=1)
    draw_noise([layer], torch.Generator().manual_seed(1))
    # E f(x)^2 = E |x| = sqrt(2 / pi) = 0.798; the mean is 0.
    assert abs(float(layer.noise_in.mean())) < 0.015
    assert abs(float(layer.noise_in.square().mean()) - 0.798) < 0.01


def test_a_draw_is_the_signed_root_of_normal_numbers_each_used_once() -> None:
    layers = [build(input_dim=3, output_dim=2), build(input_dim=2, output_dim=4)]
    draw_noise(layers, torch.Generator().manual_seed(3))
    normal = torch.randn(11, generator=torch.Generator().manual_seed(3))
    parts = [noise for layer in layers for noise in (layer.noise_in, layer.noise_out)]
    assert [len(part) for part in parts] == [3, 2, 2, 4]
    torch.testing.assert_close(torch.cat(parts), normal.sign() * normal.abs().sqrt())


def test_draws_follow_their_generator_and_gradients_reach_all() -> None:
    first, second = build(), build()
    for layer in (first, second):
        draw_noise([layer], torch.Generator().manual_seed(5))
    assert torch.equal(first.noise_in, second.noise_in)
    first(torch.ones(1, 2), is_noisy=True).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in first.parameters())
