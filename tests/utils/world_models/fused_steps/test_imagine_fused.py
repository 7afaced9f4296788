"""`RSSM.imagine` by kernels between products against the same written out."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.helpers.fused_steps import fused_steps, noted_launches
from tests.helpers.triton_device import DEVICE
from tests.helpers.world_models import small_rssm
from utils.world_models import RSSM, Imagined, State


def build(**changes: object) -> RSSM:
    torch.manual_seed(0)
    return small_rssm(**changes).to(DEVICE)


def dream(
    rssm: RSSM, *, are_used: bool, n_steps: int = 3, n: int = 5, one_hot: bool = False
) -> Imagined:
    """Dream by an actor that looks at the whole state, from states that no latent could be."""
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator).to(DEVICE)

    noise = rssm.latent.draw_noise((n_steps + 1, n), generator).to(DEVICE)
    start = State(draw(n, rssm.deter), draw(n, rssm.latent.width))
    if one_hot:
        with torch.no_grad():
            start = start._replace(stoch=rssm.latent.sample(rssm.prior(start.deter), noise[-1]))
    weight = draw(rssm.n_features, 2)

    def choose(state: State, step: int) -> tuple[Tensor, Tensor]:
        encoded = 2.0 * (state.features.float() @ weight + step).sin()
        return encoded * 10, encoded

    copies = [x.clone() for x in (*start, noise)]
    with torch.no_grad(), fused_steps(are_used=are_used):
        imagined = rssm.imagine(start, choose, noise[:-1])
    for x, copy in zip((*start, noise), copies, strict=True):
        assert torch.equal(x, copy)
    return imagined


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"uniform_share": 0.0, "blocks": 1, "prior_layers": 1},
        {"deter": 40, "hidden": 12, "choices": 5, "classes": 7, "blocks": 5, "prior_layers": 3},
    ],
)
def test_dreams_are_those_of_torch(changes: dict) -> None:
    rssm = build(**changes)
    mine, theirs = (dream(rssm, are_used=are_used) for are_used in (True, False))
    torch.testing.assert_close(mine.state.stoch, theirs.state.stoch, rtol=0, atol=0)
    torch.testing.assert_close(mine.state.deter, theirs.state.deter, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(mine.action, theirs.action, rtol=1e-4, atol=1e-3)


def test_half_precision_errs_no_more_than_written_out() -> None:
    rssm = build(deter=64, hidden=32, choices=8, classes=8, blocks=8)
    exact = dream(rssm, are_used=False, n_steps=1, n=32, one_hot=True)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        mine, theirs = (
            dream(rssm, are_used=are_used, n_steps=1, n=32, one_hot=True)
            for are_used in (True, False)
        )
    assert mine.state.deter.dtype == mine.state.stoch.dtype == torch.bfloat16
    of_mine, of_theirs = (
        (x.state.deter[1] - exact.state.deter[1]).float().std() for x in (mine, theirs)
    )
    # The interpreter cuts off where a GPU rounds.
    assert 0 < of_mine < (1.2 if DEVICE == "cuda" else 2.5) * of_theirs
    assert (mine.state.stoch[1] == exact.state.stoch[1]).float().mean() > 0.97


def test_a_step_is_eleven_operations() -> None:
    rssm = build()

    def launches(n_steps: int) -> int:
        noise = rssm.latent.draw_noise((n_steps, 2), torch.Generator()).to(DEVICE)
        start, action = rssm.initial(2), torch.zeros(2, 2, device=DEVICE)
        with torch.no_grad(), fused_steps(are_used=True), noted_launches() as names:
            rssm.imagine(start, lambda state, step: (action, action), noise)
        return len(names)

    assert (launches(4) - launches(2)) / 2 <= 11


def test_with_gradients_it_goes_step_by_step() -> None:
    rssm = build()
    noise = rssm.latent.draw_noise((2, 2), torch.Generator()).to(DEVICE)
    action = torch.zeros(2, 2, device=DEVICE).requires_grad_()
    start = State(torch.ones(2, 16, device=DEVICE), torch.zeros(2, 12, device=DEVICE))
    with fused_steps(are_used=True):
        imagined = rssm.imagine(start, lambda state, step: (action, action), noise)
        imagined.state.deter[-1].sum().backward()
    assert action.grad.abs().min() > 0
