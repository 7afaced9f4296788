import math

import pytest

from utils.loggers.progress import Progress, ProgressMeter, locate
from utils.phases import PhaseSpec

COLLECT = PhaseSpec(name="collect", type="online", hooks=("collect",), duration=16_000)
SEE = PhaseSpec(name="see", type="offline", hooks=("update",), duration=600, unit="updates")
JUDGE = PhaseSpec(name="judge", type="eval_only", hooks=("evaluate",), duration=4, unit="cycles")
LEARN = PhaseSpec(name="learn", type="online", hooks=("collect", "update"))


def test_a_run_is_located_in_its_phases():
    phases = [COLLECT, SEE, JUDGE]
    for phases_done, name, done, fraction in (
        (0.0, "collect", 0, 0.0),
        (0.25, "collect", 4_000, 0.25 / 3),
        (1.0, "see", 0, 1 / 3),
        (1.5, "see", 300, 0.5),
        (3.0, "judge", 4, 1.0),
    ):
        found = locate(phases, phases_done)
        assert (found.name, found.done) == (name, done)
        assert found.fraction == pytest.approx(fraction)


@pytest.mark.parametrize(
    ("phases", "phases_done"),
    [([], 0.5), ([COLLECT], 0.5), ([COLLECT, SEE, LEARN], 1.5), ([COLLECT, SEE], math.nan)],
)
def test_timesteps_tell_how_far_a_run_is_that_ends_with_them(phases, phases_done):
    assert locate(phases, phases_done) is None


def test_speed_and_time_left_are_of_what_the_phase_counts():
    now = [0.0]
    meter = ProgressMeter(max_timesteps=16_000, clock=lambda: now[0], phases=[COLLECT, SEE, JUDGE])

    def look(timesteps, phases_done):
        now[0] += 2.0
        hint = 16_000.0 if timesteps < 16_000 else 0.0
        progress = meter.look(
            epoch=1, timesteps=timesteps, speed_hint=hint, elapsed_hint=math.nan,
            phases_done=phases_done,
        )  # fmt: skip
        return progress.amount_text(), progress.speed_text(), progress.left_text()

    amount = "phase 1/3 collect  8,000/16,000 steps"
    assert look(8_000, 0.5) == (amount, "16,000 steps/s", "left in phase 0:01")
    # What was measured was another phase.
    assert look(16_000, 1.0) == ("phase 2/3 see  0/600 updates", "", "")
    # 200 updates in 2 seconds; 400 are left.
    amount = "phase 2/3 see  200/600 updates"
    assert look(16_000, 1.0 + 1 / 3) == (amount, "100 updates/s", "left in phase 0:04")
    assert look(16_000, 2.0) == ("phase 3/3 judge  0/4 cycles", "", "")
    assert look(16_000, 2.75) == ("phase 3/3 judge  3/4 cycles", "1.5 cycles/s", "left 0:01")


def test_without_phases_the_budget_is_told():
    progress = Progress(1, 400, 1_000, 200.0, 2.0)
    assert progress.fraction == 0.4
    texts = (progress.amount_text(of=" / "), progress.speed_text(), progress.left_text())
    assert texts == ("400 / 1,000 steps", "200 steps/s", "left 0:03")
