"""Seeds: separate streams for training, evaluation, testing and video."""

from __future__ import annotations

import random
from typing import Any, Literal

import numpy as np
import torch

Stream = Literal[
    "train",
    "val",
    "test",
    "video",
    "policy",
    "minibatch",
    "play",
    "exploration",
    "publish",
    "replay",
    "learner",
    "demonstrations",
]
_STREAMS: dict[str, int] = {
    "train": 0,
    "val": 1,
    "test": 2,
    "video": 3,
    "policy": 4,
    "minibatch": 5,
    "play": 6,
    "exploration": 7,
    "publish": 8,
    "replay": 9,
    "learner": 10,
    "demonstrations": 11,
}


def derive_seed(seed: int, stream: Stream, index: int = 0) -> int:
    """Derive the seed of one use of randomness from the seed of the run.

    Streams never overlap in practice: each (seed, stream, index) is hashed by
    `numpy.random.SeedSequence`. A vector environment gives its i-th environment this seed plus i.

    Args:
        seed: Seed of the run, >= 0.
        stream: What the randomness is for.
        index: Which use of the stream, for example the number of the evaluation.

    Returns:
        An int in [0, 2**30), so that adding the number of environments stays in 31 bits.
    """
    assert seed >= 0, seed
    words = np.random.SeedSequence([seed, _STREAMS[stream], index]).generate_state(1)
    return int(words[0]) & (2**30 - 1)


def seed_global_generators(seed: int) -> None:
    """Seed Python's, NumPy's and torch's global generators (initial weights draw from torch's)."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - third-party environments may draw from it
    torch.manual_seed(seed)


def global_generator_state() -> dict[str, Any]:
    """Return the state of every global generator as plain containers and tensors."""
    version, words, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state()  # noqa: NPY002
    state: dict[str, Any] = {
        "python": [version, list(words), gauss],
        "numpy": [name, torch.from_numpy(keys.astype(np.int64)), position, has_gauss, cached],
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def set_global_generator_state(state: dict[str, Any]) -> None:
    """Restore what `global_generator_state` returned; CUDA's only where the devices match."""
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    name, keys, position, has_gauss, cached = state["numpy"]
    np.random.set_state(  # noqa: NPY002
        (name, keys.numpy().astype(np.uint32), position, has_gauss, cached)
    )
    torch.set_rng_state(state["torch"])
    if "cuda" in state and torch.cuda.device_count() == len(state["cuda"]):
        torch.cuda.set_rng_state_all(state["cuda"])
