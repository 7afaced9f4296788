"""A picture of the day so far: cells that glow as F does, the light on them, levels and target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from gym_envs.ccas_ccar.task import MAX_EPISODE_STEPS, STEP_MINUTES, Task

WIDTH, HEIGHT = 720, 480
_SCALE = 2  # drawn larger and reduced: smooth edges
_DISH = (24, 24, 280, 336)  # left, top, right, bottom in pixels of the picture
_LEVELS = (332, 52, 696, 236)
_HIDDEN = (332, 280, 696, 384)
_LIGHTS = (332, 414, 696, 430)

_BACKGROUND, _PANEL, _LINE = (13, 17, 23), (22, 27, 34), (48, 54, 61)
_INK, _FAINT = (230, 237, 243), (139, 148, 158)
_GREEN, _TARGET, _HIDDEN_INK = (63, 224, 120), (255, 200, 87), (121, 160, 255)
_LAMPS = ((255, 72, 72), (72, 235, 120))
_DARK_CELL, _BRIGHT_CELL = np.array([26.0, 44.0, 42.0]), np.array([70.0, 255.0, 120.0])
_FULL_GLOW = 60.0  # molecules at which a cell is as bright as it gets
_N_CELLS = 15
_HOURS = MAX_EPISODE_STEPS * STEP_MINUTES / 60.0

Trace = Sequence[tuple[int, int, int]]


class Painter:
    """Draws one environment's episode."""

    def __init__(self, task: Task) -> None:
        """Load the fonts."""
        self._task = task
        self._small = ImageFont.load_default(12 * _SCALE)
        self._large = ImageFont.load_default(26 * _SCALE)
        self._lamps: dict[int | None, np.ndarray] = {}
        self._placed_by: int | None = None

    def draw(self, trace: Trace, *, seed: int) -> np.ndarray:
        """Return the picture of an episode.

        Args:
            trace: H, F and light of the step that led there, one of each state so far.
            seed: Places the cells; their number and place mean nothing.

        Returns:
            (480, 720, 3) uint8.
        """
        image = Image.new("RGB", (WIDTH * _SCALE, HEIGHT * _SCALE), _BACKGROUND)
        pen = ImageDraw.Draw(image)
        light = trace[-1][2] if len(trace) > 1 else None
        self._draw_dish(image, trace[-1][1], light, seed)
        self._draw_readings(pen, trace, light)
        self._draw_levels(pen, trace)
        self._draw_hidden(pen, trace)
        self._draw_lights(pen, trace)
        return np.asarray(image.resize((WIDTH, HEIGHT), Image.Resampling.BOX))

    def _draw_dish(self, image: Image.Image, level: int, light: int | None, seed: int) -> None:
        left, top, right, bottom = _scaled(_DISH)
        glow = min(level / _FULL_GLOW, 1.0)
        body = tuple((_DARK_CELL + glow * (_BRIGHT_CELL - _DARK_CELL)).astype(int).tolist())
        size = (right - left, bottom - top)
        if seed != self._placed_by:
            self._outlines, self._halo = _place_cells(size, seed)
            self._placed_by = seed
        shine = 0.75 * glow * np.array(body) / 255.0
        cells = Image.fromarray(
            np.minimum(self._lamp(light, size) + self._halo[..., None] * shine, 255.0).astype(
                np.uint8
            )
        )
        pen = ImageDraw.Draw(cells)
        rim = tuple(min(channel + 45, 255) for channel in body)
        for outline in self._outlines:
            pen.polygon(outline, fill=body)
            pen.line([*outline, outline[0]], fill=rim, width=2 * _SCALE, joint="curve")
        mask = Image.new("L", size, 0)
        ImageDraw.Draw(mask).rounded_rectangle((0, 0, size[0] - 1, size[1] - 1), 18 * _SCALE, 255)
        image.paste(cells, (left, top), mask)
        edge = _LINE if light is None else tuple(channel // 2 for channel in _LAMPS[light])
        ImageDraw.Draw(image).rounded_rectangle(
            (left, top, right - 1, bottom - 1), 18 * _SCALE, outline=edge, width=2 * _SCALE
        )

    def _lamp(self, light: int | None, size: tuple[int, int]) -> np.ndarray:
        """Return the dish without cells, in no light or in red or green, (h, w, 3) float32."""
        if light not in self._lamps:
            panel = np.full((size[1], size[0], 3), _PANEL, np.float32)
            if light is not None:
                share = _lamp_share(size)[..., None]
                panel += share * (np.array(_LAMPS[light], np.float32) - panel)
            self._lamps[light] = panel
        return self._lamps[light]

    def _draw_readings(self, pen: ImageDraw.ImageDraw, trace: Trace, light: int | None) -> None:
        hours = (len(trace) - 1) * STEP_MINUTES / 60.0
        target = float(self._task.target_at(max(len(trace) - 2, 0)))
        readings = [
            ("GFP", f"{trace[-1][1]}", _GREEN),
            ("target", f"{target:.0f}", _TARGET),
            ("error", f"{abs(trace[-1][1] - target):.0f}", _INK),
        ]
        for k, (label, text, colour) in enumerate(readings):
            place = ((24 + 90 * k) * _SCALE, 356 * _SCALE)
            pen.text(place, label, _FAINT, font=self._small)
            pen.text((place[0], place[1] + 16 * _SCALE), text, colour, font=self._large)
        lamp = "no light yet" if light is None else f"{'green' if light else 'red'} light"
        clock = f"{int(hours):02d}:{round(hours % 1 * 60):02d} h"
        colour = _FAINT if light is None else _LAMPS[light]
        pen.text((24 * _SCALE, 422 * _SCALE), lamp, colour, font=self._small)
        pen.text((114 * _SCALE, 422 * _SCALE), clock, _FAINT, font=self._small)

    def _draw_levels(self, pen: ImageDraw.ImageDraw, trace: Trace) -> None:
        levels = [f for _, f, _ in trace]
        steps = np.arange(_span(trace))
        target = self._task.target_at(steps)
        top = max(60.0, 1.1 * max(levels), 1.1 * float(target.max()))
        box = self._frame(pen, _LEVELS, top, "GFP, molecules")
        pen.line(_curve(box, target, top, trace), fill=_TARGET, width=2 * _SCALE)
        self._draw_curve(pen, box, levels, top, trace, _GREEN)

    def _draw_hidden(self, pen: ImageDraw.ImageDraw, trace: Trace) -> None:
        levels = [h for h, _, _ in trace]
        top = max(120.0, 1.1 * max(levels))
        box = self._frame(pen, _HIDDEN, top, "CcaS-CcaR, hidden from the policy")
        self._draw_curve(pen, box, levels, top, trace, _HIDDEN_INK)

    def _draw_curve(self, pen, box, levels, top, trace, colour) -> None:
        points = _curve(box, np.array(levels), top, trace)
        if len(points) > 1:
            pen.line(points, fill=colour, width=2 * _SCALE, joint="curve")
        x, y = points[-1]
        radius = 4 * _SCALE
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)

    def _draw_lights(self, pen: ImageDraw.ImageDraw, trace: Trace) -> None:
        left, top, right, bottom = _scaled(_LIGHTS)
        pen.text((left, top - 18 * _SCALE), "light", _FAINT, font=self._small)
        pen.rectangle((left, top, right, bottom), fill=_PANEL)
        step = (right - left) / _span(trace)
        for t, (_, _, light) in enumerate(trace[1:]):
            x = left + t * step
            pen.rectangle((x, top, x + step, bottom), fill=_LAMPS[light])
        for hour in range(0, int(_HOURS) + 1, 6):
            x = left + hour / (_span(trace) * STEP_MINUTES / 60.0) * (right - left)
            if x <= right:
                text = f"{hour} h"
                place = (x, bottom + 6 * _SCALE)
                anchor = "la" if hour == 0 else ("ra" if x > right - 9 * _SCALE else "ma")
                pen.text(place, text, _FAINT, font=self._small, anchor=anchor)

    def _frame(self, pen, place, top, title) -> tuple[int, int, int, int]:
        box = left, upper, right, lower = _scaled(place)
        pen.text((left, upper - 22 * _SCALE), title, _FAINT, font=self._small)
        pen.rectangle(box, fill=_PANEL)
        spacing = 20 if top <= 130 else 100  # few lines enough for their numbers
        for level in range(0, int(top) + 1, spacing):
            y = lower - level / top * (lower - upper)
            pen.line((left, y, right, y), fill=_LINE, width=1)
            pen.text((left - 6 * _SCALE, y), f"{level}", _FAINT, font=self._small, anchor="rm")
        return box


