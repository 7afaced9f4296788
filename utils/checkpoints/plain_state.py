"""Translate between a nested state and what torch loads in its safe mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ARRAY_MARK = "__ndarray__"


def to_plain(value: Any, *, where: str = "state") -> Any:
    """Return `value` with NumPy arrays and scalars replaced by what the safe mode can load.

    Args:
        value: Nested dicts, lists and tuples of tensors, NumPy arrays, NumPy scalars, numbers,
            strings, bytes, booleans and None.
        where: The place of `value` in the whole state; only used in the message.

    Returns:
        The same nesting. Arrays become marked tensors, `from_plain` turns them back. Tensors are
        detached; a view of a larger storage is copied, because torch would save all of it.

    Raises:
        AssertionError: A value of another type; it names the place.
    """
    import numpy as np
    import torch

    if isinstance(value, torch.Tensor):
        return _own_storage(value.detach())
    if isinstance(value, np.ndarray):
        assert value.dtype.kind in "biuf", f"{where}: array of dtype {value.dtype}"
        array = np.require(value, requirements=["C", "W"])
        return {_ARRAY_MARK: _own_storage(torch.from_numpy(array)).reshape(value.shape)}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {_key(k, where): to_plain(v, where=f"{where}.{k}") for k, v in value.items()}
    if isinstance(value, list | tuple):
        items = (to_plain(item, where=f"{where}[{i}]") for i, item in enumerate(value))
        return tuple(items) if isinstance(value, tuple) else list(items)
    assert value is None or type(value) in (bool, int, float, str, bytes), (
        f"{where}: a checkpoint cannot hold a {type(value).__name__}"
    )
    return value


def from_plain(value: Any) -> Any:
    """Undo `to_plain`: marked tensors become NumPy arrays again."""
    if isinstance(value, dict):
        if value.keys() == {_ARRAY_MARK}:
            return value[_ARRAY_MARK].numpy()
        return {key: from_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = (from_plain(item) for item in value)
        return tuple(items) if isinstance(value, tuple) else list(items)
    return value


def _key(key: Any, where: str) -> str | int:
    assert isinstance(key, str | int), f"{where}: key {key!r} is neither a string nor an integer"
    return key


def _own_storage(tensor: Any) -> Any:
    is_view = tensor.untyped_storage().nbytes() > tensor.numel() * tensor.element_size()
    return tensor.clone() if is_view else tensor
