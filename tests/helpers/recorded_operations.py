"""Operations recorded once and carried out again with the same memory, as a graph of a GPU does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

READS_A_NUMBER = ("_local_scalar_dense", "nonzero", "is_nonzero", "equal")
"""Operations for which the host would wait."""


class RecordedOperations(TorchDispatchMode):
    """Notes every operation; `replay` does them again.

    What was a number of the host when it was recorded is one for ever; what is read from tensors is
    read anew. Results go where they went the first time.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__()
        self._calls: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self._calls.append((func, args, kwargs or {}, result))
        return result

    def names(self) -> list[str]:
        """Return what was done, in order."""
        return [func.overloadpacket.__name__ for func, *_ in self._calls]

    def brought_numbers(self) -> list[str]:
        """Return the operations that would bring a number from the host to a GPU.

        That is what assigning a number by indices does; no graph can hold it.
        """
        return [
            name
            for (_, args, _, _), name in zip(self._calls, self.names(), strict=True)
            if name in ("index_put", "index_put_") and args[2].dim() == 0
        ]

    def launched(self) -> list[str]:
        """Return what computes something, in order, rather than looks at or asks for memory."""
        return [
            name
            for (func, *_), name in zip(self._calls, self.names(), strict=True)
            if not (_is_view(func) or name.startswith(("empty", "new_empty", "_record_function")))
            and name not in ("scalar_tensor", "detach", "_unsafe_view")
        ]

    def n_launches(self) -> int:
        """Return how many operations compute something."""
        return len(self.launched())

    def replay(self) -> None:
        """Do all of it again."""
        with torch.no_grad():
            for func, args, kwargs, before in self._calls:
                if _is_view(func):
                    continue
                now = func(*args, **kwargs)
                if not any(r.alias_info for r in func._schema.returns):
                    for old, new in zip(tree_leaves(before), tree_leaves(now), strict=True):
                        if isinstance(old, torch.Tensor):
                            old.copy_(new)


def _is_view(func: Any) -> bool:
    return any(r.alias_info and not r.alias_info.is_write for r in func._schema.returns)


@contextmanager
def recorded() -> Iterator[RecordedOperations]:
    """Record what is done in here."""
    with RecordedOperations() as operations:
        yield operations
