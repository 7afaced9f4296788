"""What the results page shows: configs, seeds, goals, and what others published."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

from utils.config.problems import did_you_mean
from utils.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Published:
    """A figure that somebody else published for the same task and algorithm."""

    source: str
    """Key of `SOURCES`."""
    mean: float
    spread: float
    """As the source means it, see `SOURCES`."""
    timesteps: str
    """Length of its training."""

    def __str__(self) -> str:
        return f"{self.source} {self.mean:g} ± {self.spread:g} ({self.timesteps})"


SOURCES = {
    "RL Zoo": (
        "RL Baselines3 Zoo, `benchmark.md`: one run each, deterministic; the spread is the "
        "standard deviation over evaluation episodes. Its LunarLander is version 2."
    ),
    "CleanRL": (
        "CleanRL, `docs/benchmark`: 3 seeds, returns of the training itself; the spread is the "
        "standard deviation over seeds."
    ),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the page."""

    config_id: str
    n_seeds: int
    goal: float | None
    """Mean return that we ask of ourselves; None: the row is for information."""
    published: tuple[Published, ...] = ()
    remark: str = ""
    """What a reader of the row has to know."""


ENTRIES = (
    Entry(
        "CartPole-v1:ppo",
        10,
        475.0,
        (Published("RL Zoo", 500.0, 0.0, "100k"), Published("CleanRL", 490.0, 6.1, "500k")),
    ),
    Entry(
        "Acrobot-v1:ppo",
        3,
        -85.0,
        (Published("RL Zoo", -73.5, 18.2, "1M"), Published("CleanRL", -86.4, 1.3, "500k")),
    ),
    Entry(
        "MountainCar-v0:ppo",
        3,
        -115.0,
        (Published("RL Zoo", -110.4, 19.5, "1M"), Published("CleanRL", -200.0, 0.0, "500k")),
    ),
    Entry("MountainCarContinuous-v0:ppo", 3, 90.0, (Published("RL Zoo", 88.3, 2.6, "20k"),)),
    Entry("Pendulum-v1:ppo", 3, -200.0, (Published("RL Zoo", -172.2, 104.0, "100k"),)),
    Entry("LunarLander-v3:ppo", 3, 220.0, (Published("RL Zoo", 242.1, 31.8, "1M"),)),
    Entry("LunarLanderContinuous-v3:ppo", 3, 220.0, (Published("RL Zoo", 270.9, 32.1, "1M"),)),
    Entry("FrozenLake-v1:ppo", 3, 0.7),
    Entry("Taxi-v4:ppo", 3, 7.0),
    Entry("CartPole-v1:ppo_simd", 10, 475.0),
    Entry("Acrobot-v1:ppo_simd", 10, -100.0),
    Entry("MountainCar-v0:ppo_simd", 10, -110.0),
    Entry("MountainCarContinuous-v0:ppo_simd", 10, 90.0),
    Entry("Pendulum-v1:ppo_simd", 10, -200.0),
    Entry("CartPole-v1:reinforce", 10, 475.0),
    Entry(
        "Acrobot-v1:reinforce",
        3,
        None,
        remark="its settings were changed after seeds 102 and 103 had failed with earlier ones.",
    ),
)


def select_entries(pattern: str, entries: Sequence[Entry] = ENTRIES) -> list[Entry]:
    """Return the entries whose config id contains or fits a pattern; case does not matter.

    Raises:
        ConfigError: None does.
    """
    folded = pattern.lower()
    found = [
        entry
        for entry in entries
        if folded in entry.config_id.lower() or fnmatch.fnmatchcase(entry.config_id.lower(), folded)
    ]
    if not found:
        hint = did_you_mean(pattern, [entry.config_id for entry in entries])
        raise ConfigError(f"no config of the results page matches '{pattern}'{hint}")
    return found
