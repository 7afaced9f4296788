"""A picture of a bandit problem: what each arm pays, what was seen of it, how often."""

from __future__ import annotations

import numpy as np

from gym_envs.bandits.table import BanditTable

_HEIGHT, _ARM_WIDTH, _GAP = 240, 32, 8
_BARS_HEIGHT = 190  # pixels for the means; the rest shows how often the arms were pulled
_GAUSSIAN_REACH = 3.0  # standard deviations of the means that fit
_WHITE, _GRAY, _DARK = (255, 255, 255), (214, 218, 224), (60, 64, 72)
_BEST, _SEEN, _PULLS, _LAST = (120, 190, 120), (40, 90, 180), (230, 150, 60), (200, 60, 60)


def draw_picture(table: BanditTable, row: int = 0) -> np.ndarray:
    """Draw the arms of the present context.

    A gray bar is an arm's true mean, green where it is the best; the blue line is the mean of
    what it has paid, if it was pulled; orange below is its share of the pulls; the red cap marks
    the last pull.

    Args:
        table: The problems.
        row: Which of them.

    Returns:
        (240, W, 3) uint8; W grows with the number of arms, and is even.
    """
    settings = table.settings
    means = table.means[row, table.context[row]]
    low, high = _value_range(table)
    counts, seen = (part[row] for part in table.record.in_context(table.context))
    share = counts / max(float(counts.sum()), 1.0)
    width = settings.n_arms * (_ARM_WIDTH + _GAP) + _GAP
    frame = np.full((_HEIGHT, width, 3), _WHITE, dtype=np.uint8)
    zero = _to_line(0.0, low, high)
    for arm in range(settings.n_arms):
        left = _GAP + arm * (_ARM_WIDTH + _GAP)
        columns = slice(left, left + _ARM_WIDTH)
        top, bottom = sorted((_to_line(means[arm], low, high), zero))
        frame[top : bottom + 1, columns] = _BEST if means[arm] >= means.max() else _GRAY
        if counts[arm] > 0:
            line = _to_line(seen[arm], low, high)
            frame[max(line - 1, 0) : line + 2, columns] = _SEEN
        pulls = round(share[arm] * (_HEIGHT - _BARS_HEIGHT - 10))
        frame[_HEIGHT - pulls :, columns] = _PULLS
        if table.last_arm[row] == arm:
            frame[:4, columns] = _LAST
    frame[zero] = _DARK
    return frame


def _value_range(table: BanditTable) -> tuple[float, float]:
    settings = table.settings
    if settings.rewards == "bernoulli":
        return 0.0, 1.0
    spread = np.sqrt(settings.mean_std**2 + settings.horizon * settings.drift_std**2)
    reach = _GAUSSIAN_REACH * max(float(spread), settings.noise_std)
    return -reach, reach


def _to_line(value: float, low: float, high: float) -> int:
    """Return the pixel line of a value; line 10 is the highest one."""
    fraction = min(max((float(value) - low) / (high - low), 0.0), 1.0)
    return 10 + round((1.0 - fraction) * (_BARS_HEIGHT - 10))
