"""What the player in the browser gets: one JSON value with everything about one or two episodes."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from utils.inspection.media import MediaShelf
from utils.inspection.store import StoredEpisode

_NOT_SENT = ("digest",)


def player_value(
    episodes: Sequence[StoredEpisode],
    names: Sequence[str],
    *,
    run_id: str,
    media: MediaShelf,
    dreams: dict[str, Any] | None = None,
    plans: dict[str, Any] | None = None,
    samples: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the value of the player.

    Args:
        episodes: One, or two that are shown side by side.
        names: What each is called.
        run_id: The run that they belong to.
        media: Serves their films.
        dreams: What can be dreamt in that run; None where its agent has no world model.
        plans: What plans there are in that run; None where its agent does not plan.
        samples: What can be drawn in that run; None where its agent draws no sequences.
    """
    assert len(episodes) == len(names), (len(episodes), names)
    first = episodes[0].record
    branch = episodes[-1].record.request.branch
    return {
        "run": run_id,
        "fps": first.fps,
        "actions": first.actions,
        "observation": first.observation,
        "dreams": dreams,
        "plans": plans,
        "samples": samples,
        "branch_step": None if branch is None else branch.step,
        "episodes": [
            _episode(episode, name, media) for episode, name in zip(episodes, names, strict=True)
        ],
    }


def _episode(episode: StoredEpisode, name: str, media: MediaShelf) -> dict[str, Any]:
    record = episode.record
    traces = {key: array for key, array in record.traces.items() if key not in _NOT_SENT}
    if np.array_equal(traces.get("learner_reward", ()), traces["reward"]):
        del traces["learner_reward"]
    return {
        "name": name,
        "request": record.request.to_dict(),
        "return": record.episode_return,
        "length": record.length,
        "end": record.end,
        "is_success": record.is_success,
        "notes": list(record.notes),
        "film": media.url(episode.film),
        "frame_size": record.frame_size,
        "view_film": media.url(episode.view_film),
        "view": record.view,
        "traces": {key: encode_array(array) for key, array in traces.items()},
    }


def encode_array(array: np.ndarray) -> dict[str, Any]:
    """Return an array as JSON holds it: its width and base64 of little-endian float32 rows.

    Args:
        array: (T,) or (T, K) of any number type.

    Returns:
        `width` K (1 for (T,)) and `data`.
    """
    assert array.ndim in (1, 2), array.shape
    data = np.ascontiguousarray(array, dtype="<f4")
    return {
        "width": 1 if array.ndim == 1 else array.shape[1],
        "data": base64.b64encode(data.tobytes()).decode("ascii"),
    }
