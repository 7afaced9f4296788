"""What a buffer of transitions holds, and its size, before anything is allocated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from utils.buffers.ring_layout import RingLayout
from utils.spaces import space_to_dict

_CHEAP_BYTES = 16 * 2**20
_STEPS_PER_FINAL = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class TransitionLayout(RingLayout):
    """Sizes and kinds of a buffer's arrays; its capacity counts transitions."""

    n_finals: int | None = None
    """Final observations that are kept beside the others. Should more episodes end within the
    capacity, the oldest transitions go early, and a warning says so. None for as many as there can
    be, where that makes no more than 16 MiB in all, else one for twenty transitions."""

    @property
    def n_final_slots(self) -> int:
        """Places for final observations."""
        if self.n_finals is not None:
            return max(self.n_finals, self.n_envs)
        most = self.n_kept * self.n_envs
        if self._bytes(most) <= _CHEAP_BYTES:
            return most
        return max(-(-most // _STEPS_PER_FINAL), self.n_envs)

    @property
    def n_bytes(self) -> int:
        """Declared size: what the arrays take once all of them are full."""
        return self._bytes(self.n_final_slots)

    def _bytes(self, n_finals: int) -> int:
        reward_and_ending = 4 + 4
        step_of_final = 8
        return (
            self.n_slots * (self.frame_bytes + self.action_bytes + reward_and_ending)
            + n_finals * (self.frame_bytes + step_of_final)
            + self.tree_bytes
        )

    def describe(self) -> dict[str, Any]:
        """Return what two buffers must share for one to load the other, as JSON."""
        return {
            "kind": "transitions",
            "n_steps": self.n_kept,
            "n_envs": self.n_envs,
            "observation_space": space_to_dict(self.observation_space),
            "action_space": space_to_dict(self.action_space),
            "frame_stack": self.frame_stack,
            "n_finals": self.n_final_slots,
            "is_prioritized": self.priorities is not None,
        }
