"""Which bandit problems an environment draws its episodes from."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from utils.errors import ConfigError

REWARDS = ("bernoulli", "gaussian")
OBSERVATIONS = ("none", "last", "statistics")
ORDERS = ("fixed", "mean")


@dataclass(frozen=True, kw_only=True, slots=True)
class BanditSettings:
    """A distribution over bandit problems; each episode is a new draw.

    Attributes:
        rewards: "bernoulli": an arm pays 1 with a probability drawn from U(0, 1), else 0.
            "gaussian": an arm pays N(m, noise_std^2), and its mean m is drawn from
            N(0, mean_std^2) (the testbed of Sutton and Barto 2018, section 2.3, with both 1).
        n_arms: Arms k, >= 2.
        horizon: Steps of an episode, >= 1; then it has terminated, for nothing is paid afterwards.
        observation: What is shown, see `BanditTable.observe`.
        n_contexts: Situations C, >= 1, each with arms of its own; every step is in one of them,
            drawn uniformly and shown (associative search, Sutton and Barto 2018, section 2.9).
        mean_std: Standard deviation of the means of Gaussian arms at the start, >= 0.
        noise_std: Standard deviation of what Gaussian arms pay, > 0.
        drift_std: After each step every mean takes an independent step N(0, drift_std^2)
            (Sutton and Barto 2018, exercise 2.5); 0: the arms stay as they are.
        memory: Factor in (0, 1] by which the weight of what was seen shrinks with each step in
            the observation "statistics"; 1: everything counts alike.
        arm_order: "fixed": action i pulls arm i. "mean": the observation "statistics" shows the
            arms from the best mean so far downwards, and action i pulls the i-th of those shown.
            Arms are alike before they are pulled, so nothing is lost, and a network need not learn
            the same for each of them.
    """

    rewards: Literal["bernoulli", "gaussian"] = "bernoulli"
    n_arms: int = 10
    horizon: int = 100
    observation: Literal["none", "last", "statistics"] = "statistics"
    n_contexts: int = 1
    mean_std: float = 1.0
    noise_std: float = 1.0
    drift_std: float = 0.0
    memory: float = 1.0
    arm_order: Literal["fixed", "mean"] = "fixed"

    def __post_init__(self) -> None:
        """Refuse values out of range and those without effect.

        Raises:
            ConfigError: It names the argument.
        """
        _check_choice("rewards", self.rewards, REWARDS)
        _check_choice("observation", self.observation, OBSERVATIONS)
        _check_choice("arm_order", self.arm_order, ORDERS)
        for name, least in (("n_arms", 2), ("horizon", 1), ("n_contexts", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise _wrong(name, f"must be a whole number >= {least}, got {value!r}")
        for name in ("mean_std", "noise_std", "drift_std", "memory"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
                raise _wrong(name, f"must be a number >= 0, got {value!r}")
        if not 0 < self.memory <= 1:
            raise _wrong("memory", f"must be in (0, 1], got {self.memory}")
        if self.noise_std == 0:
            raise _wrong("noise_std", "must be above 0")
        if self.memory != 1 and self.observation != "statistics":
            raise _wrong("memory", f"has no effect with observation: {self.observation}")
        if self.arm_order != "fixed" and self.observation != "statistics":
            raise _wrong("arm_order", f"has no effect with observation: {self.observation}")
        if self.rewards == "bernoulli":
            self._refuse_gaussian_arguments()

    def _refuse_gaussian_arguments(self) -> None:
        defaults = {field.name: field.default for field in fields(self)}
        for name in ("mean_std", "noise_std", "drift_std"):
            if getattr(self, name) != defaults[name]:
                raise _wrong(name, "has no effect with rewards: bernoulli")


def read_settings(arguments: Mapping[str, Any]) -> BanditSettings:
    """Make settings of an environment's arguments.

    Raises:
        ConfigError: There is no such setting, or one is out of range or without effect.
    """
    known = [field.name for field in fields(BanditSettings)]
    for name in arguments:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(known)}"
            raise ConfigError(f"env_kwargs: a bandit takes no '{name}'; {hint}")
    return BanditSettings(**arguments)


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise _wrong(name, f"must be one of {', '.join(choices)}, got {value!r}")


def _wrong(name: str, what: str) -> ConfigError:
    return ConfigError(f"env_kwargs: {name} {what}")
