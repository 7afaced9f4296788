"""Finds operations that would make Python wait for a device, on the CPU."""

from __future__ import annotations

from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

_WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "equal")


class RefuseReading(TorchDispatchMode):
    """While it is active, values that Python reads and shapes that depend on data are refused."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func.overloadpacket.__name__
        assert name not in _WAITING, name
        return func(*args, **(kwargs or {}))
