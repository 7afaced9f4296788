"""Views in a terminal: pictures in half blocks, text beside and below them."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, TextIO

import numpy as np

from utils.loggers.terminal import LiveBlock, Palette, is_ascii_only
from utils.playback.half_blocks import draw_half_blocks, draw_shades, fit_size, shrink
from utils.playback.narrow import fit_parts
from utils.playback.terminal_keys import TerminalKeys
from utils.playback.view import Panel, PanelRow, Tile, View, arrange, count_columns, dim

_ENTER = "\x1b[?1049h\x1b[?25l"  # the second screen of the terminal, without a cursor
_LEAVE = "\x1b[?25h\x1b[?1049l"
_PANEL_COLUMNS = 39
_FEWEST_COLUMNS_BESIDE = 30
_LABEL_COLUMNS, _BAR_COLUMNS = 13, 6


class TerminalDisplay:
    """Draws views on a terminal's second screen and reads its keys."""

    tells_releases = False

    def __init__(
        self,
        stream: TextIO,
        keys: TerminalKeys | None,
        *,
        environ: Mapping[str, str] = os.environ,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Switch to the second screen.

        Args:
            stream: A terminal.
            keys: Of the same terminal; None to show only.
            environ: NO_COLOR draws in ASCII; COLORTERM tells whether it knows 24-bit colours.
            sleep: Waits so many seconds, where there are no keys to wait for.
        """
        self._stream, self._keys, self._sleep = stream, keys, sleep
        self._block = LiveBlock(stream)
        self._has_colours = not environ.get("NO_COLOR") and not is_ascii_only(stream)
        self._is_truecolor = environ.get("COLORTERM", "").lower() in ("truecolor", "24bit")
        self._palette = Palette(is_on=self._has_colours)
        self._handlers: dict[int, Any] = {}
        self._is_open = False
        self._open()
        self._take_signals()

    @property
    def has_keys(self) -> bool:
        """Whether keys can be read."""
        return self._keys is not None

    def draw(self, view: View) -> None:
        """Draw a view over the one before."""
        columns, rows = self._block.size()
        hint = (
            self._palette.paint(fit_parts(view.hint, columns, keeps_last=True), "dim")
            if view.hint
            else ""
        )
        below = [fit_parts(view.caption, columns), *([hint] if hint else [])]
        lines = self._draw_body(view, columns, max(rows - len(below) - 1, 1))
        body = "".join(f"{line}\x1b[K\r\n" for line in (*lines, *below))
        self._stream.write(f"\x1b[H{body}\x1b[J")
        self._stream.flush()

    def read_keys(self, seconds: float) -> list[str]:
        """Return the names of keys that were pressed, waiting at most so long for the first."""
        if self._keys is not None:
            return self._keys.read(seconds)
        if seconds > 0:
            self._sleep(seconds)
        return []

    def held(self) -> tuple[str, ...]:
        """Return the keys that are down as far as a terminal tells, oldest first."""
        return () if self._keys is None else self._keys.held()

    def close(self) -> None:
        """Return to the first screen, which is as it was; a second call does nothing."""
        self._leave()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers.clear()

    def _open(self) -> None:
        if self._keys is not None:
            self._keys.start()
        self._is_open = True
        self._stream.write(_ENTER)
        self._stream.flush()

    def _leave(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        if self._keys is not None:
            self._keys.stop()
        self._stream.write(_LEAVE)
        self._stream.flush()

    def _take_signals(self) -> None:
        """Give the terminal back whole when the process is told to end or to wait."""
        if self._keys is None:
            return
        self._handlers[signal.SIGTERM] = signal.signal(signal.SIGTERM, self._end)
        self._handlers[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, self._suspend)

    def _end(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        sys.exit(128 + number)

    def _suspend(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._leave()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._open()

    def _draw_body(self, view: View, columns: int, rows: int) -> list[str]:
        if view.panel is None:
            return self._draw_tiles(view.tiles, columns, rows)
        left = columns - _PANEL_COLUMNS - 2
        if left < _FEWEST_COLUMNS_BESIDE:
            tiles = self._draw_tiles(view.tiles, columns, rows // 2)
            return [*tiles, *self._draw_panel(view.panel, columns, rows - len(tiles))]
        lines = self._draw_tiles(view.tiles, left, rows)
        width = self._tile_columns(view.tiles, left, rows)
        panel = self._draw_panel(view.panel, _PANEL_COLUMNS, rows)
        n_lines = max(len(lines), len(panel))
        lines += [" " * width] * (n_lines - len(lines))
        panel += [""] * (n_lines - len(panel))
        return [f"{line}  {text}" for line, text in zip(lines, panel, strict=True)]

    def _draw_tiles(self, tiles: tuple[Tile, ...], columns: int, rows: int) -> list[str]:
        n_columns = count_columns(len(tiles))
        height, width = self._tile_size(tiles, columns, rows)
        lines = []
        for row in arrange(tiles):
            cells = [self._draw_tile(tile, height, width) for tile in row]
            cells += [[" " * width] * len(cells[0])] * (n_columns - len(cells))
            lines += [" ".join(parts) for parts in zip(*cells, strict=True)]
        return lines

    def _draw_tile(self, tile: Tile, height: int, width: int) -> list[str]:
        picture = dim(tile.picture) if tile.is_dimmed else tile.picture
        lines = self._draw_pixels(shrink(picture, height, width))
        if tile.caption:
            caption = fit_parts(tile.caption, width).ljust(width)
            lines.append(self._palette.paint(caption, "dim" if tile.is_dimmed else None))
        return lines

    def _tile_size(self, tiles: tuple[Tile, ...], columns: int, rows: int) -> tuple[int, int]:
        """Return height in pixels and width in columns of each tile's picture."""
        n_columns, n_rows = count_columns(len(tiles)), len(arrange(tiles))
        return fit_size(
            *tiles[0].picture.shape[:2],
            columns=max((columns - n_columns + 1) // n_columns, 1),
            rows=max(rows // n_rows - bool(tiles[0].caption), 1),
        )

    def _tile_columns(self, tiles: tuple[Tile, ...], columns: int, rows: int) -> int:
        n_columns = count_columns(len(tiles))
        return (self._tile_size(tiles, columns, rows)[1] + 1) * n_columns - 1

    def _draw_pixels(self, pixels: np.ndarray) -> list[str]:
        if self._has_colours:
            return draw_half_blocks(pixels, is_truecolor=self._is_truecolor)
        return draw_shades(pixels)

    def _draw_panel(self, panel: Panel, columns: int, rows: int) -> list[str]:
        facts = panel.facts[: max(0, rows - 4)]
        shown = panel.fitting(max(0, rows - 2 - len(facts)))
        lines = [self._palette.paint(panel.title[:columns], "bold_cyan")]
        lines += [self._draw_row(row, columns) for row in shown]
        lines += [self._palette.paint(fact[:columns], "dim") for fact in facts]
        return [*lines, self._palette.paint(panel.message[:columns], "bold")]

    def _draw_row(self, row: PanelRow, columns: int) -> str:
        length = 0 if row.fraction is None else round(min(max(row.fraction, 0), 1) * _BAR_COLUMNS)
        bar = ("█" if self._has_colours else "#") * length
        mark = ">" if row.is_suggested else " "
        text = (
            f"{mark}{row.keys[:9]:<9} {row.label[:_LABEL_COLUMNS]:<{_LABEL_COLUMNS}} "
            f"{bar:<{_BAR_COLUMNS}} {row.number[:7]:<7}"
        )
        style = "bold" if row.is_suggested else "dim" if row.is_forbidden else None
        return self._palette.paint(text[:columns], style)
