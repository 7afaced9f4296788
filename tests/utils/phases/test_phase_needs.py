from __future__ import annotations

import pytest

from utils.phases import PhaseSpec, find_hungry_phases


def collect(duration: int | None, unit="timesteps", hooks=("collect",), name="fill") -> PhaseSpec:
    return PhaseSpec(name=name, type="online", hooks=hooks, duration=duration, unit=unit)


LEARN = PhaseSpec(name="learn", type="offline", hooks=("update",), duration=5, unit="updates")


def hungry(
    *phases: PhaseSpec, needs: int = 100, max_timesteps: int = 10**6
) -> list[tuple[int, str]]:
    found = find_hungry_phases(
        phases,
        needs=lambda phase: needs,
        stores=lambda phase: phase.hooks != ("collect", "play"),
        n_envs=8,
        cycle_timesteps=40,
        max_timesteps=max_timesteps,
    )
    return [tuple(fault) for fault in found]


@pytest.mark.parametrize(
    "before",
    [
        [collect(100)],
        [collect(97)],  # 13 steps of 8 environments
        [collect(3, "cycles")],  # 120
        [collect(50), collect(48, name="more")],  # 56 + 48
        [collect(1, "updates", ("collect", "update"))],  # waits until it can learn
    ],
)
def test_enough_was_collected(before: list[PhaseSpec]) -> None:
    assert hungry(*before, LEARN) == []


@pytest.mark.parametrize(
    ("before", "stored"),
    [
        ([collect(96)], 96),
        ([collect(2, "cycles")], 80),
        ([collect(1, "cycles"), collect(50, name="more")], 96),
        ([collect(80), collect(800, hooks=("collect", "play"), name="play")], 80),
    ],
)
def test_too_little_was_collected(before: list[PhaseSpec], stored: int) -> None:
    text = f"learns from {stored} stored timesteps and needs 100"
    assert hungry(*before, LEARN) == [(len(before), text)]


@pytest.mark.parametrize("unit", ["timesteps", "updates", "cycles"])
def test_no_phase_collects_more_than_the_run(unit: str) -> None:
    fill = collect(1000, unit, ("collect", "update"))
    assert hungry(fill, LEARN, max_timesteps=97) == []  # 13 steps of 8 environments
    text = "learns from 96 stored timesteps, all that max_timesteps 96 allows, and needs 100"
    assert hungry(fill, LEARN, max_timesteps=96) == [(1, text)]


def test_what_comes_later_does_not_help() -> None:
    assert hungry(collect(8), LEARN, collect(800, name="more"))[0][0] == 1
