"""Several seeds as a person writes them: `1,2,3`, `1-5`, or `5x` for five of them."""

from __future__ import annotations

import argparse
import re
from typing import NamedTuple

_LAST_SEED = 2**31 - 1
_MOST = 1000


class Seeds(NamedTuple):
    """Seeds that are listed, or a number of them."""

    listed: tuple[int, ...] = ()
    n_seeds: int = 0
    """Counted from the seed of the config; 0 where they are listed."""

    def resolve(self, first: int) -> tuple[int, ...]:
        """Return the seeds.

        Args:
            first: The seed of the config.
        """
        return self.listed or tuple(range(first, first + self.n_seeds))


def read_seeds(text: str) -> Seeds:
    """Read `1,2,3`, `1-5`, `1-3,7` or `5x`.

    Raises:
        ArgumentTypeError: It is none of these, names a seed twice, or too many.
    """
    if match := re.fullmatch(r"(\d+)x", text):
        count = int(match[1])
        if not 1 <= count <= _MOST:
            raise argparse.ArgumentTypeError(f"1x to {_MOST}x")
        return Seeds(n_seeds=count)
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if match is None:
            raise argparse.ArgumentTypeError("seeds are written 1,2,3 or 1-5, or 5x for five")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last > _LAST_SEED or last - first >= _MOST:
            raise argparse.ArgumentTypeError(
                f"'{part.strip()}' is no range of at most {_MOST} seeds up to {_LAST_SEED}"
            )
        seeds += range(first, last + 1)
    if len(set(seeds)) < len(seeds):
        raise argparse.ArgumentTypeError("a seed is named twice")
    if len(seeds) > _MOST:
        raise argparse.ArgumentTypeError(f"at most {_MOST} seeds")
    return Seeds(listed=tuple(seeds))
