"""What holds for settings that nobody chose, where a version or a size decides it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from utils.config.schema import Config

Fill = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def implied_settings(
    config: Config, fill: Fill, *, by: tuple[str, ...], sizes: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the defaults of a config whose shape has a named size; see `Config`.

    Args:
        config: With `policy_kwargs.size`.
        fill: Writes out what settings leave open; it may add what settings hold already.
        by: The settings that `fill` decides by.
        sizes: What each size sets in `policy_kwargs`.
    """
    size = config.policy_kwargs.size  # type: ignore[attr-defined]
    fields = type(config.policy_kwargs).model_fields
    # A size that a config names comes before the shape of a version; the default does not.
    named = {} if size == fields["size"].default else {"size": size}
    filled = fill({**{key: getattr(config, key) for key in by}, "policy_kwargs": named})
    kwargs = {**sizes[size], **filled["policy_kwargs"]}
    kwargs.pop("size", None)
    return {key: value for key, value in filled.items() if key not in by} | {
        "policy_kwargs": kwargs
    }
