from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.helpers.world_models import random_sequences, small_rssm
from utils.world_models import RSSM, Observed, State
from utils.world_models.observe_written_out import is_written_out

Results = tuple[list[Tensor], dict[str, Tensor]]


def build(*, double: bool, **changes: object) -> RSSM:
    torch.manual_seed(0)
    return small_rssm(double=double, **changes)


def sequences(rssm: RSSM, n_steps: int = 6, n: int = 3) -> tuple:
    before, action, embedding, is_first, noise = random_sequences(rssm, n_steps, n)
    is_first[n_steps // 2, 1] = is_first[0, 2] = True
    is_first[n_steps - 1] = True
    leaves = [x.requires_grad_() for x in (*before, action, embedding)]
    return State(*leaves[:2]), leaves[2], leaves[3], is_first, noise


def outcome(rssm: RSSM, observe: Callable[..., Observed], inputs: tuple, *, parts: str) -> Results:
    """Return values and gradients of a sum in which every number has its own weight."""
    before, action, embedding, *_ = inputs
    leaves = {"deter": before.deter, "stoch": before.stoch, "action": action, "seen": embedding}
    wanted = leaves | dict(rssm.named_parameters())
    for leaf in wanted.values():
        leaf.grad = None
    observed = observe(*inputs)
    values = {
        "d": observed.state.deter,
        "s": observed.state.stoch,
        "p": observed.posterior,
        "q": observed.prior,
        "f": observed.state.features.square(),
    }
    torch.manual_seed(1)
    weighted = [values[k].double() * torch.randn(values[k].shape).double() for k in parts]
    sum(x.sum() for x in weighted).backward()
    gradients = {name: leaf.grad for name, leaf in wanted.items() if leaf.grad is not None}
    return [values[k].detach() for k in "dspq"], gradients


def errors(mine: dict[str, Tensor], theirs: dict[str, Tensor]) -> dict[str, float]:
    """Return the largest error of each gradient, relative to its largest number."""
    assert set(mine) >= set(theirs)
    return {
        name: float((mine[name] - g).abs().max() / g.abs().max().clamp_min(1e-30))
        for name, g in theirs.items()
    }


SHAPES = [
    {},
    {"uniform_share": 0.0},
    {"uniform_share": 0.5},
    {"blocks": 1},
    {"deter": 24, "hidden": 6, "prior_layers": 1},
]


@pytest.mark.parametrize("changes", SHAPES)
@pytest.mark.parametrize("parts", ["dspqf", "d", "s", "p"])
def test_values_and_gradients_are_those_of_autograd(changes: dict, parts: str) -> None:
    rssm = build(double=True, **changes)
    assert is_written_out(rssm)
    inputs = sequences(rssm)
    theirs, their_gradients = outcome(rssm, rssm.observe_step_by_step, inputs, parts=parts)
    mine, my_gradients = outcome(rssm, rssm.observe, inputs, parts=parts)
    for a, b in zip(mine, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)
    assert max(errors(my_gradients, their_gradients).values()) < 1e-9


def test_in_single_precision() -> None:
    rssm = build(double=False, deter=64, hidden=32, choices=8, classes=8, blocks=8)
    inputs = sequences(rssm, 16, 8)
    theirs, their_gradients = outcome(rssm, rssm.observe_step_by_step, inputs, parts="dspqf")
    mine, my_gradients = outcome(rssm, rssm.observe, inputs, parts="dspqf")
    for a, b in zip(mine, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)
    assert max(errors(my_gradients, their_gradients).values()) < 1e-4


def test_one_step_of_one_sequence() -> None:
    rssm = build(double=True)
    inputs = random_sequences(rssm, 1, 1)
    theirs = rssm.observe_step_by_step(*inputs)
    mine = rssm.observe(*inputs)
    torch.testing.assert_close(mine.state.features, theirs.state.features)
    torch.testing.assert_close(mine.posterior, theirs.posterior)


def test_half_precision_errs_no_more_than_autograd_does() -> None:
    rssm = build(double=False, deter=64, hidden=32, choices=8, classes=8, blocks=8)
    inputs = sequences(rssm, 8, 8)
    exact, exact_gradients = outcome(rssm, rssm.observe_step_by_step, inputs, parts="dpq")

    def under_autocast(observe: Callable[..., Observed]) -> Callable[..., Observed]:
        def call(*args: object) -> Observed:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return observe(*args)

        return call

    step_by_step = under_autocast(rssm.observe_step_by_step)
    theirs, their_gradients = outcome(rssm, step_by_step, inputs, parts="dpq")
    mine, my_gradients = outcome(rssm, under_autocast(rssm.observe), inputs, parts="dpq")
    assert mine[0].dtype == mine[2].dtype == torch.bfloat16
    assert torch.equal(mine[1].float().unflatten(-1, (8, 8)).sum(-1), torch.ones(8, 8, 8))
    # Where rounding draws another class all that follows differs: compare what came before it.
    same = (exact[1] == mine[1]).all(-1) & (exact[1] == theirs[1]).all(-1)
    until = same.cumprod(0).bool()
    assert until.float().mean() > 0.3
    for k in (0, 2, 3):
        of_mine, of_theirs = (((x[k] - exact[k])[until]).float().std() for x in (mine, theirs))
        assert of_mine < 1.5 * of_theirs
    assert all(g.dtype == torch.float32 for g in my_gradients.values())
    for name, gradient in my_gradients.items():
        near = torch.cosine_similarity(
            gradient.flatten(), exact_gradients[name].flatten(), dim=0, eps=1e-30
        )
        reference = torch.cosine_similarity(
            their_gradients[name].flatten(), exact_gradients[name].flatten(), dim=0, eps=1e-30
        )
        assert near > min(0.9, float(reference) - 0.1), (name, near, reference)


def test_it_changes_nothing_that_it_is_given() -> None:
    rssm = build(double=True)
    inputs = sequences(rssm)
    copies = [x.detach().clone() for x in (*inputs[0], *inputs[1:])]
    outcome(rssm, rssm.observe, inputs, parts="dspqf")
    for x, copy in zip((*inputs[0], *inputs[1:]), copies, strict=True):
        assert torch.equal(x, copy)


def test_gradients_from_outside_are_left_as_they_are() -> None:
    rssm = build(double=True)
    observed = rssm.observe(*sequences(rssm))
    outputs = (*observed.state, observed.posterior)
    gradients = [torch.randn_like(x) for x in outputs]
    copies = [g.clone() for g in gradients]
    torch.autograd.backward(outputs, gradients)
    for g, copy in zip(gradients, copies, strict=True):
        assert torch.equal(g, copy)


def test_without_gradients_the_values_are_the_same() -> None:
    rssm = build(double=True)
    inputs = sequences(rssm)
    with torch.no_grad():
        quiet = rssm.observe(*inputs)
    loud = rssm.observe(*inputs)
    assert torch.equal(quiet.state.features, loud.state.features)
    assert not quiet.posterior.requires_grad
    assert loud.posterior.requires_grad


@pytest.mark.parametrize(
    "changes",
    [
        {"dynamics_layers": 2},
        {"posterior_layers": 2},
        {"latent": "gaussian"},
        {"dynamics": "gru"},
        {"norm": "layer"},
        {"activation": "elu"},
    ],
)
def test_other_shapes_go_step_by_step(changes: dict) -> None:
    assert not is_written_out(build(double=False, **changes))


class _Watch(TorchDispatchMode):
    """Notes all operations other than views."""

    VIEWS = (
        "view t transpose select slice unsqueeze expand detach alias unbind as_strided permute "
        "_unsafe_view split empty empty_like new_empty empty_strided"
    )

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        if name not in self.VIEWS.split(" "):
            self.names.append(name)
        return func(*args, **(kwargs or {}))


def operations(rssm: RSSM, observe: Callable[..., Observed], n_steps: int) -> list[str]:
    inputs = random_sequences(rssm, n_steps, 3)
    with _Watch() as watch:
        observed = observe(*inputs)
        (observed.state.features.sum() + observed.posterior.sum()).backward()
    return watch.names


def test_a_step_takes_a_third_of_the_operations() -> None:
    rssm = build(double=False)

    def of_a_step(observe: Callable[..., Observed]) -> float:
        return (len(operations(rssm, observe, 8)) - len(operations(rssm, observe, 4))) / 4

    mine, theirs = of_a_step(rssm.observe), of_a_step(rssm.observe_step_by_step)
    # 37 forward and 25 back, of which a GPU has fused 24 into 6
    assert mine <= 62
    assert theirs > 2.8 * mine


def test_nothing_is_read_back_from_the_device() -> None:
    rssm = build(double=False)
    reading = {"_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero"}
    assert not reading & set(operations(rssm, rssm.observe, 3))
