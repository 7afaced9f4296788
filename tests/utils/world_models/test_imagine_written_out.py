from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.helpers.world_models import small_rssm
from utils.world_models import RSSM, Imagined, State


def build(*, double: bool = True, **changes: object) -> RSSM:
    torch.manual_seed(0)
    return small_rssm(double=double, **changes)


def dream(rssm: RSSM, imagine: object, *, n_steps: int = 5, n: int = 7) -> tuple[Imagined, list]:
    """Dream by an actor that looks at the whole state; returns what it saw, too."""
    generator = torch.Generator().manual_seed(0)
    dtype = rssm.posterior.output.weight.dtype
    noise = rssm.latent.draw_noise((n_steps + 1, n), generator).to(dtype)
    deter = torch.rand((n, rssm.deter), generator=generator).to(dtype) * 2 - 1
    start = State(deter, rssm.latent.sample(rssm.prior(deter), noise[-1]).detach())
    weight = torch.randn((rssm.n_features, 2), generator=generator).to(dtype)
    seen = []

    def choose(state: State, step: int) -> tuple[Tensor, Tensor]:
        seen.append((step, state))
        encoded = 2.0 * (state.features.to(dtype) @ weight).sin()
        return encoded * 10, encoded

    with torch.no_grad():
        return imagine(start, choose, noise[:-1]), seen


@pytest.mark.parametrize(
    "changes", [{}, {"uniform_share": 0.0}, {"blocks": 1, "prior_layers": 1}, {"deter": 24}]
)
def test_dreams_are_those_of_single_steps(changes: dict) -> None:
    rssm = build(**changes)
    theirs, _ = dream(rssm, rssm.imagine_step_by_step)
    mine, seen = dream(rssm, rssm.imagine)
    for a, b in zip((*mine.state, mine.action), (*theirs.state, theirs.action), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)
    assert [step for step, _ in seen] == [0, 1, 2, 3, 4]
    for t, (_, state) in enumerate(seen):
        assert torch.equal(state.features, mine.state.features[t])


def test_in_single_precision() -> None:
    rssm = build(double=False, deter=64, hidden=32, choices=8, classes=8, blocks=8)
    theirs, _ = dream(rssm, rssm.imagine_step_by_step, n=64)
    mine, _ = dream(rssm, rssm.imagine, n=64)
    torch.testing.assert_close(mine.state.stoch, theirs.state.stoch, rtol=0, atol=0)
    torch.testing.assert_close(mine.state.deter, theirs.state.deter, rtol=1e-5, atol=1e-5)


def test_half_precision_errs_no_more_than_single_steps_do() -> None:
    rssm = build(double=False, deter=64, hidden=32, choices=8, classes=8, blocks=8)
    exact, _ = dream(rssm, rssm.imagine_step_by_step, n=64, n_steps=1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        theirs, _ = dream(rssm, rssm.imagine_step_by_step, n=64, n_steps=1)
        mine, _ = dream(rssm, rssm.imagine, n=64, n_steps=1)
    assert mine.state.deter.dtype == mine.state.stoch.dtype == torch.bfloat16
    of_mine, of_theirs = (
        (x.state.deter[1] - exact.state.deter[1]).float().std() for x in (mine, theirs)
    )
    assert 0 < of_mine < 1.5 * of_theirs
    assert (mine.state.stoch[1] == exact.state.stoch[1]).float().mean() > 0.97


def test_with_gradients_it_goes_step_by_step() -> None:
    rssm = build()
    start = State(torch.rand(2, 16).double(), torch.zeros(2, 12).double())
    noise = rssm.latent.draw_noise((3, 2), torch.Generator()).double()
    action = torch.zeros(2, 2).double().requires_grad_()
    imagined = rssm.imagine(start, lambda state, step: (action, action), noise)
    imagined.state.deter[-1].sum().backward()
    assert action.grad.abs().min() > 0


def test_the_states_it_begins_with_stay_as_they_are() -> None:
    rssm = build()
    start = State(torch.rand(2, 16).double(), torch.rand(2, 12).double())
    copies = [x.clone() for x in start]
    action = torch.full((2, 2), 3.0).double()
    with torch.no_grad():
        noise = rssm.latent.draw_noise((3, 2), torch.Generator()).double()
        imagined = rssm.imagine(start, lambda state, step: (action, action), noise)
    assert torch.equal(imagined.state.deter[0], copies[0])
    for x, copy in zip(start, copies, strict=True):
        assert torch.equal(x, copy)
    assert (action == 3.0).all()
