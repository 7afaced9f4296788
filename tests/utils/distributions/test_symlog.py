from __future__ import annotations

import math

import torch

from utils.distributions.symlog import symexp, symlog


def test_by_hand() -> None:
    # sign(x) ln(|x| + 1): ln 2 = 0.6931472; e - 1 -> 1; 1e4 -> ln 10001 = 9.2104404
    x = torch.tensor([0.0, 1.0, -1.0, math.e - 1.0, -1e4])
    expected = torch.tensor([0.0, 0.6931472, -0.6931472, 1.0, -9.2104404])
    torch.testing.assert_close(symlog(x), expected)
    torch.testing.assert_close(symexp(expected), x)


def test_small_numbers_stay_what_they_are() -> None:
    x = torch.tensor([1e-6, -1e-6])
    torch.testing.assert_close(symlog(x), x, rtol=1e-5, atol=0)
    torch.testing.assert_close(symexp(x), x, rtol=1e-5, atol=0)
