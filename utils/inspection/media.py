"""Films that pages may load: only those that were handed to one, by names nobody guesses."""

from __future__ import annotations

import secrets
import threading
from pathlib import Path

MEDIA_PATH = "/media"


class MediaShelf:
    """Hands out URLs for single files; no other file of a run can be asked for."""

    def __init__(self) -> None:
        """Start with nothing to serve."""
        self._lock = threading.Lock()
        self._paths: dict[str, Path] = {}
        self._names: dict[Path, str] = {}

    def url(self, path: Path | None) -> str | None:
        """Return the URL of a film from now on; None for no film."""
        if path is None:
            return None
        with self._lock:
            if path not in self._names:
                name = f"{secrets.token_urlsafe(12)}.mp4"
                self._names[path], self._paths[name] = name, path
            return f"{MEDIA_PATH}/{self._names[path]}"

    def find(self, name: str) -> Path | None:
        """Return the film of the last part of a URL; None where it was never handed out."""
        return self._paths.get(name)
