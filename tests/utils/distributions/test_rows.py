"""Rows drawn by several processes are those that one process draws."""

import pytest
import torch

from utils.distributions import Bernoulli, Categorical, DiagonalNormal, MultiCategorical
from utils.distributions.rows import sample_rows

N = 6
GENERATOR = torch.Generator().manual_seed(3)
LOGITS = torch.randn((N, 5), generator=GENERATOR)
CASES = {
    "choices": (Categorical(5), (LOGITS,)),
    "several choices": (MultiCategorical((2, 3)), (LOGITS,)),
    "switches": (Bernoulli(5), (LOGITS,)),
    "numbers": (DiagonalNormal((5,)), (LOGITS, torch.linspace(-1, 1, 5))),
}


@pytest.mark.parametrize("name", CASES)
def test_parts_together_are_the_whole(name):
    distribution, parameters = CASES[name]
    whole = distribution.sample(parameters, torch.Generator().manual_seed(7))
    parts = []
    for first, n in ((0, 2), (2, 1), (3, 3)):
        own = tuple(p[first : first + n] if p.ndim > 1 else p for p in parameters)
        generator = torch.Generator().manual_seed(7)
        parts.append(sample_rows(distribution, own, generator, first=first, total=N))
        # Every process has drawn the same numbers, so the next draws belong together too.
        expected = torch.Generator().manual_seed(7)
        distribution.sample(parameters, expected)
        assert torch.equal(generator.get_state(), expected.get_state())
    assert torch.equal(torch.cat(parts), whole)


@pytest.mark.parametrize("name", ["choices", "several choices", "switches"])
def test_rows_may_lie_behind_steps(name):
    distribution, (logits,) = CASES[name]
    stepped = torch.stack([logits, logits.flip(0), logits + 1.0])
    whole = distribution.sample((stepped,), torch.Generator().manual_seed(7))
    parts = [
        sample_rows(
            distribution,
            (stepped[:, first : first + 3],),
            torch.Generator().manual_seed(7),
            first=first,
            total=N,
            dim=1,
        )
        for first in (0, 3)
    ]
    assert torch.equal(torch.cat(parts, dim=1), whole)
