"""Observations get mean 0 and deviation 1, clipped; the newest frame alone is read."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from utils.exploration import whitening as whitening_module
from utils.exploration.whitening import Whitening


def test_a_vector_by_hand() -> None:
    white = Whitening(gym.spaces.Box(-9.0, 9.0, (2,), np.float32), limit=1.5, n_frames=1)
    white.update(torch.tensor([[1.0, 0.0], [3.0, 0.0], [5.0, 4.0], [3.0, 4.0]]))
    # means 3 and 2, variances (4 + 0 + 4 + 0) / 4 = 2 and 4
    (out,) = white(torch.tensor([[4.0, 1.0], [9.0, 2.0]]))
    assert out[0].tolist() == pytest.approx([1.0 / 2.0**0.5, -0.5])
    assert out[1].tolist() == pytest.approx([1.5, 0.0])  # 4.24 clipped


def test_the_newest_frame_of_a_stack_is_read() -> None:
    space = gym.spaces.Box(0, 255, (4, 36, 36), np.uint8)
    white = Whitening(space, limit=5.0, n_frames=4)
    pictures = torch.randint(0, 255, (6, 4, 36, 36), dtype=torch.uint8)
    white.update(pictures)
    changed = pictures.clone()
    changed[:, :3] = 0
    (out,), (other,) = white(pictures), white(changed)
    assert out.shape == (6, 1, 36, 36)
    assert torch.equal(out, other)
    assert out.mean().item() == pytest.approx(0.0, abs=1e-5)


def test_pictures_are_taken_in_by_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    space = gym.spaces.Box(0, 255, (1, 36, 36), np.uint8)
    pictures = torch.randint(0, 255, (7, 1, 36, 36), dtype=torch.uint8)
    whole = Whitening(space, limit=5.0, n_frames=1)
    whole.update(pictures)
    monkeypatch.setattr(whitening_module, "_MOST_NUMBERS_AT_ONCE", 2 * 36 * 36)
    parts = Whitening(space, limit=5.0, n_frames=1)
    parts.update(pictures)
    torch.testing.assert_close(whole(pictures), parts(pictures))
    assert parts.parts[0].moments.count.item() == 7


def test_choices_are_one_hot_and_have_no_moments() -> None:
    white = Whitening(gym.spaces.Discrete(3, start=1), limit=5.0, n_frames=1)
    assert not white.learns
    (out,) = white(torch.tensor([1, 3]))
    assert out.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
