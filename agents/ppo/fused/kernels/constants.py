"""Plain values as compile-time constants of a kernel."""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton import knobs


class KernelConstants:
    """Gives a kernel the attributes of an immutable object, one argument for many constants.

    Pass it for a ``tl.constexpr`` parameter; ``C.name`` is then a constant. Equal objects, which
    have equal `repr`, share one compiled kernel.
    """

    def __init__(self, values: Any) -> None:
        """Wrap `values`; its attributes are integers and booleans."""
        self._values = values

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._values, name)
        if knobs.runtime.interpret:
            return value
        if isinstance(value, tuple):
            return tl.tuple([tl.constexpr(item) for item in value])
        return tl.constexpr(value)

    def __repr__(self) -> str:
        return repr(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KernelConstants) and self._values == other._values

    def __hash__(self) -> int:
        return hash(self._values)
