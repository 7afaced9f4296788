"""The search finds what it shall, draws from nothing of others, and can be gone through again."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from utils.errors import CheckpointError

pytest.importorskip("cma")

from utils.evolution import CmaEs


def run(search, n, target=0.0):
    for _ in range(n):
        asked = search.ask()
        search.tell(-np.square(asked - target).sum(axis=1))
    return search


def new(**changes):
    return CmaEs(np.zeros(5), **{"sigma": 0.5, "population": 8, "seed": 3, **changes})


def test_it_climbs() -> None:
    search = run(new(), 60, target=np.arange(5.0))
    np.testing.assert_allclose(search.mean, np.arange(5.0), atol=0.05)
    assert search.n_generations == 60
    assert search.sigma < 0.5


def test_the_seed_decides_and_nothing_else() -> None:
    first = run(new(), 3).mean
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    second = run(new(), 3).mean
    assert np.array_equal(first, second)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert not np.array_equal(first, run(new(seed=4), 3).mean)


def test_a_saved_search_goes_on_bit_for_bit() -> None:
    search = run(new(), 7, target=1.0)
    again = CmaEs.from_state(search.state_dict())
    assert np.array_equal(again.mean, search.mean)
    assert np.array_equal(again.ask(), search.ask())
    search, again = run(search, 3, target=2.0), run(again, 3, target=2.0)
    assert np.array_equal(again.mean, search.mean)
    assert again.sigma == search.sigma


def test_a_search_that_arrives_elsewhere_is_refused() -> None:
    state = run(new(), 4).state_dict()
    state["mean"] = state["mean"] + 0.1
    with pytest.raises(CheckpointError, match="4 generations cannot be gone through again") as told:
        CmaEs.from_state(state)
    assert "the library is the same" in str(told.value)
    state["library"] = "0.0.1"
    with pytest.raises(CheckpointError, match=r"made with cma 0\.0\.1, .* install cma==0\.0\.1"):
        CmaEs.from_state(state)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"mean": torch.zeros(6, dtype=torch.float64)}, "its mean has shape \\(6,\\)"),
        ({"population": 9}, "its fitness has shape \\(4, 8\\), of 9 candidates"),
        ({"mean": torch.full((5,), float("nan"))}, "its mean holds what is no finite number"),
        ({"fitness": torch.full((4, 8), float("inf"))}, "its fitness holds what is no finite"),
    ],
)
def test_what_is_no_state_of_a_search_is_refused(changes, why) -> None:
    state = run(new(), 4).state_dict() | changes
    with pytest.raises(CheckpointError, match=why):
        CmaEs.from_state(state)
    del state["seed"], state["sigma"]
    with pytest.raises(CheckpointError, match="has no sigma, seed"):
        CmaEs.from_state(state)


def test_fitness_that_is_no_number_is_a_mistake() -> None:
    search = new()
    search.ask()
    with pytest.raises(AssertionError):
        search.tell(np.full(8, np.nan))
