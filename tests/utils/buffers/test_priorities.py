"""Prioritised sampling: equations by hand, statistics, and two implementations against another."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from utils.buffers import Place
from utils.buffers.priorities import Priorities, PriorityIndex
from utils.buffers.sum_tree import SumTree, level_sizes, tree_bytes
from utils.buffers.sum_tree_kernels import find_leaves

DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.gpu,
            pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
        ],
    ),
]
N = 1000


def make(
    *, is_compiled: bool, device: str = "cpu", alpha: float = 0.6, n: int = N
) -> PriorityIndex:
    settings = Priorities(alpha=alpha, epsilon=0.0)
    place = Place(device=torch.device(device))
    return PriorityIndex(n, settings=settings, place=place, is_compiled=is_compiled)


def test_levels_are_whole_families() -> None:
    assert level_sizes(1) == [8]
    assert level_sizes(9) == [16, 8]
    assert level_sizes(600) == [600, 80, 16, 8]
    assert tree_bytes(9) == 8 * 24
    assert level_sizes(1_000_000, 1024) == [977 * 1024, 1024]


def test_many_leaves_are_found_alike_by_wide_and_narrow_trees() -> None:
    n = 70_000  # more than one level of either
    narrow, wide = make(is_compiled=True, n=n), make(is_compiled=False, n=n)
    rng = np.random.default_rng(0)
    errors = torch.from_numpy(rng.exponential(1.0, n))
    uniform = torch.Generator()
    for index in (narrow, wide):
        index.update(torch.arange(n), errors)
        index.expel(100, 30_000)
        index.update(torch.arange(40_000, 40_050), torch.full((50,), 1e3))
    draws = [index.draw(4096, generator=uniform.manual_seed(1)) for index in (narrow, wide)]
    # The sums are added up in another order: a number at the edge of a leaf may fall beside it.
    assert (draws[0] != draws[1]).sum() <= 2
    assert not ((draws[1] >= 100) & (draws[1] < 30_000)).any()
    assert (draws[1] >= 40_000).sum() > 50


@pytest.mark.parametrize("is_compiled", [True, False])
def test_probabilities_and_weights_by_hand(is_compiled: bool) -> None:
    # alpha 0.5: p^alpha of the errors 1, 4, 9, 16 is 1, 2, 3, 4 with the sum 10. n P is 0.4, 0.8,
    # 1.2, 1.6. With beta 0.5 the weights are their inverse roots 1.5811, 1.1180, 0.9129, 0.7906,
    # over the largest: 1, 0.7071, 0.5774, 0.5.
    index = make(is_compiled=is_compiled, alpha=0.5, n=4)
    index.update(torch.arange(4), torch.tensor([1.0, -4.0, 9.0, -16.0]))
    assert index.tree.leaves[:4].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert float(index.highest) == 16.0
    weights = index.weights(torch.arange(4), n=4, beta=0.5)
    assert weights.tolist() == pytest.approx([1, 0.70710678, 0.57735027, 0.5], rel=1e-6)
    assert index.weights(torch.arange(4), n=4, beta=0.0).tolist() == [1.0] * 4


@pytest.mark.parametrize("is_compiled", [True, False])
def test_new_places_have_the_highest_priority_so_far(is_compiled: bool) -> None:
    index = make(is_compiled=is_compiled, alpha=0.5)
    index.admit(10, 13)
    assert index.tree.leaves[9:14].tolist() == [0, 1, 1, 1, 0]
    index.update(torch.tensor([10, 11]), torch.tensor([0.25, 9.0]))
    index.admit(20, 21)
    assert index.tree.leaves[[10, 11, 12, 20]].tolist() == [0.5, 3, 1, 3]
    index.update(torch.tensor([11]), torch.tensor([1.0]))
    index.admit(21, 22)
    assert index.tree.leaves[21] == 3, "the highest so far, not the highest that is left"
    index.expel(20, 22)
    assert float(index.tree.total()) == 0.5 + 1 + 1


@pytest.mark.parametrize("is_compiled", [True, False])
def test_of_two_errors_for_one_place_the_larger_counts(is_compiled: bool) -> None:
    index = make(is_compiled=is_compiled, alpha=1.0)
    index.update(torch.tensor([3, 5, 3, 3]), torch.tensor([2.0, 1.0, -7.0, 4.0]))
    assert index.tree.leaves[[3, 5]].tolist() == [7, 1]
    assert float(index.tree.total()) == 8
    index.update(torch.tensor([3]), torch.tensor([1.0]))
    assert float(index.tree.total()) == 2


@pytest.mark.parametrize("is_compiled", [True, False])
def test_what_is_no_longer_held_changes_nothing(is_compiled: bool) -> None:
    index = make(is_compiled=is_compiled)
    index.admit(0, 4)
    before = index.tree.nodes.clone()
    index.update(torch.tensor([-1, -1]), torch.tensor([100.0, 3.0]))
    assert torch.equal(index.tree.nodes, before)
    assert float(index.highest) == 1.0


@pytest.mark.parametrize("is_compiled", [True, False])
def test_errors_that_are_no_numbers_change_nothing(is_compiled: bool) -> None:
    index = make(is_compiled=is_compiled)
    index.admit(0, 4)
    before = index.tree.nodes.clone()
    index.update(torch.tensor([1, 2]), torch.tensor([torch.nan, -torch.inf]))
    assert torch.equal(index.tree.nodes, before)
    assert float(index.highest) == 1.0


@pytest.mark.parametrize("is_compiled", [True, False])
def test_places_are_drawn_in_proportion(is_compiled: bool) -> None:
    index = make(is_compiled=is_compiled, alpha=1.0)
    rng = np.random.default_rng(0)
    weights = rng.gamma(0.5, size=N) * (rng.random(N) < 0.9)
    index.tree.leaves[:N] = torch.from_numpy(weights)
    index.tree.refresh(0, N)
    generator = torch.Generator().manual_seed(0)
    counts = sum(
        torch.bincount(index.draw(100, generator=generator), minlength=N) for _ in range(3000)
    ).numpy()
    expected = 300_000 * weights / weights.sum()
    assert (counts[weights == 0] == 0).all()
    often = expected > 5
    chi = ((counts - expected)[often] ** 2 / expected[often]).sum()
    n = often.sum()
    # A draw of each of 100 ranges varies less than independent draws, never more.
    assert chi < n + 4 * (2 * n) ** 0.5
    assert counts[~often].sum() == pytest.approx(expected[~often].sum(), abs=150)


@pytest.mark.parametrize("is_compiled", [True, False])
def test_one_place_is_drawn_from_each_range_of_equal_mass(is_compiled: bool) -> None:
    index = make(is_compiled=is_compiled, alpha=1.0)
    index.admit(0, N)
    for seed in range(20):
        drawn = index.draw(10, generator=torch.Generator().manual_seed(seed))
        assert (drawn // 100).tolist() == list(range(10))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("n", [5, 1000, 40_000])
def test_compiled_code_and_tensor_operations_draw_the_same(device: str, n: int) -> None:
    one, two = make(is_compiled=True, n=n), make(is_compiled=False, device=device, n=n)
    rng = np.random.default_rng(n)
    for index in (one, two):
        index.admit(0, n)
        index.expel(n // 3, n // 2)
    for step in range(30):
        generator = torch.Generator().manual_seed(step)
        places = one.draw(64, generator=generator)
        generator.manual_seed(step)
        assert torch.equal(places, two.draw(64, generator=generator).cpu())
        torch.testing.assert_close(
            one.weights(places, n=n, beta=0.4),
            two.weights(places.to(device), n=n, beta=0.4).cpu(),
            rtol=1e-6,
            atol=0,
        )
        errors = torch.from_numpy(rng.gamma(0.3, size=64))
        places[rng.random(64) < 0.1] = -1
        one.update(places, errors)
        two.update(places.to(device), errors.to(device))
        torch.testing.assert_close(one.highest, two.highest.cpu())
        leaves, total = two.tree.leaves.cpu(), two.tree.total().cpu()
        torch.testing.assert_close(one.tree.leaves, leaves, rtol=1e-12, atol=0)
        torch.testing.assert_close(one.tree.total(), total, rtol=1e-12, atol=0)


def test_sums_never_drift() -> None:
    index = make(is_compiled=True, alpha=1.0)
    index.admit(0, N)
    rng = np.random.default_rng(0)
    for _ in range(300):
        places = torch.from_numpy(rng.integers(0, N, 50))
        index.update(places, torch.from_numpy(10 ** rng.uniform(-8, 8, 50)))
    index.update(torch.arange(N), torch.full((N,), 0.1))
    fresh = make(is_compiled=True, alpha=1.0)
    fresh.update(torch.arange(N), torch.full((N,), 0.1))
    assert torch.equal(index.tree.nodes, fresh.tree.nodes)


@pytest.mark.parametrize(("is_compiled", "fan_out"), [(True, 8), (False, 8), (False, 16)])
def test_rounding_never_finds_a_leaf_without_weight(is_compiled: bool, fan_out: int) -> None:
    tree = SumTree(600, place=Place(), fan_out=fan_out)
    tree.leaves[7::13] = torch.logspace(-18, 3, len(tree.leaves[7::13]), dtype=torch.float64)
    tree.refresh(0, 600)
    total = tree.total()
    ends = torch.cat([tree.leaves.cumsum(0), tree.leaves.flip(0).cumsum(0).flip(0)])
    mass = torch.cat([ends, total - ends, total.view(1)]).clamp(min=0)
    mass = torch.minimum(mass, torch.nextafter(total, torch.zeros(())))
    if is_compiled:
        found = torch.from_numpy(find_leaves(tree.nodes.numpy(), tree.offsets, mass.numpy()))
    else:
        found = tree.find(mass)
    assert (tree.leaves[found] > 0).all()
    assert len(found.unique()) > 20


@pytest.mark.parametrize("is_compiled", [True, False])
def test_weights_of_a_part_are_divided_by_the_largest_of_the_whole_batch(is_compiled) -> None:
    # Of places with priorities 1, 2 and 5 the first two are drawn: n P = 3/8 and 6/8, so with beta
    # 1 weights 8/3 and 4/3. The largest of another part of the batch is 16/3.
    index = make(is_compiled=is_compiled, alpha=1.0, n=3)
    index.update(torch.arange(3), torch.tensor([1.0, 2.0, 5.0]))
    told = []

    def max_of_all(largest: torch.Tensor) -> torch.Tensor:
        told.append(float(largest))
        return torch.tensor(16.0 / 3.0)

    drawn = torch.tensor([0, 1])
    torch.testing.assert_close(index.weights(drawn, n=3, beta=1.0), torch.tensor([1.0, 0.5]))
    index.max_of_all = max_of_all
    torch.testing.assert_close(index.weights(drawn, n=3, beta=1.0), torch.tensor([0.5, 0.25]))
    assert told == [pytest.approx(8.0 / 3.0)]
