"""The part of a checkpoint that acts, as safetensors: tensors and text, nothing that could run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from utils.errors import CheckpointError, MissingDependencyError

WEIGHTS_SUFFIX = ".safetensors"
FORMAT = "gymnasium-solver policy"
FORMAT_VERSION = 1

_TEXTS = ("spaces", "counters")
"""Parts of a state that stand in the head of the file, as JSON."""

_NEEDED_FOR = "a policy in safetensors form"


def weights_content(state: Mapping[str, Any]) -> bytes:
    """Return the acting part of a checkpoint's state as a file of safetensors.

    It holds the weights and the normaliser's statistics as tensors and, as text in its head, the
    spaces that they were made for and the counters. Equal states give equal bytes.

    Args:
        state: Of a checkpoint; its `policy`, `spaces` and `counters` are kept.

    Raises:
        MissingDependencyError: safetensors is not installed.
    """
    safetensors_torch = _import_safetensors()
    import torch

    # Tensors that share memory or have gaps are refused, so each gets a copy of its own.
    tensors = {
        name: value.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, value in state["policy"].items()
    }
    head = {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
    } | {name: json.dumps(state[name]) for name in _TEXTS}
    return _order_head(safetensors_torch.save(tensors, metadata=head))


def load_weights(path: Path) -> dict[str, Any]:
    """Load what `weights_content` wrote.

    Returns:
        `policy`, `spaces` and `counters` as a checkpoint has them, tensors on the CPU.

    Raises:
        CheckpointError: The file is missing, damaged, or not of this program.
        MissingDependencyError: safetensors is not installed.
    """
    _import_safetensors()
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            head = file.metadata() or {}
            policy = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise CheckpointError(f"'{path}' cannot be read: {error.strerror or error}") from error
    except SafetensorError as error:
        raise CheckpointError(f"'{path}' is damaged or not safetensors: {error}") from error
    if head.get("format") != FORMAT:
        raise CheckpointError(f"'{path}' was not written by this program: it names no policy")
    version = head.get("format_version")
    if version != str(FORMAT_VERSION):
        raise CheckpointError(
            f"'{path}' has the format version {version}, this program reads {FORMAT_VERSION}"
        )
    try:
        return {"policy": policy} | {name: json.loads(head[name]) for name in _TEXTS}
    except (KeyError, json.JSONDecodeError) as error:
        raise CheckpointError(f"the head of '{path}' is damaged: {error!r}") from error


def _order_head(content: bytes) -> bytes:
    """Write the head anew: the library puts its texts in an order that changes from call to call.

    A file is the length of its head (8 bytes), the head as JSON, filled up with blanks to a
    multiple of 8, and the tensors, whose places the head counts from its own end.
    """
    end = 8 + int.from_bytes(content[:8], "little")
    head = json.loads(content[8:end])
    texts = head.pop("__metadata__")
    ordered = {"__metadata__": dict(sorted(texts.items())), **head}
    text = json.dumps(ordered, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[end:]


def _import_safetensors() -> Any:
    try:
        import safetensors.torch
    except ImportError as error:
        raise MissingDependencyError("safetensors", extra="hub", needed_for=_NEEDED_FOR) from error
    return safetensors.torch
