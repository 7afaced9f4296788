from __future__ import annotations

import pytest
import torch
from torch import Tensor

from utils.dataloaders import MultiPassSampler


def draw(n_samples: int, batch_size: int, n_passes: int, seed: int = 0) -> Tensor:
    sampler = MultiPassSampler(
        lambda: n_samples,
        batch_size=lambda: batch_size,
        n_passes=n_passes,
        generator=torch.Generator().manual_seed(seed),
    )
    (table,) = list(sampler)
    assert len(sampler) == 1
    return table


@pytest.mark.parametrize(
    ("n_samples", "batch_size", "n_passes"), [(12, 4, 3), (5, 5, 1), (6, 1, 2), (1, 1, 4)]
)
def test_every_pass_sees_every_sample_once(n_samples: int, batch_size: int, n_passes: int) -> None:
    table = draw(n_samples, batch_size, n_passes)
    assert table.dtype == torch.int64
    assert table.shape == (n_passes * n_samples // batch_size, batch_size)
    for one_pass in table.reshape(n_passes, n_samples):
        assert sorted(one_pass.tolist()) == list(range(n_samples))


def test_passes_are_shuffled_and_differ() -> None:
    first, second = draw(64, 8, 2).reshape(2, 64)
    assert not torch.equal(first, torch.arange(64))
    assert not torch.equal(first, second)


def test_the_generator_alone_decides_the_order() -> None:
    before = torch.get_rng_state()
    assert torch.equal(draw(64, 8, 2, seed=1), draw(64, 8, 2, seed=1))
    assert not torch.equal(draw(64, 8, 2, seed=1), draw(64, 8, 2, seed=2))
    assert torch.equal(torch.get_rng_state(), before)


def test_a_tail_that_is_too_small_is_refused_with_both_numbers() -> None:
    with pytest.raises(AssertionError, match=r"150 .* 64"):
        draw(150, 64, 1)


def test_sizes_are_asked_for_at_each_update() -> None:
    sizes = {"n": 4, "batch": 2}
    sampler = MultiPassSampler(
        lambda: sizes["n"],
        batch_size=lambda: sizes["batch"],
        n_passes=1,
        generator=torch.Generator().manual_seed(0),
    )
    assert next(iter(sampler)).shape == (2, 2)
    sizes.update(n=9, batch=3)
    assert next(iter(sampler)).shape == (3, 3)
