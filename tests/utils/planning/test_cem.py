from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.helpers.world_models import small_rssm
from utils.planning import Bounds, Plan, first_plan, plan_by_elites
from utils.planning.cem import follow_elites
from utils.world_models import State

UNIT = Bounds(torch.full((2,), -1.0), torch.full((2,), 1.0))


def bounds(n: int) -> Bounds:
    return Bounds(torch.full((n,), -1.0), torch.full((n,), 1.0))


def quadratic(target: Tensor) -> object:
    """Return a model whose return is highest for the actions (H, N, A)."""
    return lambda actions: -(actions - target.unsqueeze(2)).square().sum(dim=(0, 3))


def search(evaluate: object, start: Plan, seed: int = 0, **changes: int) -> tuple[Plan, Tensor]:
    numbers = {"n_candidates": 100, "n_elites": 10, "n_iterations": 12} | changes
    generator = torch.Generator().manual_seed(seed)
    return plan_by_elites(evaluate, start, UNIT, generator=generator, **numbers)


def test_an_iteration_by_hand() -> None:
    # Candidates 0 + 1 * noise = -0.5, 0.25, 0.75 and 1.5, cut at 1. Their returns are 1 - |a|: 0.5,
    # 0.75, 0.25, 0: the elites are -0.5 and 0.25: mean -0.125, deviation 0.375
    # = sqrt(0.140625), with 1e-6 0.3750013; they promise 0.625.
    plan = Plan(torch.zeros(1, 1, 1), torch.ones(1, 1, 1))
    noise = torch.tensor([-0.5, 0.25, 0.75, 1.5]).view(1, 1, 4, 1)
    seen = []

    def evaluate(actions: Tensor) -> Tensor:
        seen.append(actions)
        return 1.0 - actions.abs().sum(dim=(0, 3))

    after, promised = follow_elites(evaluate, plan, noise, bounds(1), n_elites=2)
    torch.testing.assert_close(seen[0].flatten(), torch.tensor([-0.5, 0.25, 0.75, 1.0]))
    torch.testing.assert_close(after.mean, torch.full((1, 1, 1), -0.125))
    torch.testing.assert_close(after.std, torch.full((1, 1, 1), 0.3750013))
    torch.testing.assert_close(promised, torch.tensor([0.625]))


def test_it_finds_the_best_actions_of_every_step_and_environment() -> None:
    target = torch.rand((3, 4, 2), generator=torch.Generator().manual_seed(1)) * 1.6 - 0.8
    start = first_plan(UNIT, n_steps=3, n=4)
    plan, promised = search(quadratic(target), start)
    torch.testing.assert_close(plan.mean, target, rtol=0, atol=0.03)
    assert (promised > -0.01).all()
    assert (plan.std < 0.1 * start.std).all()


def test_what_lies_beyond_the_bounds_is_approached_as_far_as_they_allow() -> None:
    plan, _ = search(quadratic(torch.full((1, 1, 2), 5.0)), first_plan(UNIT, n_steps=1, n=1))
    torch.testing.assert_close(plan.action, torch.ones(1, 2), rtol=0, atol=0.01)


def test_several_environments_are_as_many_single_ones() -> None:
    generator = torch.Generator().manual_seed(0)
    target = torch.rand((3, 5, 2), generator=generator) - 0.5
    noise = torch.randn((3, 5, 20, 2), generator=generator)
    start = first_plan(UNIT, n_steps=3, n=5)
    together, promised = follow_elites(quadratic(target), start, noise, UNIT, n_elites=4)
    for k in range(5):
        one = slice(k, k + 1)
        alone, its_promise = follow_elites(
            quadratic(target[:, one]),
            Plan(start.mean[:, one], start.std[:, one]),
            noise[:, one],
            UNIT,
            n_elites=4,
        )
        torch.testing.assert_close(alone.mean, together.mean[:, one])
        torch.testing.assert_close(alone.std, together.std[:, one])
        torch.testing.assert_close(its_promise, promised[one])


