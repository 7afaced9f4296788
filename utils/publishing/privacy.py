"""What must not leave this machine: paths of a home folder, tokens and keys."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from utils.errors import UserError

_BEGINS = r"(?<![\w.~/-])"
_HOMES = re.compile(_BEGINS + r"(?:(?:/home|/Users)/[^/\s\"']+|[A-Za-z]:\\Users\\[^\\\s\"']+)")
_SECRET_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY")
_SECRETS = re.compile(rb"\bhf_[A-Za-z0-9]{20,}\b")
_SHORTEST_SECRET = 8
"""Shorter texts, such as the `x` of a local server, occur by chance."""


class PrivateContentError(UserError):
    """A file that is to be published holds something private."""


def without_home(settings: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Replace every home folder in settings by `~`.

    Args:
        settings: JSON values.

    Returns:
        The settings, and the dotted keys of those that were changed.
    """
    changed: list[str] = []
    cleaned = _clean(dict(settings), "", changed)
    return cleaned, changed


def check_content(name: str, content: bytes, *, token: str | None) -> None:
    """Refuse a file that holds a home folder, a token or a key.

    Args:
        name: Of the file, for the message.
        content: The whole file.
        token: What opens the Hub, if it is known.

    Raises:
        PrivateContentError: It says what kind of thing was found, never the thing itself.
    """
    secrets = [os.environ.get(variable) for variable in _SECRET_VARIABLES] + [token]
    known = [secret for secret in secrets if secret and len(secret) >= _SHORTEST_SECRET]
    if any(secret.encode() in content for secret in known) or _SECRETS.search(content):
        raise PrivateContentError(f"{name} would hold a token or a key: nothing was published")
    if _homes().search(content.decode("utf-8", errors="ignore")):
        raise PrivateContentError(
            f"{name} would hold a path of this machine: nothing was published"
        )


def _clean(value: Any, place: str, changed: list[str]) -> Any:
    match value:
        case dict():
            return {
                key: _clean(item, f"{place}.{key}" if place else str(key), changed)
                for key, item in value.items()
            }
        case list() | tuple():
            return [_clean(item, f"{place}.{k}", changed) for k, item in enumerate(value)]
        case str():
            cleaned = _homes().sub("~", value)
            if cleaned != value:
                changed.append(place)
            return cleaned
    return value


def _homes() -> re.Pattern[str]:
    """Return what finds home folders, this person's among them unless it is the root."""
    home = Path.home()
    if len(home.parts) < 2:
        return _HOMES
    return re.compile(rf"{_HOMES.pattern}|{_BEGINS}{re.escape(str(home))}(?![\w.-])")
