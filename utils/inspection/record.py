"""One recorded episode: which one it is, how it went, and arrays with one row per step."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

End = Literal["terminated", "truncated", "cut"]


@dataclass(frozen=True, slots=True)
class Branch:
    """What is different from the episode that was played: one action."""

    step: int
    """The step at which it is taken, >= 0."""
    action: tuple[float, ...]
    """As policies choose it, flat: counting from 0, or unclipped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeRequest:
    """Which episode of a run: the policy, the seed, how actions are chosen, what is different."""

    checkpoint: str
    """Name of the checkpoint file without `.ckpt`."""
    fingerprint: str
    """Of the checkpoint's content, 8 hexadecimal digits."""
    seed: int
    """Of the environment and of sampled actions."""
    is_deterministic: bool
    """Most likely actions rather than sampled ones."""
    branch: Branch | None = None
    """None for the episode as it goes by itself."""

    @property
    def mode(self) -> str:
        """`greedy` or `sampled`."""
        return "greedy" if self.is_deterministic else "sampled"

    @property
    def folder(self) -> str:
        """Path of its recording below the folder of all recordings of the run."""
        name = f"{self.mode}-seed={self.seed}"
        if self.branch is not None:
            action = zlib.crc32(np.array(self.branch.action, np.float64).tobytes())
            name += f"-step={self.branch.step}-action={action:08x}"
        return f"{self.checkpoint}-{self.fingerprint}/{name}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> EpisodeRequest:
        """Rebuild it from `to_dict`, after JSON too."""
        branch = values["branch"]
        if branch is not None:
            branch = Branch(branch["step"], tuple(branch["action"]))
        return cls(**{**values, "branch": branch})


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeRecord:
    """One episode of T steps, from its reset to its end, T + 1 states.

    Row t of an array belongs to the state before step t, and to what was done and paid there. The
    last state has an observation and a value, but no action and no reward.
    """

    request: EpisodeRequest
    timesteps: int
    """How long the policy had been trained."""
    episode_return: float
    """Undiscounted sum of the raw rewards."""
    length: int
    """T, environment steps."""
    end: End
    """`cut`: it was not over after as many steps as the inspector records."""
    is_success: bool | None
    """As the environment told, or else whether the return reached the threshold at which the task
    counts as solved; None where nobody can tell."""
    fps: float
    """Frames per second of its pictures, or the pace of a walk through its numbers."""
    frame_size: tuple[int, int] | None
    """(width, height) of its pictures in pixels; None without pictures."""
    view: dict[str, Any] | None
    """How the pictures that the network sees are laid out; see `ObservationReader.view`."""
    observation: dict[str, Any]
    """What the numbers of an observation are called; see `ObservationReader.describe`."""
    actions: dict[str, Any]
    """What can be chosen and what it is called; see `describe_actions`."""
    notes: tuple[str, ...]
    """What a person should know about this recording, one line each."""
    traces: dict[str, np.ndarray]
    """By name: `action` (T, K) as chosen, `reward` (T,) raw, `learner_reward` (T,) as the learner
    would be paid, `observation` (T + 1, D), `digest` (T + 1,) checksums of whole observations,
    `mask` (T + 1, n) with action masks, `advantage` (T,) with a critic, and (T + 1, ...) all that
    the policy explains of itself, NaN in the last row but for `value`."""

    def facts(self) -> dict[str, Any]:
        """Return all but the arrays as JSON holds it."""
        values = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in ("traces", "request")
        }
        return values | {"request": self.request.to_dict()}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], traces: dict[str, np.ndarray]) -> EpisodeRecord:
        """Rebuild a record from `facts`, after JSON too, and its arrays."""
        size = facts["frame_size"]
        changes = {
            "request": EpisodeRequest.from_dict(facts["request"]),
            "frame_size": None if size is None else tuple(size),
            "notes": tuple(facts["notes"]),
            "traces": traces,
        }
        return cls(**{**facts, **changes})
