"""Collecting and learning take turns in whole numbers, and nothing is lost or owed."""

from __future__ import annotations

import pytest

from utils.dataloaders import ReplayPace, ReplayPlan, Round
from utils.errors import RunFailedError
from utils.phases import PhaseScheduler, PhaseSpec, UpdateBudget

LEARN = PhaseSpec(name="learn", type="online", hooks=("collect", "update"))


class Run:
    """Carries out what a plan says by counting."""

    def __init__(self, *phases: PhaseSpec, ratio: float = 1.0, **pace: int) -> None:
        settings = {
            "n_envs": 1,
            "max_timesteps": 10**9,
            "steps_per_epoch": 10,
            "train_every_vec_steps": 1,
            "random_timesteps": 0,
            "timesteps_before_updates": 0,
            "batch_size": 1,
        }
        self.pace = ReplayPace(**(settings | pace))
        self.timesteps = self.stored = self.updates = 0
        self.plan = ReplayPlan(
            self.pace,
            PhaseScheduler(phases or (LEARN,)),
            UpdateBudget(ratio),
            timesteps=lambda: self.timesteps,
            n_stored=lambda: self.stored,
        )

    def epoch(self) -> list[Round]:
        done = []
        for due in self.plan.rounds():
            self.timesteps += due.n_vec_steps * self.pace.n_envs
            self.stored += due.n_vec_steps * self.pace.n_envs
            self.updates += due.n_updates
            done.append(due)
        return done


def test_an_epoch_has_its_steps_and_the_updates_that_they_pay_for() -> None:
    run = Run(ratio=0.5, train_every_vec_steps=4)
    rounds = run.epoch()
    assert [(due.n_vec_steps, due.n_updates) for due in rounds] == [(4, 2), (4, 2), (2, 1)]
    assert all(due.hooks == ("update",) and not due.is_random for due in rounds)


@pytest.mark.parametrize("n_envs", [1, 3, 8])
@pytest.mark.parametrize("ratio", [0.1, 0.3, 1.0, 2.5])
def test_updates_are_the_whole_part_of_ratio_times_steps(n_envs: int, ratio: float) -> None:
    run = Run(n_envs=n_envs, ratio=ratio, train_every_vec_steps=7, steps_per_epoch=25)
    for _ in range(13):
        run.epoch()
    assert run.timesteps == 13 * 25 * n_envs
    assert run.updates == int(run.timesteps * ratio + 1e-9)


def test_the_steps_before_learning_pay_for_nothing() -> None:
    run = Run(n_envs=4, random_timesteps=10, timesteps_before_updates=30, ratio=0.25)
    rounds = run.epoch()
    # Random: 12 of 10 timesteps (whole vector steps); then to 32 by the policy; then one update
    # for each vector step of 4.
    assert rounds[0] == Round(3, is_random=True)
    assert rounds[1] == Round(5)
    assert [due.n_updates for due in rounds[2:]] == [1, 1]


def test_nothing_is_drawn_from_less_than_a_batch() -> None:
    run = Run(random_timesteps=2, timesteps_before_updates=6, steps_per_epoch=8)
    assert [due.n_updates for due in run.epoch()] == [0, 0, 1, 1]
    assert run.stored == 8


def test_a_resumed_run_without_its_buffer_owes_no_updates() -> None:
    run = Run(random_timesteps=1000, timesteps_before_updates=1000, steps_per_epoch=5000)
    for _ in range(10):
        run.epoch()
    assert (run.timesteps, run.updates) == (50_000, 49_000)
    saved = run.plan.state_dict()
    resumed = Run(random_timesteps=1000, timesteps_before_updates=1000, steps_per_epoch=1500)
    resumed.timesteps = 50_000
    resumed.plan.load_state_dict(saved)
    resumed.plan.budget.restart()  # as the source does when the buffer is empty
    rounds = resumed.epoch()
    # A thousand fresh steps by the policy, then one update a step.
    assert rounds[0] == Round(1000)
    assert [due.n_updates for due in rounds[1:]] == [1] * 500


def test_a_resumed_run_with_its_buffer_goes_on_at_once() -> None:
    run = Run(ratio=0.3)
    run.epoch()
    resumed = Run(ratio=0.3)
    resumed.timesteps, resumed.stored = run.timesteps, run.stored
    resumed.plan.load_state_dict(run.plan.state_dict())
    assert resumed.epoch() == run.epoch()


