"""Temporal differences by a kernel against the same by operations."""

from __future__ import annotations

from unittest import mock

import pytest
import torch

from tests.helpers.triton_device import DEVICE  # isort: skip - before Triton

from agents.dqn import dqn_losses
from agents.dqn.fused_td import td_terms_fused


def by_operations(**terms) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    with mock.patch.object(dqn_losses, "why_no_triton", return_value="not here"):
        return dqn_losses.td_terms(**terms)


def numbers_of(n_rows: int, n_actions: int, *, has_mask: bool) -> dict:
    """Random terms of a batch, with errors on both sides of 1 and many equal values."""
    g = torch.Generator().manual_seed(n_rows)
    shape = (n_rows, n_actions)

    def values() -> torch.Tensor:
        return (2 * torch.randn(shape, generator=g)).round()  # whole numbers: many are equal

    terms = {
        "q": values(),
        "action": torch.randint(n_actions, (n_rows,), generator=g),
        "target_q": torch.randn(shape, generator=g),
        "selector_q": values(),
        "allowed": None,
        "reward": torch.randn(n_rows, generator=g),
        "discount": (torch.rand(n_rows, generator=g) > 0.3) * 0.9,
    }
    if has_mask:
        allowed = torch.rand(shape, generator=g) > 0.6
        allowed[torch.arange(n_rows), torch.randint(n_actions, (n_rows,), generator=g)] = True
        terms["allowed"] = allowed
    return {key: None if x is None else x.to(DEVICE) for key, x in terms.items()}


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("is_huber", [False, True])
@pytest.mark.parametrize("has_mask", [False, True])
@pytest.mark.parametrize(("n_rows", "n_actions"), [(1, 1), (5, 3), (128, 4), (300, 18), (7, 700)])
def test_terms_and_gradients_are_those_of_the_operations(
    n_rows: int, n_actions: int, has_mask: bool, is_huber: bool, is_weighted: bool
) -> None:
    terms = numbers_of(n_rows, n_actions, has_mask=has_mask)
    results = []
    for function in (by_operations, td_terms_fused):
        q = terms["q"].clone().requires_grad_()
        loss, error, value = function(**terms | {"q": q}, is_huber=is_huber)
        assert not error.requires_grad
        assert not value.requires_grad
        weight = torch.arange(1.0, n_rows + 1, device=DEVICE) if is_weighted else 1.0
        (gradient,) = torch.autograd.grad((weight * loss).mean(), [q])
        results.append((loss, error, value, gradient))
    torch.testing.assert_close(results[1], results[0], rtol=1e-6, atol=1e-6)


def test_numbers_may_lie_in_any_order() -> None:
    terms = numbers_of(6, 3, has_mask=True)
    for key, x in terms.items():
        terms[key] = torch.stack([x, x], dim=-1)[..., 0]
    terms["discount"] = torch.full((1,), 0.9, device=DEVICE).expand(6)
    assert not any(x.is_contiguous() for x in terms.values())
    results = []
    for function in (by_operations, td_terms_fused):
        q = terms["q"].detach().requires_grad_()
        loss, error, value = function(**terms | {"q": q}, is_huber=True)
        results.append((loss, error, value, *torch.autograd.grad(loss.sum(), [q])))
    torch.testing.assert_close(results[1], results[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("is_huber", [False, True])
def test_what_is_not_a_number_stays_so(is_huber: bool) -> None:
    terms = numbers_of(4, 3, has_mask=False)
    terms["target_q"][2] = float("nan")
    terms["selector_q"] = terms["target_q"]
    q = terms["q"].requires_grad_()
    loss, error, _ = td_terms_fused(**terms, is_huber=is_huber)
    assert loss.isnan().tolist() == error.isnan().tolist() == [False, False, True, False]
    (gradient,) = torch.autograd.grad(loss.sum(), [q])
    assert gradient.isnan().any(dim=1).tolist() == [False, False, True, False]


@pytest.mark.parametrize("key", ["action", "target_q", "selector_q", "allowed", "reward"])
def test_a_kernel_is_not_sent_beyond_the_end(key: str) -> None:
    terms = numbers_of(4, 3, has_mask=True)
    terms[key] = terms[key][:3]
    with pytest.raises(AssertionError):
        td_terms_fused(**terms, is_huber=True)
