"""`RSSM.observe` by kernels between products against the same written out, and step by step."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tests.helpers.fused_steps import fused_steps, noted_launches
from tests.helpers.triton_device import DEVICE
from tests.helpers.world_models import random_sequences, small_rssm
from utils.world_models import RSSM, Observed, State
from utils.world_models.fused_steps.observe import ObserveFused

WIDE = {"deter": 40, "hidden": 12, "choices": 5, "classes": 7, "blocks": 5}
"""Widths of which none is a power of two."""
SHAPES = [
    {},
    WIDE,
    {"uniform_share": 0.0, "blocks": 1},
    {"uniform_share": 0.5, "hidden": 6, "prior_layers": 1},
]


def build(**changes: object) -> RSSM:
    torch.manual_seed(0)
    return small_rssm(**changes).to(DEVICE)


def sequences(rssm: RSSM, n_steps: int = 4, n: int = 3) -> tuple:
    """Return arguments of `observe`; episodes begin at the first step, the middle and the last."""
    before, action, embedding, is_first, noise = random_sequences(rssm, n_steps, n)
    is_first[n_steps // 2, 0] = is_first[0, n - 1] = is_first[n_steps - 1, n // 2] = True
    leaves = [x.to(DEVICE).requires_grad_() for x in (*before, action, embedding)]
    return State(*leaves[:2]), *leaves[2:], is_first.to(DEVICE), noise.to(DEVICE)


def outcome(
    rssm: RSSM, observe: Callable[..., Observed], inputs: tuple, *, parts: str = "dspq"
) -> tuple[list[Tensor], dict[str, Tensor]]:
    """Return values, and gradients of a sum in which every number has its own weight."""
    before, action, embedding, *_ = inputs
    wanted = {"deter": before.deter, "stoch": before.stoch, "action": action, "seen": embedding}
    wanted |= dict(rssm.named_parameters())
    for leaf in wanted.values():
        leaf.grad = None
    observed = observe(*inputs)
    values = dict(zip("dspq", (*observed.state, observed.posterior, observed.prior), strict=True))
    generator = torch.Generator().manual_seed(1)
    weighted = [
        values[k].double() * torch.randn(values[k].shape, generator=generator).to(DEVICE)
        for k in parts
    ]
    sum(x.sum() for x in weighted).backward()
    gradients = {name: leaf.grad for name, leaf in wanted.items() if leaf.grad is not None}
    return [x.detach() for x in values.values()], gradients


def fused(observe: Callable[..., Observed]) -> Callable[..., Observed]:
    def call(*inputs: object) -> Observed:
        with fused_steps(are_used=True):
            return observe(*inputs)

    return call


def plain(observe: Callable[..., Observed]) -> Callable[..., Observed]:
    def call(*inputs: object) -> Observed:
        with fused_steps(are_used=False):
            return observe(*inputs)

    return call


def assert_same(mine: tuple, theirs: tuple) -> None:
    for a, b in zip(mine[0], theirs[0], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)
    assert set(mine[1]) >= set(theirs[1])
    for name, gradient in theirs[1].items():
        error = (mine[1][name] - gradient).abs().max() / gradient.abs().max().clamp_min(1e-30)
        assert error < 1e-4, (name, error)


@pytest.mark.parametrize("changes", SHAPES)
def test_values_and_gradients_are_those_of_autograd(changes: dict) -> None:
    rssm = build(**changes)
    inputs = sequences(rssm)
    mine = outcome(rssm, fused(rssm.observe), inputs)
    assert_same(mine, outcome(rssm, plain(rssm.observe_step_by_step), inputs))
    assert_same(mine, outcome(rssm, plain(rssm.observe), inputs))


@pytest.mark.parametrize("parts", ["d", "s", "p"])
def test_gradients_of_each_part(parts: str) -> None:
    rssm = build(**WIDE)
    inputs = sequences(rssm, 3)
    mine = outcome(rssm, fused(rssm.observe), inputs, parts=parts)
    assert_same(mine, outcome(rssm, plain(rssm.observe_step_by_step), inputs, parts=parts))


def test_one_step_of_one_sequence() -> None:
    rssm = build()
    inputs = sequences(rssm, 1, 1)
    assert not fused(rssm.observe)(*inputs).state.deter.isnan().any()
    inputs[3].fill_(False)
    mine = outcome(rssm, fused(rssm.observe), inputs)
    assert_same(mine, outcome(rssm, plain(rssm.observe_step_by_step), inputs))


def test_what_was_before_an_episode_has_no_influence_whatever_it_was() -> None:
    rssm = build()
    inputs = sequences(rssm, 2, 3)
    inputs[3].fill_(True)
    first = outcome(rssm, fused(rssm.observe), inputs)
    with torch.no_grad():
        for leaf in (*inputs[0], inputs[1]):
            leaf.add_(5.0)
    second = outcome(rssm, fused(rssm.observe), inputs)
    for a, b in zip(first[0], second[0], strict=True):
        assert torch.equal(a, b)
    assert all(second[1][name].abs().max() == 0 for name in ("deter", "stoch", "action"))


def test_half_precision_errs_no_more_than_written_out() -> None:
    rssm = build(deter=64, hidden=32, choices=8, classes=8, blocks=8)
    inputs = sequences(rssm, 4, 8)
    exact, exact_gradients = outcome(rssm, plain(rssm.observe), inputs)

    def halved(observe: Callable[..., Observed]) -> Callable[..., Observed]:
        def call(*args: object) -> Observed:
            with torch.autocast(DEVICE, dtype=torch.bfloat16):
                return observe(*args)

        return call

    theirs, their_gradients = outcome(rssm, halved(plain(rssm.observe)), inputs)
    mine, my_gradients = outcome(rssm, halved(fused(rssm.observe)), inputs)
    assert all(x.dtype == torch.bfloat16 for x in mine)
    assert all(g.dtype == torch.float32 for g in my_gradients.values())
    # Where rounding draws another class all that follows differs: compare what came before it.
    same = (exact[1] == mine[1]).all(-1) & (exact[1] == theirs[1]).all(-1)
    until = same.cumprod(0).bool()
    allowed = 1.2 if DEVICE == "cuda" else 2.5  # the interpreter cuts off where a GPU rounds
    assert until.float().mean() > 0.3
    for k in (0, 2, 3):
        of_mine, of_theirs = (((x[k] - exact[k])[until]).float().std() for x in (mine, theirs))
        assert of_mine < allowed * of_theirs
    for name, gradient in my_gradients.items():
        near, reference = (
            torch.cosine_similarity(g.flatten(), exact_gradients[name].flatten(), dim=0, eps=1e-30)
            for g in (gradient, their_gradients[name])
        )
        assert near > min(0.9, float(reference) - 0.1), (name, near, reference)


def test_nothing_that_it_is_given_is_changed() -> None:
    rssm = build()
    inputs = sequences(rssm)
    outputs = fused(rssm.observe)(*inputs)
    values = (*outputs.state, outputs.posterior)
    given = [*inputs[0], *inputs[1:], *(torch.randn_like(x) for x in values)]
    copies = [x.detach().clone() for x in given]
    torch.autograd.backward(values, given[-3:])
    fused(rssm.observe)(*inputs)
    for x, copy in zip(given, copies, strict=True):
        assert torch.equal(x, copy)


def test_the_same_twice_is_the_same() -> None:
    rssm = build(**WIDE)
    inputs = sequences(rssm, 2)
    first, second = (outcome(rssm, fused(rssm.observe), inputs) for _ in range(2))
    for a, b in zip(
        (*first[0], *first[1].values()), (*second[0], *second[1].values()), strict=True
    ):
        assert torch.equal(a, b)


def test_a_step_is_nine_operations_forward_and_ten_back() -> None:
    rssm = build()

    def launches(n_steps: int) -> list[str]:
        before, *rest = random_sequences(rssm, n_steps, 2)
        inputs = State(*(x.to(DEVICE) for x in before)), *(x.to(DEVICE) for x in rest)
        with fused_steps(are_used=True), noted_launches() as names:
            observed = rssm.observe(*inputs)
            (observed.state.features.sum() + observed.posterior.sum()).backward()
        return names

    short, long = launches(2), launches(4)
    assert (len(long) - len(short)) / 2 <= 19
    assert not {"_local_scalar_dense", "nonzero", "item"} & set(long)


def test_kernels_are_taken_where_they_can_be() -> None:
    rssm = build()
    with fused_steps(are_used=True):
        observed = rssm.observe(*sequences(rssm))
    assert ObserveFused.__name__ in type(observed.posterior.grad_fn).__name__
