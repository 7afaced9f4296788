from __future__ import annotations

import pytest

from utils.phases import PhaseSpec, find_phase_faults

FILL = PhaseSpec(name="fill", type="online", hooks=("collect",), duration=100)
LEARN = PhaseSpec(name="learn", type="online", hooks=("collect", "update"))
POLISH = PhaseSpec(name="polish", type="offline", hooks=("update",), duration=5, unit="updates")
JUDGE = PhaseSpec(name="judge", type="eval_only", hooks=("evaluate",), duration=1, unit="cycles")


def faults(*phases: PhaseSpec, max_timesteps: int = 1000) -> list[str]:
    found = find_phase_faults(phases, update_hooks=("update",), max_timesteps=max_timesteps)
    return [f"{phases[fault.position].name} {fault.message}" for fault in found]


def test_sound_lists_have_no_fault() -> None:
    assert faults() == []
    assert faults(LEARN) == []
    assert faults(FILL, POLISH, JUDGE, LEARN) == []
    assert faults(FILL, max_timesteps=100) == []


def phase(name: str = "odd", **changes) -> PhaseSpec:
    settings = {"type": "online", "hooks": ("collect", "update"), "duration": 10}
    return PhaseSpec(name=name, **(settings | changes))


@pytest.mark.parametrize(
    ("odd", "text"),
    [
        (phase(hooks=("collect", "updat")), "hook 'updat', which this algorithm does not know"),
        (phase(hooks=()), "no hooks"),
        (phase(hooks=("update",)), "first hook must be 'collect'"),
        (phase(hooks=("collect", "collect")), "names a hook twice"),
        (phase(hooks=("collect", "evaluate")), "belongs to eval_only"),
        (phase(hooks=("collect",), unit="updates"), "has no hook that updates"),
        (phase(type="offline", unit="timesteps", hooks=("update",)), "never counts timesteps"),
        (phase(type="offline", unit="updates"), "only hooks that update"),
        (phase(type="eval_only", unit="updates", hooks=("evaluate",)), "never counts updates"),
        (phase(type="eval_only", unit="cycles", hooks=("update",)), "one hook is 'evaluate'"),
        (phase(type="offline", duration=None, hooks=("update",)), "needs a duration"),
        (phase(duration=None), "another phase follows"),
        (phase(name="learn"), None),
    ],
)
def test_a_fault_is_told_with_its_phase(odd: PhaseSpec, text: str | None) -> None:
    found = faults(FILL, odd, LEARN)
    if text is None:
        assert found == ["learn has the name of an earlier phase"]
    else:
        assert len(found) == 1, found
        assert found[0].startswith("odd ")
        assert text in found[0]


def test_nothing_can_be_learnt_offline_before_anything_is_stored() -> None:
    assert faults(POLISH, LEARN) == [
        "polish is offline and comes first, when nothing is stored yet"
    ]
    assert faults(JUDGE, POLISH, LEARN) == faults(POLISH, LEARN)


def test_phases_fit_into_the_run() -> None:
    assert faults(FILL, max_timesteps=99) == ["fill ends at timestep 100, after max_timesteps 99"]
