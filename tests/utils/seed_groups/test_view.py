"""The lines of a group while it trains."""

import io
import re
from types import SimpleNamespace

import pytest

from gym_envs.compile_notice import COMPILING
from tests.helpers.played_runs import make_config
from tests.helpers.watched_run import WatchedRun
from utils.loggers.terminal import strip_colours
from utils.run import RunGroup
from utils.seed_groups.members import Member, State
from utils.seed_groups.view import GroupView


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture
def group(tmp_path):
    return RunGroup.create(tmp_path, config=make_config().to_dict(), seeds=[0], arguments=[])


def make_member(group, seed, state, run=None, failure=""):
    member = Member(group, seed, [], run)
    member.look = lambda: None
    member.state, member.failure = state, failure
    return member


def shown(stream):
    """Return the lines of the last block that was drawn."""
    text = strip_colours(stream.getvalue()).replace("\x1b[K", "").replace("\x1b[J", "")
    return re.split(r"\x1b\[\d+A\r|\r", text)[-1].splitlines()


def test_each_seed_has_a_line(group, tmp_path, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    watched = WatchedRun(tmp_path)
    watched.rows(25)
    members = [
        make_member(group, 0, State.TRAINING, watched.run),
        make_member(group, 1, State.WAITING),
        make_member(group, 2, State.FAILED, failure="thirteen"),
        make_member(group, 3, State.STARTING),
    ]
    view = GroupView(group, members, make_config(), is_quiet=False)
    view.begin(n_jobs=2)
    view.look()
    first, second, third, fourth = shown(stream)
    assert first.startswith("seed 0     training    ━━━━━───────────────  25%        2,500 steps")
    assert second.split() == ["seed", "1", "waiting"]
    assert third.split() == ["seed", "2", "failed", "thirteen"]
    assert fourth.split() == ["seed", "3", "starting"]
    assert all(len(line) < 80 for line in shown(stream))


def test_many_seeds_fit_the_terminal(group, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    members = [make_member(group, seed, State.WAITING) for seed in range(50)]
    view = GroupView(group, members, make_config(), is_quiet=False)
    view.look()
    lines = shown(stream)
    assert len(lines) == 22
    assert lines[-1] == "... and 29 more seeds"


@pytest.mark.parametrize("is_live", [True, False])
def test_a_seed_that_compiles_says_so(group, monkeypatch, is_live):
    stream = Terminal() if is_live else io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    members = [make_member(group, seed, State.STARTING) for seed in (0, 1)]
    for member in members:
        member.job = SimpleNamespace(
            lines=lambda: ["a warning", f"{COMPILING} (some 20 s)", "more"]
        )
    view = GroupView(group, members, make_config(), is_quiet=False)
    view.look()
    view.look()
    lines = shown(stream) if is_live else stream.getvalue().splitlines()
    assert [line.split() for line in lines] == (
        [
            ["seed", str(seed), "starting", *COMPILING.split(), "(some", "20", "s)"]
            for seed in (0, 1)
        ]
        if is_live
        else [["seed", "0:", *COMPILING.split(), "(some", "20", "s)"]]
    )
    members[0].state = State.TRAINING
    assert members[0].notice == ""


def test_how_many_train_at_a_time_is_told_while_some_do(group, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    done, left = make_member(group, 0, State.COMPLETED), make_member(group, 1, State.WAITING)
    GroupView(group, [done, left], make_config(), is_quiet=False).begin(n_jobs=1)
    GroupView(group, [done], make_config(), is_quiet=False).begin(n_jobs=1)
    first, second = stream.getvalue().splitlines()
    assert f": 2 seeds, 1 complete already, 1 at a time, group {group.id}" in first
    assert f": 1 seed, 1 complete already, group {group.id}" in second
