from __future__ import annotations

import pytest
import torch

from utils.errors import ConfigError
from utils.world_models import layers
from utils.world_models import pictures as module
from utils.world_models.pictures import (
    PooledDecoder,
    PooledEncoder,
    StridedDecoder,
    StridedEncoder,
    count_halvings,
    picture_loss,
)


def pooled_decoder(shape: tuple[int, int, int]) -> PooledDecoder:
    return PooledDecoder(16, 12, shape, depth=2, units=8, n_blocks=4, norm="rms", activation="silu")


def pictures(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("shape", "n", "width"),
    [
        ((3, 64, 64), 4, 4 * 2 * 4 * 4),
        ((1, 96, 96), 4, 4 * 2 * 6 * 6),
        ((4, 64, 96), 4, 4 * 2 * 4 * 6),
        ((3, 40, 56), 3, 4 * 2 * 5 * 7),
        ((3, 128, 128), 4, 4 * 2 * 8 * 8),
    ],
)
def test_pooled_shapes(shape: tuple[int, int, int], n: int, width: int) -> None:
    torch.manual_seed(0)
    assert count_halvings(shape) == n
    encoder = PooledEncoder(shape, depth=2, activation="silu")
    assert encoder.output_dim == width
    assert encoder(pictures(2, *shape)).shape == (2, width)
    picture = pooled_decoder(shape)(torch.randn(2, 28))
    assert picture.shape == (2, *shape)
    assert picture.min() >= 0
    assert picture.max() <= 1


@pytest.mark.parametrize("sides", [(84, 84), (37, 64), (256, 256), (64, 200), (36, 64)])
def test_pictures_that_cannot_be_halved_say_what_to_do(sides: tuple[int, int]) -> None:
    with pytest.raises(ConfigError, match=rf"{sides[0]} x {sides[1]} .*resize_obs.*\[64, 64\]"):
        PooledEncoder((3, *sides), depth=2, activation="silu")


def test_widths_of_the_pooled_convolutions() -> None:
    encoder = PooledEncoder((3, 64, 64), depth=5, activation="silu")
    convolutions = [layer for layer in encoder.layers if isinstance(layer, torch.nn.Conv2d)]
    assert [layer.out_channels for layer in convolutions] == [10, 15, 20, 20]
    assert {layer.kernel_size for layer in convolutions} == {(5, 5)}
    decoder = pooled_decoder((3, 64, 64))
    layers = [*decoder.convolutions, decoder.output]
    assert [layer.in_channels for layer in layers] == [8, 8, 6, 4]
    assert [layer.out_channels for layer in layers] == [8, 6, 4, 3]


def test_first_convolutions_have_the_deviation_of_what_they_read() -> None:
    torch.manual_seed(0)
    weight = PooledEncoder((4, 64, 64), depth=64, activation="silu").layers[0].weight.detach()
    # 4 channels of 5 x 5: 0.1
    assert float(weight.std()) == pytest.approx(0.1, rel=0.02)


def test_the_pooled_decoder_reads_both_parts_of_a_state() -> None:
    torch.manual_seed(0)
    decoder, features = pooled_decoder((3, 64, 64)), torch.randn(1, 28)
    first = decoder(features)
    for columns in (slice(0, 16), slice(16, 28)):
        changed = features.clone()
        changed[:, columns] += 1.0
        assert (decoder(changed) - first).abs().max() > 1e-3


def test_every_place_of_a_decoded_picture_can_differ() -> None:
    torch.manual_seed(0)
    picture = pooled_decoder((1, 64, 64))(torch.randn(1, 28))
    assert picture.unique().numel() > 1000


def test_strided_shapes_are_those_of_world_models() -> None:
    # 64 -> 31 -> 14 -> 6 -> 2; 1 -> 5 -> 13 -> 30 -> 64
    torch.manual_seed(0)
    encoder = StridedEncoder((3, 64, 64), depth=4, activation="relu")
    assert encoder.output_dim == 8 * 4 * 2 * 2
    assert encoder(pictures(2, 3, 64, 64)).shape == (2, 128)
    decoder = StridedDecoder(10, (3, 64, 64), depth=4, activation="relu")
    assert decoder(torch.randn(2, 10)).shape == (2, 3, 64, 64)


@pytest.mark.parametrize("shape", [(3, 96, 96), (1, 64, 96)])
def test_strided_convolutions_refuse_other_sizes(shape: tuple[int, int, int]) -> None:
    for build in (
        lambda: StridedEncoder(shape, depth=2, activation="relu"),
        lambda: StridedDecoder(10, shape, depth=2, activation="relu"),
    ):
        with pytest.raises(ConfigError, match=r"resize_obs: \[64, 64\]"):
            build()


def test_the_loss_of_a_picture_is_summed_over_its_pixels() -> None:
    # 3 * 2 * 2 numbers, each 0.5 off: 12 * 0.25; one pixel of one channel 1 off: 1
    target = torch.zeros(1, 2, 3, 2, 2)
    predicted = target.clone()
    predicted[0, 0] = 0.5
    predicted[0, 1, 2, 1, 0] = 1.0
    torch.testing.assert_close(picture_loss(predicted, target), torch.tensor([[3.0, 1.0]]))
    with pytest.raises(AssertionError):
        picture_loss(predicted, target[0])


def test_the_order_in_memory_changes_no_number_and_spares_the_norms_a_copy(monkeypatch) -> None:
    torch.manual_seed(0)
    shape = (3, 64, 64)
    encoder = PooledEncoder(shape, depth=2, activation="silu")
    decoder = pooled_decoder(shape)
    seen, features = pictures(2, *shape), torch.randn(2, 28)

    def learn() -> list[torch.Tensor]:
        for part in (encoder, decoder):
            part.zero_grad()
        outputs = [encoder(seen), decoder(features)]
        sum(output.square().mean() for output in outputs).backward()
        gradients = [p.grad.clone() for part in (encoder, decoder) for p in part.parameters()]
        return [*(output.detach() for output in outputs), *gradients]

    expected = learn()
    in_order: list[bool] = []
    norm = layers.F.rms_norm
    monkeypatch.setattr(
        layers.F,
        "rms_norm",
        lambda x, *rest: (
            (in_order.append(x.is_contiguous()) if x.ndim == 4 else None) or norm(x, *rest)
        ),
    )
    monkeypatch.setattr(
        module, "_channels_last", lambda x: x.contiguous(memory_format=torch.channels_last)
    )
    for ours, theirs in zip(learn(), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)
    assert in_order == [True] * 8
