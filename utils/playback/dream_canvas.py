"""What a film of dreams shows: pictures in a row, and below them lines with a cursor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"real": "#8a8f98", "reconstructed": "#2f6db3", "dreamt": "#e07b28"}
_WIDTH = 960
_PICTURE_HEIGHT = 220
_CHART_HEIGHT = 128
_TITLE_HEIGHT = 26
_DPI = 100
_CURSOR = np.array([20, 20, 20], np.uint8)


@dataclass(frozen=True, slots=True)
class DreamChart:
    """One chart: a title, and lines over the steps by the name of what they show."""

    title: str
    lines: Mapping[str, np.ndarray]
    """(T + 1,) each, NaN where there is none; the names are those of `COLOURS`."""


class DreamCanvas:
    """Frames of one size: a background that is drawn once, pictures and cursors upon it."""

    def __init__(
        self, titles: Sequence[str], charts: Sequence[DreamChart], *, starts: Sequence[int]
    ) -> None:
        """Draw the background.

        Args:
            titles: Of the pictures, left to right.
            charts: Two in a row.
            starts: Steps at which a dream begins.
        """
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        top = _PICTURE_HEIGHT + 2 * _TITLE_HEIGHT if titles else _TITLE_HEIGHT
        n_rows = -(-len(charts) // 2)
        height = top + n_rows * _CHART_HEIGHT + 8
        height += height % 2
        figure = Figure(figsize=(_WIDTH / _DPI, height / _DPI), dpi=_DPI, facecolor="white")
        canvas = FigureCanvasAgg(figure)
        self._slots = []
        for k, title in enumerate(titles):
            left = int(_WIDTH * k / len(titles))
            self._slots.append((left + 8, _TITLE_HEIGHT, _WIDTH // len(titles) - 16))
            colour = COLOURS.get(title.split(" ")[0], "#222222")
            figure.text((left + 8) / _WIDTH, 1 - 18 / height, title, fontsize=9, color=colour)
        for x, name in zip((8, 60, 170), COLOURS, strict=True):
            y = 1 - (top - 6) / height
            figure.text(x / _WIDTH, y, f"\u2014 {name}", fontsize=8, color=COLOURS[name])
        axes = []
        for k, chart in enumerate(charts):
            row, column = divmod(k, 2)
            bottom = height - top - (row + 1) * _CHART_HEIGHT + 24
            place = (column * 0.5 + 0.055, bottom / height, 0.43, (_CHART_HEIGHT - 48) / height)
            axes.append(figure.add_axes(place))
            _draw(axes[-1], chart, starts)
        canvas.draw()
        self._background = np.asarray(canvas.buffer_rgba())[..., :3].copy()
        self._areas = [_area(each, height) for each in axes]

    def frame(self, step: int, pictures: Sequence[np.ndarray]) -> np.ndarray:
        """Return one frame, (H, W, 3) uint8.

        Args:
            step: Where the cursor stands.
            pictures: (h, w, 3) uint8, one for each title.
        """
        frame = self._background.copy()
        for (left, top, width), picture in zip(self._slots, pictures, strict=True):
            fitted = _fit(picture, width, _PICTURE_HEIGHT)
            frame[top : top + fitted.shape[0], left : left + fitted.shape[1]] = fitted
        for (x0, per_step), (low, high) in self._areas:
            x = round(x0 + per_step * step)
            frame[low:high, x : x + 2] = _CURSOR
        return frame


def _draw(axes: Axes, chart: DreamChart, starts: Sequence[int]) -> None:
    for name, values in chart.lines.items():
        style = "--" if name == "dreamt" else "-"
        axes.plot(values, style, color=COLOURS[name], lw=1.2)
    for start in starts:
        axes.axvline(start, color="#c4c8ce", lw=0.7, ls=":", zorder=0)
    axes.set_title(chart.title, fontsize=8, loc="left", color="#222222", pad=3)
    axes.tick_params(labelsize=7, colors="#444444", length=2)
    axes.margins(x=0.0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _area(axes: Axes, height: int) -> tuple[tuple[float, float], tuple[int, int]]:
    """Return where step 0 lies and how far it is to the next one, and the rows of a chart."""
    x0, x1 = (float(axes.transData.transform((step, 0.0))[0]) for step in (0, 1))
    box = axes.get_window_extent()
    return (x0, x1 - x0), (height - int(box.y1), height - int(box.y0))


def _fit(picture: np.ndarray, width: int, height: int) -> np.ndarray:
    """Return a picture scaled to fit, each pixel a rectangle."""
    scale = min(width / picture.shape[1], height / picture.shape[0])
    rows = (np.arange(int(picture.shape[0] * scale)) / scale).astype(int)
    columns = (np.arange(int(picture.shape[1] * scale)) / scale).astype(int)
    return picture[rows.clip(0, picture.shape[0] - 1)][:, columns.clip(0, picture.shape[1] - 1)]
