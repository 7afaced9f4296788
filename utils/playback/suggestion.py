"""What the policy thinks of a state, as rows of text and bars."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import gymnasium as gym
import numpy as np
from torch import Tensor

from utils.playback.key_maps import KeyMap
from utils.playback.view import PanelRow


def suggestion_rows(
    thoughts: Mapping[str, Tensor],
    action: np.ndarray,
    *,
    space: gym.Space,
    key_map: KeyMap,
    mask: np.ndarray | None,
) -> tuple[PanelRow, ...]:
    """Return a row for each choice, value, bit or entry of an action.

    Args:
        thoughts: What the policy's `explain` says of one state; rows of one.
        action: What the policy would do, counting from 0 or unclipped.
        space: Of one environment.
        key_map: Its labels and keys.
        mask: (n,) bool, what is allowed; None allows everything.
    """
    n_rows = len(key_map.labels)
    fractions, numbers = _measures(thoughts, action, space, n_rows)
    chosen = _chosen_rows(action, space)
    allowed = np.ones(n_rows, bool) if mask is None else mask
    return tuple(
        PanelRow(
            keys=key_map.keys[k],
            label=key_map.labels[k],
            fraction=fractions[k],
            number=numbers[k],
            is_suggested=k in chosen,
            is_forbidden=not allowed[k],
        )
        for k in range(n_rows)
    )


def describe_thoughts(thoughts: Mapping[str, Tensor]) -> str:
    """Return value and entropy of one state, as far as the policy has them."""
    names = [name for name in ("value", "entropy") if name in thoughts]
    return "   ".join(f"{name} {float(thoughts[name][0]):,.2f}" for name in names)


def _measures(
    thoughts: Mapping[str, Tensor], action: np.ndarray, space: gym.Space, n_rows: int
) -> tuple[list[float | None], list[str]]:
    """Return the length of each row's bar and the number beside it."""
    if isinstance(space, gym.spaces.Box):
        low, high = np.ravel(space.low), np.ravel(space.high)
        values = np.clip(np.ravel(action), low, high)
        has_bounds = np.isfinite(low) & np.isfinite(high)
        return [
            float((value - a) / (b - a)) if bounded else None
            for value, a, b, bounded in zip(values, low, high, has_bounds, strict=True)
        ], [f"{value:+.2f}" for value in values]
    if "action_probabilities" in thoughts:
        shares = thoughts["action_probabilities"][0].tolist()
        return shares, [f"{share:.2f}" for share in shares]
    if "q_values" in thoughts:
        values = thoughts["q_values"][0].cpu().numpy()
        is_known = np.isfinite(values)  # what a mask forbids has none
        low = values[is_known].min()
        width = max(float(np.ptp(values[is_known])), 1e-9)
        shares = np.where(is_known, (values - low) / width, 0.0)
        return shares.tolist(), [
            f"{v:.2f}" if k else "" for v, k in zip(values, is_known, strict=True)
        ]
    return [None] * n_rows, [""] * n_rows


def _chosen_rows(action: np.ndarray, space: gym.Space) -> set[int]:
    match space:
        case gym.spaces.Discrete():
            return {int(action)}
        case gym.spaces.MultiDiscrete():
            bounds = pairwise(np.concatenate([[0], np.cumsum(space.nvec)]).tolist())
            return {a + int(value) for (a, _), value in zip(bounds, action, strict=True)}
        case gym.spaces.MultiBinary():
            return set(np.flatnonzero(action).tolist())
    return set()
