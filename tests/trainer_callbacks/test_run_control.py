import logging
import threading
import time

import pytest

from tests.helpers.fake_agent import FakeAgent
from trainer_callbacks.model_checkpoint import ModelCheckpoint
from trainer_callbacks.run_control import HELP, RunControl
from utils.run.control import AnswerReader, post_request


class Keys:
    """A keyboard without a terminal."""

    def __init__(self):
        self.states = []
        self.press = None

    def open(self, on_key):
        self.states.append("open")
        self.press = on_key

    def close(self):
        self.states.append("closed")


class Told:
    def __init__(self):
        self.lines = []

    def __call__(self, text, *, is_logged=False):
        self.lines.append((text, is_logged))


@pytest.fixture
def keys():
    return Keys()


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def agent(tmp_path, keys, told):
    agent = FakeAgent(runs_dir=tmp_path)
    agent.run.write_status("running")
    checkpoint = ModelCheckpoint()
    agent.callbacks = [RunControl(checkpoint, keyboard=keys, tell=told), checkpoint]
    agent.start()
    return agent


def press(agent, keys, *pressed):
    """Press keys as the keyboard's thread does, which waits a little for the answer."""
    control = agent.callbacks[0]
    threads = [threading.Thread(target=keys.press, args=(key,)) for key in pressed]
    for thread in threads:
        thread.start()
    while len(control._pressed) < len(pressed):
        time.sleep(0.001)
    return threads


def answers(agent):
    return [answer.text for answer in AnswerReader(agent.run).read()]


def test_nothing_is_asked_and_nothing_happens(agent):
    agent.train_epoch()
    agent.train_epoch()
    assert agent.evaluated_epochs == []
    assert agent.stop_reasons == []
    assert agent.run.list_checkpoints() == []


def test_save_now_saves_this_epoch_and_answers_when_it_is_there(agent):
    agent.train_epoch()
    post_request(agent.run, "save", origin="a test")
    agent.train_epoch()
    agent.train_epoch()
    assert [path.name for path in agent.run.list_checkpoints()] == ["epoch=02.ckpt"]
    assert agent.run.checkpoint("@last").name == "epoch=02.ckpt"
    assert answers(agent) == ["saved epoch=02.ckpt at 200 timesteps"]


def test_evaluate_now_evaluates_once(agent):
    for origin in ("one", "another"):
        post_request(agent.run, "evaluate", origin=origin)
    agent.train_epoch()
    agent.train_epoch()
    assert agent.evaluated_epochs == [1]
    assert answers(agent) == [
        "evaluated at epoch 1: mean return 2.00 (2 episodes)",
        "epoch 1 has been evaluated already",
    ]


def test_an_evaluation_without_a_mean_says_so(agent):
    agent.n_unfinished = 2
    post_request(agent.run, "evaluate", origin="a test")
    agent.train_epoch()
    assert answers(agent) == ["evaluated at epoch 1: 2 episodes did not finish"]


def test_stop_lets_the_epoch_end(agent):
    post_request(agent.run, "stop", origin="a test")
    agent.train_epoch()
    assert agent.is_interrupted
    assert agent.stop_reasons == ["stopped by a person"]
    assert answers(agent) == ["stopping: epoch 1 is the last one, and is saved"]


def test_what_comes_too_late_is_told(agent, keys):
    agent.train_epoch()
    post_request(agent.run, "stop", origin="a test")
    agent.end()
    assert answers(agent) == ["too late: training is over and saved"]
    assert agent.stop_reasons == []
    assert keys.states[0] == "open"
    assert keys.states[-1] == "closed"


def test_keys_ask_for_the_same(agent, keys, told, caplog):
    with caplog.at_level(logging.INFO, "gymnasium_solver"):
        threads = press(agent, keys, "s", "E", "q")
        agent.train_epoch()
        for thread in threads:
            thread.join()
    assert agent.evaluated_epochs == [1]
    assert agent.is_interrupted
    assert [path.name for path in agent.run.list_checkpoints()] == ["epoch=01.ckpt"]
    said = {text for text, is_logged in told.lines if is_logged}
    assert said == {
        "saved epoch=01.ckpt at 100 timesteps",
        "evaluated at epoch 1: mean return 2.00 (2 episodes)",
        "stopping: epoch 1 is the last one, and is saved",
    }
    assert "saved epoch=01.ckpt at 100 timesteps (key s)" in caplog.messages
    assert not agent.run.control_path.exists()


def test_a_key_in_a_long_epoch_is_acknowledged_before_its_end(agent, keys, told):
    keys.press("s")
    assert told.lines == [("saving at the end of this epoch", False)]
    agent.train_epoch()
    assert told.lines[1:] == [("saved epoch=01.ckpt at 100 timesteps", True)]


def test_help_and_other_keys(agent, keys, told):
    for key in "h?xH ":
        keys.press(key)
    assert told.lines == [(HELP, False)] * 3
    agent.train_epoch()
    assert agent.run.list_checkpoints() == []


def test_an_error_closes_the_keyboard(agent, keys):
    agent.callbacks[0].on_exception(None, agent, RuntimeError())
    assert keys.states == ["open", "closed"]
