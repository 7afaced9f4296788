"""Which extras of this project a config needs, and which of them are not installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from utils.environment.families.family import is_installed
from utils.environment.families.table import missing_extra

_PACKAGES = {
    "diffusion": ("diffusers",),
    "evolution": ("cma",),
    "image": ("cv2",),
    "minari": ("minari", "h5py", "huggingface_hub"),
}
"""Extra -> the packages that are imported."""


def missing_extras(settings: Mapping[str, Any]) -> list[str]:
    """Return the extras that a config needs and that are not installed.

    Args:
        settings: Of the config, checked or as a file has them.
    """
    of_environment = missing_extra(str(settings.get("env_id", "")))
    found = [] if of_environment is None else [of_environment]
    return found + [extra for extra in _extras_of(settings) if not _has(extra)]


def _extras_of(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a config needs beside its environment."""
    if settings.get("resize_obs") is not None:
        yield "image"
    if settings.get("algo_id") == "diffusion":
        yield "diffusion"
    if settings.get("dataset", "scripted") != "scripted":
        yield "minari"
    phases = settings.get("phases")
    for phase in phases if isinstance(phases, list | tuple) else ():
        if isinstance(phase, Mapping) and "evolve" in (phase.get("hooks") or ()):
            yield "evolution"
            return


def _has(extra: str) -> bool:
    return all(map(is_installed, _PACKAGES[extra]))
