from __future__ import annotations

import numpy as np
import pytest
import torch

from utils.normalization import RunningMoments


def test_batches_of_any_size_add_up_to_the_whole() -> None:
    rng = np.random.default_rng(0)
    batches = [rng.normal(loc, 1 + loc, size=(n, 3)) for loc, n in [(0, 1), (5, 7), (2, 100)]]
    moments = RunningMoments((3,))
    for batch in batches:
        moments.update(torch.from_numpy(batch))
    whole = np.concatenate(batches)
    assert moments.count.item() == 108
    np.testing.assert_allclose(moments.mean.numpy(), whole.mean(0), rtol=1e-12)
    np.testing.assert_allclose(moments.var.numpy(), whole.var(0), rtol=1e-12)


def test_hand_computed_merge() -> None:
    moments = RunningMoments(())
    moments.update(torch.tensor([1.0, 3.0]))
    moments.update(torch.tensor([8.0]))
    # 1, 3, 8: mean 4, squares 9 + 1 + 16 = 26 over 3
    assert moments.mean.item() == pytest.approx(4.0)
    assert moments.var.item() == pytest.approx(26 / 3)


def test_a_large_offset_does_not_eat_the_variance() -> None:
    moments = RunningMoments((1,))
    for _ in range(50):
        moments.update(torch.tensor([[100_000.0], [100_001.0]], dtype=torch.float32))
    assert moments.mean.item() == pytest.approx(100_000.5, rel=1e-12)
    assert moments.var.item() == pytest.approx(0.25, rel=1e-9)


def test_nothing_seen_is_mean_zero_and_variance_one() -> None:
    moments = RunningMoments((2,))
    assert (moments.count.item(), moments.mean.tolist(), moments.var.tolist()) == (
        0.0,
        [0.0, 0.0],
        [1.0, 1.0],
    )


def test_the_placeholder_variance_has_no_weight() -> None:
    moments = RunningMoments(())
    moments.update(torch.tensor([7.0]))
    assert (moments.mean.item(), moments.var.item()) == (7.0, 0.0)


def test_the_count_travels_with_the_moments() -> None:
    saved = RunningMoments(())
    saved.count.fill_(10_000)
    saved.mean.fill_(5.0)
    restored = RunningMoments(())
    restored.load_state_dict(saved.state_dict())
    restored.update(torch.full((100,), 105.0))
    # 5 + 100 * 100 / 10,100; a lost count would give 105
    assert restored.mean.item() == pytest.approx(5.990099, rel=1e-6)
    assert restored.count.item() == 10_100
    # (10,000 * 1 + 0 + 100^2 * 10,000 * 100 / 10,100) / 10,100 = 99.0197
    assert restored.var.item() == pytest.approx(
        (10_000 + 100**2 * 10_000 * 100 / 10_100) / 10_100, rel=1e-9
    )


def test_a_batch_stays_as_it_is_and_is_not_kept() -> None:
    batch = torch.tensor([1.0, 3.0], dtype=torch.float64)
    moments = RunningMoments(())
    moments.update(batch)
    assert batch.tolist() == [1.0, 3.0]
    batch.fill_(50.0)
    assert moments.mean.item() == 2.0


def test_update_works_under_inference_mode_and_without_gradients() -> None:
    moments = RunningMoments(())
    with torch.inference_mode():
        moments.update(torch.tensor([2.0, 4.0]))
    moments.update(torch.tensor([6.0], requires_grad=True))
    assert moments.mean.item() == 4.0
    assert not moments.mean.requires_grad
