"""Read a checkpoint: safe mode, on the CPU, or one clear error."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any

from utils.checkpoints.plain_state import from_plain
from utils.checkpoints.pointers import follow
from utils.checkpoints.weights import WEIGHTS_SUFFIX, load_weights
from utils.errors import CheckpointError

_ACTING_PARTS = ("policy", "spaces", "counters")


def load_checkpoint(path: Path | str) -> dict[str, Any]:
    """Load the state that `save_checkpoint` wrote, or its acting part from safetensors.

    Args:
        path: A checkpoint, or a link or pointer file (`best.ckpt`, `last.ckpt`) to one; or a
            published policy (`model.safetensors`), of which only what acts can be told.

    Returns:
        The state. Every tensor is on the CPU, whatever device it was on when it was saved.

    Raises:
        CheckpointError: The file is missing, cut short, damaged, or holds more than plain
            containers and tensors (which could run code when it is loaded).
    """
    import torch

    if Path(path).suffix == WEIGHTS_SUFFIX:
        return load_weights(Path(path))
    target = follow(Path(path))
    _check_whole(target)
    try:
        plain = torch.load(target, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"checkpoint '{target}' is damaged or holds more than plain values and tensors; "
            "it was not loaded"
        ) from error
    except (RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        raise CheckpointError(f"checkpoint '{target}' is damaged: {_first_line(error)}") from error
    if not isinstance(plain, dict):
        raise CheckpointError(f"checkpoint '{target}' was not written by this program")
    state: dict[str, Any] = from_plain(plain)
    return state


def load_acting_state(path: Path | str) -> dict[str, Any]:
    """Load a state that a policy can be made of; see `load_checkpoint`.

    Returns:
        The state with at least `policy`, `spaces` and `counters`.

    Raises:
        CheckpointError: See `load_checkpoint`; or the file holds something else than an agent.
    """
    state = load_checkpoint(path)
    missing = [name for name in _ACTING_PARTS if not isinstance(state.get(name), dict)]
    if missing:
        raise CheckpointError(
            f"checkpoint '{path}' was not written by this program: "
            f"it has no {' and no '.join(missing)}"
        )
    return state


def is_whole_checkpoint(path: Path) -> bool:
    """Say whether `path` is a file that was written to its end; reads only its last bytes."""
    return path.is_file() and zipfile.is_zipfile(path)


def _check_whole(path: Path) -> None:
    """Refuse a cut or damaged archive: torch itself does not compare the checksums."""
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
    except (zipfile.BadZipFile, EOFError) as error:
        raise CheckpointError(
            f"checkpoint '{path}' is cut short or not a checkpoint ({path.stat().st_size} bytes)"
        ) from error
    except OSError as error:
        raise CheckpointError(f"checkpoint '{path}' cannot be read: {error.strerror}") from error
    if damaged is not None:
        raise CheckpointError(f"checkpoint '{path}' is damaged (part '{damaged}')")


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