def _scaled(box: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    left, top, right, bottom = (value * _SCALE for value in box)
    return left, top, right, bottom


def _span(trace: Trace) -> int:
    """Return how many steps the time axis shows: a day, or more if the episode is longer."""
    return max(MAX_EPISODE_STEPS, len(trace) - 1)


def _curve(box, values: np.ndarray, top: float, trace: Trace) -> list[tuple[float, float]]:
    left, upper, right, lower = box
    x = left + np.arange(len(values)) / _span(trace) * (right - left)
    y = lower - np.asarray(values) / top * (lower - upper)
    return list(zip(x.tolist(), y.tolist(), strict=True))


def _lamp_share(size: tuple[int, int]) -> np.ndarray:
    """Return how much of the lamp each place shows, most in the upper middle, (h, w) float32."""
    width, height = size
    x = np.linspace(-1.0, 1.0, width, dtype=np.float32)[None, :]
    y = np.linspace(0.0, 1.6, height, dtype=np.float32)[:, None]
    return 0.27 * np.exp(-(x**2 + y**2))


def _place_cells(
    size: tuple[int, int], seed: int
) -> tuple[list[list[tuple[float, float]]], np.ndarray]:
    """Place rods that hardly touch: one in each field of a grid, shaken and turned.

    Returns:
        Their outlines, and the light around them, (h, w) float32 from 0 to 255.
    """
    generator = np.random.default_rng(seed)
    columns, rows = 3, _N_CELLS // 3
    field = np.array([size[0] / columns, size[1] / rows])
    outlines = []
    for k in range(_N_CELLS):
        middle = (np.array([k % columns, k // columns]) + 0.5) * field
        middle += generator.uniform(-0.1, 0.1, 2) * field
        angle = generator.uniform(-0.5, 0.5)
        half_length, radius = field[0] * generator.uniform(0.24, 0.36), field[1] * 0.2
        outlines.append(_rod(middle, angle, half_length, radius))
    halo = Image.new("L", size, 0)
    for outline in outlines:
        ImageDraw.Draw(halo).polygon(outline, fill=255)
    blurred = halo.filter(ImageFilter.GaussianBlur(14 * _SCALE))
    return outlines, np.asarray(blurred, np.float32)


def _rod(middle, angle: float, half_length: float, radius: float) -> list[tuple[float, float]]:
    """Return the outline of a rod with round ends."""
    turn = np.linspace(-np.pi / 2, np.pi / 2, 16)
    x = np.concatenate([half_length - radius + radius * np.cos(turn), 0 * turn])
    x[16:] = -x[:16]
    y = np.concatenate([radius * np.sin(turn), -radius * np.sin(turn)])
    c, s = np.cos(angle), np.sin(angle)
    return list(
        zip((middle[0] + c * x - s * y).tolist(), (middle[1] + s * x + c * y).tolist(), strict=True)
    )
