from __future__ import annotations

from dataclasses import replace

import pytest

from utils.errors import CheckpointError
from utils.phases import PhaseScheduler, PhaseSpec

FILL = PhaseSpec(name="fill", type="online", hooks=("collect",), duration=100)
POLISH = PhaseSpec(name="polish", type="offline", hooks=("update",), duration=5, unit="updates")
JUDGE = PhaseSpec(name="judge", type="eval_only", hooks=("evaluate",), duration=2, unit="cycles")
LEARN = PhaseSpec(name="learn", type="online", hooks=("collect", "update"))


def test_each_phase_ends_by_its_own_unit() -> None:
    scheduler = PhaseScheduler([FILL, POLISH, JUDGE, LEARN])
    assert scheduler.current is FILL
    assert not scheduler.advance(timesteps=96, updates=50, cycles=50)
    assert scheduler.remaining("timesteps") == 4
    assert scheduler.remaining("updates") is None
    assert scheduler.advance(timesteps=8)  # vector steps are whole: the last ones go beyond
    assert scheduler.current is POLISH
    assert scheduler.done("timesteps") == 0
    assert not scheduler.advance(updates=4, cycles=4)
    assert scheduler.advance(updates=1, cycles=1)
    assert not scheduler.advance(cycles=1)
    assert scheduler.advance(cycles=1)
    assert scheduler.current is LEARN
    assert not scheduler.advance(timesteps=10**9, updates=10**9, cycles=10**9)
    assert not scheduler.is_complete


def test_the_position_counts_phases_and_the_share_of_the_current_one() -> None:
    scheduler = PhaseScheduler([FILL, POLISH])
    seen = [scheduler.position]
    for work in ({"timesteps": 25}, {"timesteps": 96}, {"updates": 4, "cycles": 4}, {"updates": 1}):
        scheduler.advance(**work)
        seen.append(scheduler.position)
    assert seen == [0.0, 0.25, 1.0, 1.8, 2.0]
    endless = PhaseScheduler([LEARN])
    endless.advance(timesteps=50)
    assert endless.position == 0.0


def test_the_last_phase_may_have_an_end() -> None:
    scheduler = PhaseScheduler([FILL])
    assert scheduler.advance(timesteps=100)
    assert scheduler.is_complete
    assert scheduler.current is FILL
    with pytest.raises(AssertionError):
        scheduler.advance(timesteps=1)


def test_phases_that_collect_are_left_for_one_that_does_not() -> None:
    scheduler = PhaseScheduler([FILL, replace(FILL, name="more"), POLISH])
    scheduler.advance(timesteps=8, updates=3, cycles=3)
    assert scheduler.leave_online()
    assert scheduler.current is POLISH
    assert scheduler.remaining("updates") == 5, "nothing is left behind"
    assert not scheduler.leave_online(), "it takes no timesteps itself"
    assert scheduler.current is POLISH


def test_a_phase_that_collects_goes_on_where_no_other_kind_comes() -> None:
    scheduler = PhaseScheduler([POLISH, FILL, replace(FILL, name="more")])
    scheduler.advance(updates=5)
    scheduler.advance(timesteps=8)
    assert not scheduler.leave_online()
    assert (scheduler.current, scheduler.remaining("timesteps")) == (FILL, 92)


def test_a_saved_place_is_gone_on_from() -> None:
    scheduler = PhaseScheduler([FILL, POLISH])
    scheduler.advance(timesteps=100)
    scheduler.advance(updates=3, cycles=3)
    other = PhaseScheduler([FILL, POLISH])
    other.load_state_dict(scheduler.state_dict())
    scheduler.advance(updates=1)  # what was saved is a copy
    assert (other.current, other.remaining("updates")) == (POLISH, 2)


def test_a_place_in_other_phases_is_refused() -> None:
    with pytest.raises(CheckpointError, match="phases fill, and the config has learn"):
        PhaseScheduler([LEARN]).load_state_dict(PhaseScheduler([FILL]).state_dict())
