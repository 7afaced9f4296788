"""Steps in two parts, `send` and `recv`, and what environments are given."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from tests.helpers import envs
from tests.helpers.policies import build_linear_policy
from utils.errors import EnvironmentFailedError
from utils.rollouts import Collector, RolloutBuffer
from utils.vector_envs import InProcessVectorEnv, SubprocessVectorEnv, worker_pool


@pytest.fixture
def env() -> Iterator[SubprocessVectorEnv]:
    built = SubprocessVectorEnv(
        [partial(envs.CountingEnv, length=50)] * 2, env_id="x", n_workers=1, start_method="fork"
    )
    built.reset(seed=0)
    yield built
    built.close()


def zeros(env: Any) -> np.ndarray:
    return np.zeros(env.action_space.shape, env.single_action_space.dtype)


def test_nothing_is_received_that_was_not_sent(env: SubprocessVectorEnv) -> None:
    with pytest.raises(AssertionError, match="send"):
        env.recv()
    env.send(zeros(env))
    env.recv()
    with pytest.raises(AssertionError, match="send"):
        env.recv()


def test_a_state_that_is_read_amid_a_step_drops_the_answer(env: SubprocessVectorEnv) -> None:
    env.send(zeros(env))
    assert env.get_state()["n_steps"] == 1
    with pytest.raises(AssertionError, match="send"):
        env.recv()
    assert env.step(zeros(env))[0].tolist() == [[2.0]] * 2


def test_a_step_that_was_sent_before_the_end_is_not_received_after_it(
    env: SubprocessVectorEnv,
) -> None:
    env.send(zeros(env))
    env.close()
    with pytest.raises(EnvironmentFailedError, match="have ended"):
        env.recv()


def test_signals_are_let_through_again_where_one_is_handled_while_they_are_being_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = signal.pthread_sigmask
    before = real(signal.SIG_BLOCK, ())

    def block(how: int, mask: Any) -> Any:
        answer = real(how, mask)
        if how == signal.SIG_BLOCK and mask:
            raise KeyboardInterrupt  # as a handler does that runs on the way out of the call
        return answer

    monkeypatch.setattr(worker_pool.signal, "pthread_sigmask", block)
    with pytest.raises(KeyboardInterrupt), worker_pool._signals_held():
        pass
    monkeypatch.undo()
    after = real(signal.SIG_BLOCK, ())
    real(signal.SIG_SETMASK, before)
    assert after == before


class SendingEnv(InProcessVectorEnv):
    """Has `send` and `recv`, and notes when they are called."""

    def __init__(self, notes: list[str]) -> None:
        super().__init__(
            [partial(gym.make, "CartPole-v1", disable_env_checker=True)] * 2, env_id="x"
        )
        self._notes = notes

    def send(self, actions: np.ndarray) -> None:
        self._notes.append("send")
        self._sent_actions = actions

    def recv(self) -> Any:
        self._notes.append("recv")
        return self.step(self._sent_actions)


def test_a_step_is_sent_before_it_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    env = SendingEnv(notes)
    policy = build_linear_policy(env)
    buffer = RolloutBuffer(
        n_steps=2,
        n_envs=2,
        observation_space=env.single_observation_space,
        distribution=policy.distribution,
    )
    for name in ("write_observation", "write_decision", "write_reward"):
        real = getattr(buffer, name)

        def note(*args: Any, name: str = name, real: Any = real) -> None:
            notes.append(name)
            real(*args)

        monkeypatch.setattr(buffer, name, note)
    generator = torch.Generator().manual_seed(0)
    collector = Collector(env, policy, device=torch.device("cpu"), generator=generator)
    collector.reset(seed=0)
    collector.collect(buffer, n_steps=2)
    one = ["send", "write_observation", "write_decision", "recv", "write_reward"]
    assert notes == one * 2


def test_an_environment_that_is_faster_with_ints_gets_them_also_when_it_is_restored() -> None:
    pytest.importorskip("Box2D")
    kinds: set[type] = set()

    def build() -> InProcessVectorEnv:
        env = InProcessVectorEnv(
            [partial(gym.make, "LunarLander-v3", disable_env_checker=True)], env_id="x"
        )
        (step,) = env._step_functions

        def note(action: Any) -> Any:
            kinds.add(type(action))
            return step(action)

        env._step_functions = [note]
        return env

    first, second = build(), build()
    first.reset(seed=0)
    for action in (0, 2, 1, 3):
        first.step(np.array([action]))
    _, is_restored = second.set_state(first.get_state())
    assert is_restored.tolist() == [True]
    assert kinds == {int}