def test_the_last_epoch_ends_with_the_run() -> None:
    run = Run(n_envs=4, max_timesteps=50, steps_per_epoch=10)
    run.epoch()
    assert run.plan.end_reason is None
    run.epoch()
    assert run.timesteps == 52  # 13 vector steps are the fewest that make 50
    assert run.plan.end_reason == "max_timesteps reached"


def test_phases_follow_each_other_and_settle_their_own_accounts() -> None:
    fill = PhaseSpec(name="fill", type="online", hooks=("collect",), duration=25)
    few = PhaseSpec(
        name="few", type="online", hooks=("collect", "update"), duration=3, unit="updates"
    )
    polish = PhaseSpec(
        name="polish", type="offline", hooks=("update",), duration=12, unit="updates"
    )
    judge = PhaseSpec(
        name="judge", type="eval_only", hooks=("evaluate",), duration=2, unit="cycles"
    )
    turns = PhaseSpec(
        name="turns", type="online", hooks=("collect", "update"), duration=2, unit="cycles"
    )
    run = Run(fill, few, polish, judge, turns, train_every_vec_steps=4)
    assert sum(due.n_vec_steps for due in run.epoch() + run.epoch() + run.epoch()) == 25
    assert run.updates == 0
    # A round of 4 steps pays for 4 updates, of which the phase wants 3.
    assert [(due.n_vec_steps, due.n_updates) for due in run.epoch()] == [(4, 3)]
    # 12 updates in epochs of as many as 10 vector steps have.
    assert [due.n_updates for due in run.epoch() + run.epoch()] == [10, 2]
    assert run.epoch() + run.epoch() == [Round(is_evaluation=True)] * 2
    assert [(due.n_vec_steps, due.n_updates) for due in run.epoch()] == [(4, 4), (4, 4)]
    assert run.plan.end_reason == "all phases completed"


def test_a_phase_after_the_last_step_still_has_its_turn() -> None:
    polish = PhaseSpec(name="polish", type="offline", hooks=("update",), duration=5, unit="updates")
    collect = PhaseSpec(name="collect", type="online", hooks=("collect", "update"), duration=10)
    run = Run(collect, polish, max_timesteps=10)
    run.epoch()
    assert run.plan.is_spent
    assert run.plan.end_reason is None
    run.epoch()
    assert run.updates == 10 + 5
    assert run.plan.end_reason == "all phases completed"


@pytest.mark.parametrize(
    ("duration", "unit"), [(1000, "cycles"), (1000, "updates"), (24, "timesteps")]
)
def test_phases_without_collecting_have_their_turn_where_the_steps_end_early(
    duration: int, unit: str
) -> None:
    # Seven environments make 28 timesteps of the first 22, so that 24 more would pass the 46.
    hooks = ("collect", "update")
    begin = PhaseSpec(name="begin", type="online", hooks=hooks, duration=22)
    more = PhaseSpec(name="more", type="online", hooks=hooks, duration=duration, unit=unit)
    polish = PhaseSpec(name="polish", type="offline", hooks=("update",), duration=5, unit="updates")
    last = PhaseSpec(name="last", type="online", hooks=hooks, duration=9, unit="cycles")
    judge = PhaseSpec(
        name="judge", type="eval_only", hooks=("evaluate",), duration=1, unit="cycles"
    )
    run = Run(begin, more, polish, last, judge, n_envs=7, max_timesteps=46)
    run.epoch()
    assert run.plan.scheduler.current is more
    run.epoch()
    assert run.timesteps == 49
    assert run.plan.end_reason is None
    assert [due.n_updates for due in run.epoch()] == [5]
    assert run.epoch() == [Round(is_evaluation=True)]
    assert run.plan.end_reason == "all phases completed"


def test_a_run_ends_with_its_steps_where_only_phases_that_collect_are_left() -> None:
    hooks = ("collect", "update")
    first, second = (
        PhaseSpec(name=name, type="online", hooks=hooks, duration=1000, unit="cycles")
        for name in ("first", "second")
    )
    run = Run(first, second, max_timesteps=10)
    run.epoch()
    assert run.plan.scheduler.current is first
    assert run.plan.end_reason == "max_timesteps reached"


def test_nothing_is_learnt_offline_from_too_little() -> None:
    fill = PhaseSpec(name="fill", type="online", hooks=("collect",), duration=5)
    polish = PhaseSpec(name="polish", type="offline", hooks=("update",), duration=5, unit="updates")
    run = Run(fill, polish, timesteps_before_updates=64, random_timesteps=5)
    run.epoch()
    with pytest.raises(RunFailedError, match=r"phase 'polish' .* 5 transitions, .* needs 64"):
        run.epoch()
