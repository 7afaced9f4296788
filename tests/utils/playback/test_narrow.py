import pytest

from utils.playback.human import HINT
from utils.playback.live import WATCH_HINT
from utils.playback.narrow import fit_parts

CAPTION = "episode 1/2  step 64  return 64.00  push left"


@pytest.mark.parametrize(
    ("columns", "fitted"),
    [
        (80, CAPTION),
        (40, "episode 1/2  step 64  return 64.00"),
        (33, "episode 1/2  step 64"),
        (11, "episode 1/2"),
        (4, "epis"),
    ],
)
def test_parts_are_left_out_whole_from_the_end(columns, fitted):
    assert fit_parts(CAPTION, columns) == fitted


@pytest.mark.parametrize(("hint", "leaves"), [(WATCH_HINT, "q quit"), (HINT, "esc quit")])
@pytest.mark.parametrize("columns", [80, 60, 40, 20, 8])
def test_the_key_that_leaves_is_always_told(hint, leaves, columns):
    fitted = fit_parts(hint, columns, keeps_last=True)
    assert fitted.endswith(leaves)
    assert len(fitted) <= columns


def test_of_a_last_part_that_is_too_long_the_beginning_stays():
    assert fit_parts("a  bcdefgh", 3, keeps_last=True) == "bcd"
