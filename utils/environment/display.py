"""Whether this machine shows windows, and how pictures are drawn where it does not."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, MutableMapping


def has_display(environ: Mapping[str, str] = os.environ, *, platform: str = sys.platform) -> bool:
    """Say whether a window would be seen.

    Without a display SDL draws into memory and reports success, so this cannot be tried out.
    """
    if platform in ("darwin", "win32"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def draw_into_memory(environ: MutableMapping[str, str] = os.environ) -> None:
    """Let SDL draw without a display, where there is none: it would look for one and complain."""
    if not has_display(environ):
        environ.setdefault("SDL_VIDEODRIVER", "dummy")