def test_elites_are_those_with_the_highest_returns() -> None:
    noise = torch.randn((2, 3, 50, 2), generator=torch.Generator().manual_seed(0))
    start = first_plan(UNIT, n_steps=2, n=3)
    returns = torch.randn((3, 50), generator=torch.Generator().manual_seed(1))
    plan, promised = follow_elites(lambda actions: returns, start, noise, UNIT, n_elites=5)
    actions = noise.clamp(-1, 1)
    for k in range(3):
        order = returns[k].argsort(descending=True)[:5]
        torch.testing.assert_close(plan.mean[:, k], actions[:, k, order].mean(dim=1))
        torch.testing.assert_close(promised[k], returns[k, order].mean())


def test_a_return_that_is_no_number_is_never_among_the_best() -> None:
    noise = torch.tensor([-0.5, 0.25, 0.75, 0.1]).view(1, 1, 4, 1)
    returns = torch.tensor([[torch.nan, 1.0, 2.0, -torch.inf]])
    plan = Plan(torch.zeros(1, 1, 1), torch.ones(1, 1, 1))
    after, promised = follow_elites(lambda a: returns, plan, noise, bounds(1), n_elites=2)
    torch.testing.assert_close(after.mean.flatten(), torch.tensor([0.5]))
    torch.testing.assert_close(promised, torch.tensor([1.5]))


def test_equal_elites_leave_some_deviation() -> None:
    plan = Plan(torch.zeros(1, 1, 1), torch.zeros(1, 1, 1))
    after, _ = follow_elites(
        lambda a: a.sum(dim=(0, 3)), plan, torch.randn(1, 1, 8, 1), bounds(1), n_elites=3
    )
    torch.testing.assert_close(after.std, torch.full((1, 1, 1), 1e-3))


def test_the_same_generator_makes_the_same_plan() -> None:
    evaluate, start = quadratic(torch.zeros(2, 1, 2)), first_plan(UNIT, n_steps=2, n=1)
    first, second, other = (search(evaluate, start, seed)[0].mean for seed in (0, 0, 1))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


def test_a_good_start_needs_fewer_iterations() -> None:
    target = torch.full((2, 1, 2), 0.7)
    warm = Plan(target + 0.05, torch.full((2, 1, 2), 0.1))
    cold = first_plan(UNIT, n_steps=2, n=1)
    far, near = (
        (search(quadratic(target), start, n_iterations=1)[0].mean - target).abs().max()
        for start in (cold, warm)
    )
    assert near < 0.5 * far


def test_numbers_that_do_not_fit_are_refused() -> None:
    start = first_plan(UNIT, n_steps=1, n=1)
    with pytest.raises(AssertionError):
        search(quadratic(torch.zeros(1, 1, 2)), start, n_candidates=5, n_elites=6)
    with pytest.raises(AssertionError):
        search(quadratic(torch.zeros(1, 1, 2)), start, n_iterations=0)
    with pytest.raises(AssertionError):
        search(lambda actions: actions.sum(dim=(0, 3)).squeeze(0), start)


def test_it_plans_in_a_world_model() -> None:
    torch.manual_seed(0)
    rssm = small_rssm(latent="gaussian")
    start = State(torch.randn(3, 16), torch.randn(3, 3))
    noise = torch.zeros(4, 3 * 50, 3)

    def evaluate(actions: Tensor) -> Tensor:
        rows = State(*(part.repeat_interleave(50, dim=0) for part in start))
        flat = actions.flatten(1, 2)
        imagined = rssm.imagine(rows, lambda state, step: (flat[step], flat[step]), noise)
        return imagined.state.deter[1:].sum(dim=(0, 2)).view(3, 50)

    begin = first_plan(UNIT, n_steps=4, n=3)
    plan, promised = search(evaluate, begin, n_candidates=50, n_elites=5, n_iterations=6)
    mean_alone = evaluate(plan.mean.unsqueeze(2).expand(4, 3, 50, 2))[:, 0]
    ignorant = evaluate(begin.mean.unsqueeze(2).expand(4, 3, 50, 2))[:, 0]
    assert (mean_alone > ignorant + 0.1).all()
    torch.testing.assert_close(mean_alone, promised, rtol=0.1, atol=0.1)
    assert not plan.mean.requires_grad
