import io
import logging
import os
import re
import threading
import time

import pytest

from tests.helpers.screen import Screen
from utils.loggers import TOLD_BY_THE_END, ConsoleHandler, ConsoleWriter, Title
from utils.loggers import terminal as terminal_module
from utils.loggers.tracks import HISTORY_LENGTH
from utils.metrics import Alert
from utils.phases import PhaseSpec

MAX_TIMESTEPS = 100_000


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def make_console(clock, monkeypatch):
    def make(stream, *, solved_threshold=None, stop_threshold=None, **options):
        if isinstance(stream, Screen):
            monkeypatch.setattr(
                terminal_module.os, "get_terminal_size", lambda descriptor: stream.size
            )
        return ConsoleWriter(
            title=Title(
                "CartPole-v1:ppo",
                "20300102-030405-CartPole-v1-ppo",
                solved_threshold,
                stop_threshold,
            ),
            max_timesteps=MAX_TIMESTEPS,
            stream=stream,
            clock=clock,
            **options,
        )

    return make


def row_of(epoch, **extra):
    return {
        "train/roll/ep_rew_mean": 20.0 * epoch,
        "train/loss/value": 1.0 / epoch,
        "train/ppo/approx_kl": 0.01,
        **extra,
    }


def full_row(epoch):
    groups = ("roll", "ppo", "loss", "grad", "adv", "extra_one", "extra_two", "extra_three")
    return row_of(epoch) | {f"train/{g}/metric_{i}": 1.0 * epoch for g in groups for i in range(6)}


def an_alert(**changes):
    facts = {
        "key": "train/ppo/approx_kl",
        "value": 0.0812,
        "epoch": 2,
        "bound": "above 0.05",
        "message": "the policy changes too much in one update",
        "causes": ("policy_lr too high",),
        "fixes": ("lower policy_lr", "set target_kl: 0.02"),
    }
    return Alert(**(facts | changes))


def test_table_shows_names_progress_speed_and_metrics(make_console, clock):
    screen = Screen(columns=100)
    console = make_console(screen, solved_threshold=475.0)
    console.write(row_of(1), epoch=1, timesteps=10_000)
    clock.now += 2.0
    console.write(row_of(2), epoch=2, timesteps=20_000)
    text = "\n".join(screen.lines)
    assert "CartPole-v1:ppo   20300102-030405-CartPole-v1-ppo" in text
    assert "20.0%  20,000 / 100,000 steps" in text
    # 10,000 steps in 2 seconds; 80,000 are left.
    assert "epoch 2 · 5,000 steps/s · elapsed 0:02 · left 0:16 · solved at 475" in text
    assert re.search(r"ep_rew_mean +40\.00 ★ ▁█", text)
    assert re.search(r"value +0\.5000 ▼ █▁", text)
    assert re.search(r"approx_kl +0\.0100   ▄▄", text)
    assert text.index("training episodes") < text.index("losses")


def test_the_return_that_stops_a_run_is_not_called_solved(make_console):
    for stop, told in ((490.0, "solved at 475 · stops at 490"), (475.0, "solved at 475")):
        screen = Screen(columns=120)
        console = make_console(screen, solved_threshold=475.0, stop_threshold=stop)
        console.write(row_of(1), epoch=1, timesteps=1000)
        assert screen.lines[2].endswith(told)


def test_redrawing_leaves_one_table(make_console, clock):
    screen = Screen()
    console = make_console(screen)
    for epoch in range(1, 6):
        console.write(full_row(epoch), epoch=epoch, timesteps=epoch * 1000)
        clock.now += 1.0
    console.close()
    text = "\n".join(screen.lines)
    assert text.count("CartPole-v1:ppo ") == 1
    assert "epoch 5" in text
    assert re.search(r"… \d+ more in metrics.csv", text)


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 12), (20, 5), (200, 60), (131, 30)])
def test_any_size_of_terminal_is_kept(make_console, clock, columns, rows):
    screen = Screen(columns=columns, rows=rows)
    console = make_console(screen, solved_threshold=475.0)
    for epoch in range(1, 4):
        console.alert(an_alert(key=f"train/ppo/metric_{epoch}"))
        console.write(full_row(epoch), epoch=epoch, timesteps=epoch * 1000)
        clock.now += 1.0
    assert len(screen.lines) <= rows


