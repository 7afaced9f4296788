"""The covariance matrix adaptation of the library `cma`, with a state of plain numbers."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from utils.errors import CheckpointError, MissingDependencyError

_CLOSE = 1e-6
"""Relative difference of a mean that other processors' rounding explains."""
_KEYS = ("start", "sigma", "population", "seed", "fitness", "mean", "library")


def require_cma() -> None:
    """Refuse to go on where the library is missing, before anything is trained for it.

    Raises:
        MissingDependencyError: It is not installed.
    """
    if find_spec("cma") is None:
        raise MissingDependencyError("cma", extra="evolution", needed_for="CMA-ES")


class CmaEs:
    """Hansen 2016, "The CMA evolution strategy: a tutorial"; maximises.

    The library's own state is a web of objects that only pickle can save, and a pickle may run
    anything when it is read. What is saved instead is what the search depends on: where it began,
    the seed of its draws, and the fitness of every candidate so far. Restoring goes through the
    generations again without anybody being evaluated, which takes about 0.1 s for each generation
    of 1,000 parameters, and compares where it arrives. On the same machine that is the same state,
    bit for bit.
    """

    def __init__(self, start: np.ndarray, *, sigma: float, population: int, seed: int) -> None:
        """Begin a search.

        Args:
            start: (n,) first mean.
            sigma: First standard deviation of every parameter, > 0.
            population: Candidates of a generation, >= 2.
            seed: Of all draws.

        Raises:
            MissingDependencyError: The library is not installed.
        """
        require_cma()
        import cma

        self._start, self._sigma = np.array(start, dtype=np.float64), sigma
        self._population, self._seed = population, seed
        generator = np.random.Generator(np.random.PCG64(seed))
        options = {
            "popsize": population,
            "randn": lambda *shape: generator.standard_normal(shape),
            "seed": float("nan"),  # NumPy's global generator stays as it is
            "verbose": -9,
            "verb_log": 0,
            "verb_disp": 0,
        }
        self._search = cma.CMAEvolutionStrategy(self._start.copy(), sigma, options)
        self._fitness: list[np.ndarray] = []

    @property
    def n_generations(self) -> int:
        """Generations that were told of."""
        return len(self._fitness)

    @property
    def mean(self) -> np.ndarray:
        """(n,) float64, the best guess: the middle of what is drawn next."""
        return np.array(self._search.mean)

    @property
    def sigma(self) -> float:
        """Present step size."""
        return float(self._search.sigma)

    @property
    def spread(self) -> float:
        """Mean standard deviation of the parameters of what is drawn next."""
        return float(np.mean(self._search.sigma * np.sqrt(self._search.dC)))

    def ask(self) -> np.ndarray:
        """Draw the candidates of a generation, (population, n) float64; `tell` comes next."""
        self._asked = np.stack(self._search.ask())
        return self._asked

    def tell(self, fitness: np.ndarray) -> None:
        """Take in how good they are.

        Args:
            fitness: (population,) finite, larger is better.
        """
        assert fitness.shape == (self._population,), fitness.shape
        assert np.isfinite(fitness).all(), fitness
        self._search.tell(list(self._asked), (-fitness).tolist())
        self._fitness.append(np.array(fitness, dtype=np.float64))

    def state_dict(self) -> dict[str, Any]:
        """Return what the search depends on, as plain containers and tensors."""
        rows = np.stack(self._fitness) if self._fitness else np.zeros((0, self._population))
        return {
            "start": torch.from_numpy(self._start),
            "sigma": self._sigma,
            "population": self._population,
            "seed": self._seed,
            "fitness": torch.from_numpy(rows),
            "mean": torch.from_numpy(self.mean),
            "library": _library_version(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> CmaEs:
        """Go through a saved search again.

        Raises:
            CheckpointError: The state is none of a search, or going through it arrives elsewhere.
        """
        _check_state(state)
        search = cls(
            state["start"].numpy(),
            sigma=state["sigma"],
            population=state["population"],
            seed=state["seed"],
        )
        for fitness in state["fitness"].numpy():
            search.ask()
            search.tell(fitness)
        difference = np.abs(search.mean - state["mean"].numpy()).max(initial=0.0)
        if not difference <= _CLOSE * max(1.0, np.abs(search.mean).max(initial=0.0)):
            raise CheckpointError(
                f"the saved evolution of {search.n_generations} generations cannot be gone through "
                f"again: its mean is {difference:.2g} elsewhere; {_explain(state['library'])}"
            )
        return search


def _library_version() -> str:
    import cma

    return str(cma.__version__)


def _explain(library: str) -> str:
    """Say why going through a search again may arrive elsewhere."""
    here = _library_version()
    if library != here:
        return f"it was made with cma {library}, and this is {here}: install cma=={library}"
    return (
        "the library is the same, so the checkpoint was changed, or its processor rounds otherwise "
        "than this one"
    )


def _check_state(state: Mapping[str, Any]) -> None:
    """Refuse what is no state of a search, before anything is made of it.

    Raises:
        CheckpointError: It names what does not fit.
    """
    missing = [key for key in _KEYS if key not in state]
    if missing:
        raise CheckpointError(f"the saved evolution has no {', '.join(missing)}")
    start, mean, fitness = (state[key] for key in ("start", "mean", "fitness"))
    population = state["population"]
    wrong = []
    if start.ndim != 1 or mean.shape != start.shape:
        wrong.append(f"its mean has shape {tuple(mean.shape)}, its start {tuple(start.shape)}")
    if fitness.ndim != 2 or fitness.shape[1] != population:
        wrong.append(f"its fitness has shape {tuple(fitness.shape)}, of {population} candidates")
    wrong += [
        f"its {name} holds what is no finite number"
        for name, numbers in (("start", start), ("mean", mean), ("fitness", fitness))
        if not bool(torch.isfinite(numbers).all())
    ]
    if wrong:
        raise CheckpointError(f"the saved evolution does not fit together: {'; '.join(wrong)}")
