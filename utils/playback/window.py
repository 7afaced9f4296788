"""Views in a window of our own, and its keys."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from utils.playback.canvas import compose, text_strip
from utils.playback.environment import RenderError
from utils.playback.view import View

_NAMES = {"return": "enter", "=": "+", **{f"[{key}]": key for key in "0123456789+-"}}
_SHORTEST_WAIT_SECONDS = 0.002


class WindowDisplay:
    """Draws views in a window and reads its keys; closing it is the key `close`."""

    tells_releases = True
    has_keys = True

    def __init__(self, title: str) -> None:
        """Prepare a window; it opens with the first view, whose size it has.

        Raises:
            RenderError: There is no way to open one.
        """
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            import pygame
        except ImportError as error:
            raise RenderError(
                f"--render window: the package 'pygame' cannot be imported ({error}); install it "
                "with  pip install pygame-ce  or use --render video"
            ) from error
        self._pygame: Any = pygame
        self._title = title
        self._screen: Any = None
        self._size: tuple[int, ...] | None = None
        self._held: dict[str, None] = {}
        try:
            pygame.display.init()
            pygame.key.set_repeat(0)
        except pygame.error as error:
            raise RenderError(
                f"--render window: no window can be opened ({error}); use --render video or "
                "--render terminal"
            ) from error

    def draw(self, view: View) -> None:
        """Show a view in place of the one before."""
        picture = compose(view)
        if view.hint:
            strip = text_strip(view.hint, picture.shape[1], is_faint=True)
            picture = np.concatenate([picture, strip])
        pygame, size = self._pygame, picture.shape[1::-1]
        if self._size != size:
            self._size = size
            self._screen = pygame.display.set_mode(size, pygame.RESIZABLE)
            pygame.display.set_caption(self._title)
        image = pygame.surfarray.make_surface(picture.swapaxes(0, 1))
        area = image.get_rect().fit(self._screen.get_rect())
        if area.size != size:  # the person has resized the window
            self._screen.fill(0)
            image = pygame.transform.scale(image, area.size)
        self._screen.blit(image, area)
        pygame.display.flip()

    def read_keys(self, seconds: float) -> list[str]:
        """Return the names of keys that were pressed, waiting at most so long for the first."""
        pygame = self._pygame
        deadline = time.monotonic() + seconds
        names = self._take(pygame.event.get())
        while not names and (left := deadline - time.monotonic()) > _SHORTEST_WAIT_SECONDS:
            event = pygame.event.wait(max(1, int(left * 1000)))
            names = self._take([event, *pygame.event.get()])
        return names

    def held(self) -> tuple[str, ...]:
        """Return the keys that are down, in the order in which they were pressed."""
        return tuple(self._held)

    def close(self) -> None:
        """Close the window; a second call does nothing."""
        self._screen = None
        self._pygame.display.quit()

    def _take(self, events: list[Any]) -> list[str]:
        pygame, names = self._pygame, []
        for event in events:
            if event.type == pygame.QUIT:
                names.append("close")
            elif event.type == pygame.KEYDOWN:
                name = self._name(event)
                names.append(name)
                self._held.pop(name, None)
                self._held[name] = None
            elif event.type == pygame.KEYUP:
                self._held.pop(self._name(event), None)
            elif event.type == pygame.WINDOWFOCUSLOST:
                self._held.clear()
        return names

    def _name(self, event: Any) -> str:
        name = self._pygame.key.name(event.key)
        return _NAMES.get(name, name)