def test_resized_terminal_is_drawn_afresh(make_console, clock):
    screen = Screen(columns=120, rows=40)
    console = make_console(screen)
    console.write(full_row(1), epoch=1, timesteps=1000)
    clock.now += 1.0
    screen.size = os.terminal_size((60, 20))
    console.write(full_row(2), epoch=2, timesteps=2000)
    assert "\n".join(screen.lines).count("CartPole-v1:ppo ") == 1


def test_refreshes_are_rate_limited_and_closing_shows_the_last_row(make_console, clock):
    screen = Screen()
    console = make_console(screen, log_interval_seconds=1.0)
    console.write(row_of(1), epoch=1, timesteps=1000)
    drawn = len(screen.raw)
    clock.now += 0.5
    console.write(row_of(2), epoch=2, timesteps=2000)
    assert len(screen.raw) == drawn
    console.close()
    assert "epoch 2" in "\n".join(screen.lines)
    assert re.search(r"ep_rew_mean +40\.00 ★ ▁█", "\n".join(screen.lines))
    drawn = len(screen.raw)
    console.close()
    assert len(screen.raw) == drawn


def test_metric_of_an_earlier_epoch_says_which(make_console, clock):
    screen = Screen()
    console = make_console(screen)
    console.write(row_of(1, **{"val/roll/ep_rew_mean": 300.0}), epoch=1, timesteps=1000)
    clock.now += 1.0
    console.write(row_of(2), epoch=2, timesteps=2000)
    assert "evaluation  val/roll @ epoch 1" in "\n".join(screen.lines)
    assert "300.00" in "\n".join(screen.lines)


def test_alert_is_marked_and_explained_for_a_minute(make_console, clock):
    screen = Screen(columns=120)
    console = make_console(screen)
    console.alert(an_alert())
    console.write(row_of(2), epoch=2, timesteps=2000)
    text = "\n".join(screen.lines)
    assert re.search(r"approx_kl +0\.0100 !", text)
    assert (
        "! train/ppo/approx_kl 0.0812 (above 0.05, epoch 2): "
        "the policy changes too much in one update" in text
    )
    assert "try: lower policy_lr; set target_kl: 0.02" in text
    clock.now += 61.0
    console.write(row_of(3), epoch=3, timesteps=3000)
    assert "0.0812" not in "\n".join(screen.lines)


def test_new_best_outshines_an_older_alert(make_console, clock):
    screen = Screen(columns=120)
    console = make_console(screen)
    console.alert(an_alert(key="train/roll/ep_rew_mean"))
    console.write(row_of(1), epoch=1, timesteps=1000)
    assert re.search(r"ep_rew_mean +20\.00 !", "\n".join(screen.lines))
    clock.now += 1.0
    console.write(row_of(2), epoch=2, timesteps=2000)
    assert re.search(r"ep_rew_mean +40\.00 ★", "\n".join(screen.lines))


def test_message_stays_above_the_table(make_console, clock):
    screen = Screen()
    console = make_console(screen)
    console.message("before the first row")
    console.write(row_of(1), epoch=1, timesteps=1000)
    logger = logging.getLogger("test_console")
    handler = ConsoleHandler(console)
    logger.addHandler(handler)
    logger.warning("two lines\nof a warning")
    logger.removeHandler(handler)
    clock.now += 1.0
    console.write(row_of(2), epoch=2, timesteps=2000)
    assert screen.lines[:3] == ["before the first row", "two lines", "of a warning"]
    assert "\n".join(screen.lines).count("CartPole-v1:ppo ") == 1


