"""What is compiled before training is what training calls, and nobody sees that it was called."""

import errno
import fcntl
import importlib
import io
import os
import signal
import time
from types import SimpleNamespace

import numba
import pytest
import torch

from gym_envs.numba_settings import njit
from tests.helpers.agents import begin, make_agent, train_epochs
from utils.compiled.stoppable_compiler import stoppable_compiler

KERNELS = (
    ("utils.compiled.rollout", "collect_steps"),
    ("utils.compiled.returns", "_scan"),
    ("agents.ppo.ppo_compiled", "run_compiled_update"),
)


@pytest.fixture
def called(monkeypatch):
    """Kinds of arguments that each compiled function was called with, as the compiler sees them."""
    seen = {}
    for module_name, name in KERNELS:
        module = importlib.import_module(module_name)
        kernel = getattr(module, name)

        def call(*arguments, _kernel=kernel, _name=name):
            seen.setdefault(_name, set()).add(tuple(map(numba.typeof, arguments)))
            return _kernel(*arguments)

        monkeypatch.setattr(module, name, call)
    return seen


@pytest.mark.parametrize("n_envs", [1, 3])
@pytest.mark.parametrize(
    ("env_id", "settings"),
    [
        ("CartPole-v1", {}),
        ("Pendulum-v1", {"normalize_obs": "static"}),
        ("MountainCar-v0", {"vectorization": "sync"}),
    ],
)
def test_training_calls_what_was_compiled_before(env_id, settings, n_envs, called):
    agent = make_agent(env_id, n_envs=n_envs, **settings)
    agent.warm_up()
    before = {name: set(kinds) for name, kinds in called.items()}
    assert len(before) == (2 if "vectorization" in settings else 3)
    train_epochs(agent, 2)
    assert called == before


def saved_bytes(agent):
    """Weights, optimiser, environments and all generators, the global ones too."""
    stream = io.BytesIO()
    torch.save(agent.checkpoint_state(), stream)
    return stream.getvalue()


def test_a_warm_up_changes_nothing():
    agent = make_agent("CartPole-v1")
    begin(agent)
    before = saved_bytes(agent)
    agent.warm_up()
    assert saved_bytes(agent) == before
    warmed = train_epochs(agent, 2)[-1]
    fresh = train_epochs(make_agent("CartPole-v1"), 2)[-1]
    timeless = [key for key in fresh if "/time/" not in key]
    assert [warmed[key] for key in timeless] == [fresh[key] for key in timeless]


def test_where_torch_does_it_all_there_is_nothing_to_warm_up(called):
    make_agent("CartPole-v1", vectorization="sync", optimizer="SGD").warm_up()
    make_agent("CartPole-v1", algo_id="reinforce").warm_up()
    assert not called


def test_a_signal_stops_the_compiler_between_two_passes(capsys):
    before = signal.getsignal(signal.SIGINT)
    reached = []

    def compile_after_a_signal():
        with stoppable_compiler():
            os.kill(os.getpid(), signal.SIGINT)
            reached.append("the signal alone raises nothing")
            njit(lambda x: x + 1)(1)
            reached.append("the compiler was not stopped")

    with pytest.raises(KeyboardInterrupt):
        compile_after_a_signal()
    assert reached == ["the signal alone raises nothing"]
    assert "SIGINT: stopping" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before


def test_processes_take_turns_and_one_that_waits_can_be_stopped(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("utils.compiled.stoppable_compiler._PATIENCE_SECONDS", 0.0)
    other = os.open(tmp_path / ".lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(other, fcntl.LOCK_EX)
    waits = []

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    # Not the sleep of all threads: another test may have left one behind.
    own = SimpleNamespace(monotonic=time.monotonic, sleep=wait)
    monkeypatch.setattr("utils.compiled.stoppable_compiler.time", own)
    with pytest.raises(KeyboardInterrupt), stoppable_compiler():
        raise AssertionError("it is not its turn")
    said = capsys.readouterr().err
    assert said.count("is what another process does; waiting for its result") == 1

    def let_go(seconds):
        del seconds
        os.close(other)

    own.sleep = let_go
    with stoppable_compiler():
        third = os.open(tmp_path / ".lock", os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(third, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(third, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the turn is over
    os.close(third)


def test_on_a_disk_without_locks_each_process_compiles_for_itself(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(fcntl, "flock", refuse)
    with stoppable_compiler():
        pass
