from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import nn

from utils.diffusion import Denoiser, DenoiserSettings
from utils.diffusion.picture_encoder import (
    PictureEncoder,
    SpatialSoftmax,
    crop_at_random,
    crop_middle,
    crop_sides,
)
from utils.diffusion.step_code import sinusoids

NUMBERS = spaces.Box(-1, 1, (3,), np.float32)
PICTURE = spaces.Box(0, 255, (3, 40, 48), np.uint8)


def build(network: str = "unet", space: spaces.Space = NUMBERS, **changes: Any) -> Denoiser:
    torch.manual_seed(0)
    settings = {
        "n_observations": 2,
        "length": 8,
        "channels": (8, 16, 16),
        "kernel_size": 3,
        "n_groups": 4,
        "step_dim": 8,
        "width": 16,
        "n_layers": 2,
        "n_heads": 2,
        "dropout": 0.0,
        "causal": True,
        "picture_width": 8,
        "n_keypoints": 4,
        "crop_fraction": 0.9,
    } | changes
    return Denoiser(space, 2, DenoiserSettings(network=network, **settings)).eval()


def inputs(n: int = 3) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    action = torch.randn((n, 8, 2), generator=generator)
    step = torch.randint(100, (n,), generator=generator)
    return action, step, torch.randn((n, 2, 3), generator=generator)


@pytest.mark.parametrize("network", ["unet", "transformer"])
@pytest.mark.parametrize("what", [0, 1, 2])
def test_the_prediction_depends_on_actions_step_and_observations(network: str, what: int) -> None:
    denoiser, given = build(network), list(inputs())
    before = denoiser(*given)
    assert before.shape == (3, 8, 2)
    given[what] = given[what].clone()
    given[what][0] += 1
    after = denoiser(*given)
    assert not torch.allclose(before[0], after[0], atol=1e-4)
    assert torch.allclose(before[1:], after[1:], atol=1e-6)  # rows do not know each other


@pytest.mark.parametrize("network", ["unet", "transformer"])
def test_every_weight_learns(network: str) -> None:
    denoiser = build(network)
    denoiser(*inputs()).square().sum().backward()
    still = [name for name, p in denoiser.named_parameters() if p.grad is None or not p.grad.any()]
    assert still == []


@pytest.mark.parametrize("causal", [True, False])
def test_an_action_of_the_transformer_sees_those_after_it_if_asked_to(causal: bool) -> None:
    denoiser, (action, step, features) = build("transformer", causal=causal), inputs()
    before = denoiser(action, step, features)
    changed = action.clone()
    changed[:, 5:] += 1.0
    after = denoiser(changed, step, features)
    assert torch.allclose(before[:, :5], after[:, :5], atol=1e-6) == causal
    assert not torch.allclose(before[:, 5:], after[:, 5:], atol=1e-3)


@pytest.mark.parametrize("space", [NUMBERS, PICTURE])
def test_no_norm_is_over_a_batch(space: spaces.Space) -> None:
    """A moving average of weights beside statistics of another network would ruin it."""
    norms = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
    assert not [m for m in build(space=space).modules() if isinstance(m, norms)]


def test_parts_of_a_dict_are_read_together() -> None:
    space = spaces.Dict({"eye": PICTURE, "place": NUMBERS, "mode": spaces.Discrete(4)})
    denoiser = build(space=space)
    assert denoiser.features_dim == 2 * 4 + 3 + 4
    observation = {
        "eye": torch.zeros((2, 3, 40, 48), dtype=torch.uint8),
        "place": torch.tensor([[0.1, 0.2, 0.3], [0.0, 0.0, 0.0]]),
        "mode": torch.tensor([1, 3]),
    }
    features = denoiser.encode(observation)
    assert features[:, 8:12].tolist() == [[0, 1, 0, 0], [0, 0, 0, 1]]
    assert features[0, 12:].tolist() == pytest.approx([0.1, 0.2, 0.3])


def test_a_window_is_encoded_as_its_observations_are() -> None:
    denoiser = build(space=PICTURE)
    generator = torch.Generator().manual_seed(0)
    pictures = torch.randint(256, (2, 3, 3, 40, 48), generator=generator, dtype=torch.uint8)
    windows = denoiser.encode_windows(pictures)
    alone = torch.stack([denoiser.encode(pictures[:, k]) for k in range(3)], dim=1)
    torch.testing.assert_close(windows, alone, rtol=1e-4, atol=1e-5)


def test_pictures_are_cut_anywhere_in_learning_and_in_the_middle_in_acting() -> None:
    rows, columns = torch.meshgrid(torch.arange(10), torch.arange(12), indexing="ij")
    picture = (rows * 16 + columns).to(torch.uint8).expand(50, 2, 1, 10, 12)
    sides = crop_sides((1, 10, 12), 0.8)
    assert sides == (8, 10)
    assert crop_middle(picture, sides)[0, 0, 0, 0, 0] == 1 * 16 + 1
    cut = crop_at_random(picture, sides, torch.Generator().manual_seed(0))
    assert cut.shape == (50, 2, 1, 8, 10)
    corners = cut[:, :, 0, 0, 0]
    assert torch.equal(corners[:, 0], corners[:, 1])  # the same place in all pictures of a row
    assert set(corners[:, 0].tolist()) == {16 * r + c for r in range(3) for c in range(3)}
    top, left = corners[:, 0] // 16, corners[:, 0] % 16
    for row in range(50):
        expected = picture[row, 0, 0, top[row] : top[row] + 8, left[row] : left[row] + 10]
        assert torch.equal(cut[row, 1, 0], expected)


def test_a_picture_that_was_cut_is_not_cut_again() -> None:
    encoder = PictureEncoder((3, 40, 48), width=8, n_keypoints=2, crop_fraction=0.75).eval()
    whole = torch.randint(256, (2, 3, 40, 48), generator=torch.Generator().manual_seed(0))
    whole = whole.to(torch.uint8)
    assert torch.equal(encoder(whole), encoder(crop_middle(whole, encoder.sides)))


def test_the_place_of_a_feature_is_where_it_is() -> None:
    maps = torch.zeros((1, 2, 5, 9))
    maps[0, 0, 4, 0] = 100.0  # bottom left
    maps[0, 1, 2, 4] = 100.0  # middle
    x0, x1, y0, y1 = SpatialSoftmax()(maps)[0].tolist()
    assert (x0, y0) == pytest.approx((-1.0, 1.0))
    assert (x1, y1) == pytest.approx((0.0, 0.0))


def test_steps_are_told_apart() -> None:
    code = sinusoids(torch.tensor([0, 1, 99]), 8)
    assert code[0].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    # The fastest turns by 1 in a step: sin 1 = 0.8415, cos 1 = 0.5403.
    assert code[1, [0, 4]].tolist() == pytest.approx([0.84147, 0.54030], abs=1e-5)
    assert (code[1] - code[2]).abs().max() > 0.5