def test_what_ends_the_program_is_left_to_its_last_words(make_console):
    screen = Screen()
    console = make_console(screen)
    console.write(row_of(1), epoch=1, timesteps=1000)
    logger = logging.getLogger("test_console_end")
    handler = ConsoleHandler(console)
    logger.addHandler(handler)
    logger.error("the disk is full", extra={TOLD_BY_THE_END: True})
    logger.error("something else")
    logger.removeHandler(handler)
    text = "\n".join(screen.lines)
    assert "the disk is full" not in text
    assert "something else" in text


def test_a_message_in_the_middle_of_a_redraw_waits_for_its_end(make_console, clock):
    """As from a signal handler: the stream must not be written to twice at once."""

    class Interrupted(Screen):
        is_busy = False
        at_write = None

        def write(self, text):
            assert not self.is_busy, "a second write inside the first"
            self.is_busy = True
            if self.at_write is not None:
                at_write, self.at_write = self.at_write, None
                at_write()
            super().write(text)
            self.is_busy = False

    screen = Interrupted()
    console = make_console(screen)
    console.write(row_of(1), epoch=1, timesteps=1000)
    screen.at_write = lambda: console.message("SIGINT: stopping")
    for epoch in (2, 3):
        clock.now += 1.0
        console.write(row_of(epoch), epoch=epoch, timesteps=1000 * epoch)
    console.close()
    assert screen.lines[0] == "SIGINT: stopping"
    assert "\n".join(screen.lines).count("SIGINT") == 1
    assert "\n".join(screen.lines).count("CartPole-v1:ppo ") == 1
    assert not console.is_live


def test_a_table_begun_anew_leaves_what_others_wrote(make_console, clock):
    screen = Screen(columns=100, rows=40)
    console = make_console(screen)
    console.write(row_of(1), epoch=1, timesteps=1000)
    screen.write("$ fg\n")
    console.begin_anew()
    for epoch in (2, 3):
        clock.now += 2.0
        console.write(row_of(epoch), epoch=epoch, timesteps=1000 * epoch)
    text = "\n".join(screen.lines)
    before, after = text.split("$ fg\n")
    assert "epoch 1 " in before
    assert "epoch 3 " in after
    assert after.count("CartPole-v1:ppo   ") == 1


def test_other_threads_may_send_messages(make_console, clock):
    screen = Screen(columns=100, rows=400)
    console = make_console(screen)
    console.write(row_of(1), epoch=1, timesteps=1000)

    def send(name):
        for i in range(20):
            console.message(f"{name} {i}.")

    threads = [threading.Thread(target=send, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for epoch in range(2, 60):
        clock.now += 2.0
        console.write(row_of(epoch), epoch=epoch, timesteps=1000 * epoch)
    for thread in threads:
        thread.join()
    text = "\n".join(screen.lines)
    assert text.count("CartPole-v1:ppo   ") == 1
    assert {f"{name} {i}." for name in "abc" for i in range(20)} <= set(screen.lines)


def test_colours_only_where_they_are_wanted(make_console, monkeypatch):
    coloured, plain = Screen(), Screen()
    make_console(coloured).write(row_of(1), epoch=1, timesteps=1000)
    monkeypatch.setenv("NO_COLOR", "1")
    make_console(plain).write(row_of(1), epoch=1, timesteps=1000)
    assert re.search(r"\x1b\[[0-9;]*m", coloured.raw)
    assert not re.search(r"\x1b\[[0-9;]*m", plain.raw)
    assert coloured.lines == plain.lines


def test_ascii_terminal_gets_ascii(make_console, clock):
    screen = Screen()
    screen.encoding = "ascii"
    console = make_console(screen)
    console.alert(an_alert())
    for epoch in (1, 2):
        console.write(full_row(epoch), epoch=epoch, timesteps=1000 * epoch)
        clock.now += 1.0
    assert screen.raw.isascii()


def test_pipe_gets_plain_lines_at_most_every_five_seconds(make_console, clock):
    stream = io.StringIO()
    console = make_console(stream, log_interval_seconds=1.0)
    for epoch in range(1, 13):
        console.write(row_of(epoch), epoch=epoch, timesteps=epoch * 1000)
        clock.now += 1.0
    console.alert(an_alert())
    console.close()
    lines = stream.getvalue().splitlines()
    assert "\x1b" not in stream.getvalue()
    # Epochs 1, 6 and 11 by the clock, the alert, and the last row.
    assert [re.search(r"epoch (\d+)", line)[1] for line in lines] == ["1", "6", "11", "2", "12"]
    assert lines[1] == (
        "  6.0%  epoch 6  6,000/100,000 steps  1,000 steps/s  left 1:34  "
        "train/roll/ep_rew_mean 120.00  train/ppo/approx_kl 0.0100"
    )
    assert lines[3].startswith("alert: train/ppo/approx_kl 0.0812 (above 0.05, epoch 2): ")


def test_phases_that_take_no_timesteps_are_told_by_what_they_count(make_console, clock):
    phases = [
        PhaseSpec(name="collect", type="online", hooks=("collect",), duration=MAX_TIMESTEPS),
        PhaseSpec(name="see", type="offline", hooks=("update",), duration=600, unit="updates"),
    ]
    stream, screen = io.StringIO(), Screen(columns=100)
    consoles = [make_console(place, phases=phases) for place in (stream, screen)]
    for epoch, position in enumerate((1.0, 1.25, 1.5), 1):
        row = {"train/loss/value": 1.0, "train/replay/phases_done": position}
        for console in consoles:
            console.write(row, epoch=epoch, timesteps=MAX_TIMESTEPS)
        clock.now += 5.0
    # 300 updates in 10 seconds; 300 are left. Half of the second phase of two is 75 %.
    told = " 75.0%  epoch 3  phase 2/2 see  300/600 updates  30 updates/s  left 0:10"
    assert stream.getvalue().splitlines()[-1] == told
    text = "\n".join(screen.lines)
    assert "75.0%  phase 2 / 2 see  300 / 600 updates" in text
    assert "epoch 3 · 30 updates/s · elapsed 0:10 · left 0:10" in text


def test_dumb_terminal_gets_plain_lines(make_console, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    screen = Screen(columns=400)
    make_console(screen).write(row_of(1), epoch=1, timesteps=1000)
    assert "\x1b" not in screen.raw


def test_terminal_that_goes_away_does_not_stop_training(make_console, clock):
    class Gone(Screen):
        def write(self, text):
            raise OSError(5, "Input/output error")

    console = make_console(Gone())
    for epoch in (1, 2):
        console.write(row_of(epoch), epoch=epoch, timesteps=1000 * epoch)
        clock.now += 1.0
    console.message("nobody reads this")
    console.close()


def test_speed_after_a_resume_counts_only_new_steps(make_console, clock):
    stream = io.StringIO()
    console = make_console(stream)
    time_keys = {"train/time/steps_per_second": 500.0, "train/time/elapsed_seconds": 90.0}
    console.write(row_of(41, **time_keys), epoch=41, timesteps=41_000)
    assert "500 steps/s  left 1:58" in stream.getvalue()
    clock.now += 5.0
    console.write(row_of(42), epoch=42, timesteps=42_000)
    assert "200 steps/s  left 4:50" in stream.getvalue()


def test_a_long_epoch_shows_how_far_it_has_come(make_console, clock):
    stream = io.StringIO()
    console = make_console(stream)
    console.begin(timesteps=0)
    for second in range(1, 19):
        clock.now += 1.0
        # After ten seconds an update of many seconds is on its way.
        console.pulse(epoch=0, timesteps=100 * min(second, 10), updates=second // 10)
    console.write(row_of(1), epoch=1, timesteps=1000)
    assert stream.getvalue().splitlines() == [
        "  0.5%  epoch 0  500/100,000 steps  100 steps/s  left 16:35",
        "  1.0%  epoch 0  1,000/100,000 steps  1 update  100 steps/s  left 16:30",
    ]
    clock.now += 5.0
    console.pulse(epoch=1, timesteps=1000, updates=2)
    assert len(stream.getvalue().splitlines()) == 3  # the row of the epoch was still to come
    assert "epoch 1  1,000/100,000 steps" in stream.getvalue()
    console.close()
    clock.now += 60.0
    console.pulse(epoch=1, timesteps=2000, updates=2)
    assert len(stream.getvalue().splitlines()) == 3


def test_the_speed_of_a_long_epoch_is_that_of_the_last_minute(make_console, clock):
    stream = io.StringIO()
    console = make_console(stream)
    console.begin(timesteps=0)
    clock.now += 5.0
    console.pulse(epoch=0, timesteps=1000, updates=0)
    clock.now += 70.0
    console.pulse(epoch=0, timesteps=1014, updates=1)
    assert "0.2 steps/s" in stream.getvalue().splitlines()[1]  # 14 in 70 s


def test_a_phase_that_counts_by_epochs_keeps_its_speed_within_one(make_console, clock):
    stream = io.StringIO()
    phases = [
        PhaseSpec(name="collect", type="online", hooks=("collect",), duration=100),
        PhaseSpec(name="see", type="offline", hooks=("see",), duration=600, unit="updates"),
    ]
    console = make_console(stream, phases=phases)
    console.begin(timesteps=100, phases_done=1.0)
    for position in (1.0, 1.25):  # 150 updates in 100 seconds
        row = {"train/loss/value": 1.0, "train/replay/phases_done": position}
        console.write(row, epoch=int(4 * position), timesteps=100)
        clock.now += 100.0
    last = stream.getvalue().splitlines()[-1]
    assert "150/600 updates  1.5 updates/s  left 5:00" in last
    for updates in (151, 152):
        clock.now += 10.0
        console.pulse(epoch=5, timesteps=100, updates=updates)
    assert stream.getvalue().splitlines()[-1] == last


def test_the_bar_moves_within_an_epoch(make_console, clock):
    screen = Screen()
    console = make_console(screen)
    console.begin(timesteps=0)
    clock.now += 1.0
    console.pulse(epoch=0, timesteps=1000, updates=0)
    assert "1,000 / 100,000 steps" in "\n".join(screen.lines)
    clock.now += 1.0
    console.pulse(epoch=0, timesteps=31_000, updates=0)
    assert "31,000 / 100,000 steps" in "\n".join(screen.lines)
    assert "elapsed 0:02" in "\n".join(screen.lines)


def test_history_is_bounded(make_console):
    console = make_console(Screen(), log_interval_seconds=1000.0)
    for epoch in range(1, 500):
        console.write(row_of(epoch), epoch=epoch, timesteps=epoch)
    track = console._tracks.get("train/loss/value")
    assert len(track.history) == HISTORY_LENGTH
    assert track.history[-1] == 1.0 / 499


def test_cost_with_and_without_refresh(make_console, clock):
    screen = Screen(columns=120, rows=50)
    screen.write = lambda text: len(text)
    console = make_console(screen, log_interval_seconds=1.0)
    rows = [full_row(epoch) for epoch in range(1, 101)]

    def fastest(seconds_between):
        best = float("inf")
        for _ in range(5):
            started = time.process_time()
            for epoch, row in enumerate(rows, 1):
                clock.now += seconds_between
                console.write(row, epoch=epoch, timesteps=epoch)
            best = min(best, (time.process_time() - started) / len(rows))
        return best

    assert fastest(0.0) < 50e-6
    assert fastest(1.0) < 2e-3
