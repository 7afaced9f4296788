from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gym_wrappers.clip_reward.wrapper import ClipReward
from gym_wrappers.episodic_life.wrapper import EpisodicLife
from tests.helpers import envs
from utils.errors import ConfigError, EnvironmentFailedError
from utils.vector_envs import InProcessVectorEnv, ObservationOptions, SubprocessVectorEnv

ROOT = Path(__file__).resolve().parents[3]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # gone meanwhile
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(pids: list[int], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not any(map(is_alive, pids)):
            return True
        time.sleep(0.02)
    return False


def make(env_class: type, n_envs: int = 3, **kwargs: Any) -> SubprocessVectorEnv:
    settings = {
        key: kwargs.pop(key)
        for key in ("n_workers", "start_method", "env_timeout_seconds", "options")
        if key in kwargs
    }
    return SubprocessVectorEnv(
        [partial(env_class, **kwargs)] * n_envs,
        env_id=env_class.__name__,
        **{"n_workers": 2, "start_method": "fork", **settings},
    )


def zeros(env: Any) -> np.ndarray:
    return np.zeros(env.action_space.shape, env.single_action_space.dtype)


def make_cartpole() -> gym.Env:
    return gym.make("CartPole-v1", disable_env_checker=True)


def make_lives() -> gym.Env:
    return EpisodicLife(ClipReward(envs.LivesEnv(), low=0.0, high=0.5))


@pytest.fixture(params=["fork", "spawn", "forkserver"])
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Any, Any]]:
    ours = SubprocessVectorEnv(
        [make_cartpole] * 5, env_id="CartPole-v1", n_workers=2, start_method=request.param
    )
    yield ours, InProcessVectorEnv([make_cartpole] * 5, env_id="CartPole-v1")
    ours.close()


def flatten(step: tuple) -> list[np.ndarray]:
    *arrays, infos = step
    if "final_obs" in infos:
        mask = infos["_final_obs"]
        return [*arrays, mask, infos["final_obs"][mask]]
    assert infos == {}
    return arrays


def test_each_environment_may_have_a_seed_of_its_own() -> None:
    ours = SubprocessVectorEnv([make_cartpole] * 4, env_id="CartPole-v1", n_workers=2)
    theirs = InProcessVectorEnv([make_cartpole] * 4, env_id="CartPole-v1")
    try:
        observation = theirs.reset(seed=[9, 4, 9, 5])[0].copy()
        np.testing.assert_array_equal(ours.reset(seed=[9, 4, 9, 5])[0], observation)
        np.testing.assert_array_equal(observation[0], observation[2])
        np.testing.assert_array_equal(theirs.reset(seed=4)[0][:2], observation[[1, 3]])
    finally:
        ours.close()


def test_processes_give_the_numbers_of_one_process(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    np.testing.assert_array_equal(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    n_ended = 0
    for action in np.random.default_rng(0).integers(0, 2, (80, 5)):
        a, b = flatten(ours.step(action)), flatten(theirs.step(action))
        n_ended += len(a) > 4
        for mine, other in zip(a, b, strict=True):
            np.testing.assert_array_equal(mine, other)
            assert mine.dtype == other.dtype
    assert n_ended > 5
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.action_space == theirs.action_space
    assert (ours.max_episode_steps, ours.reward_threshold, ours.render_fps) == (500, 475.0, 50)


def test_returned_arrays_are_valid_until_the_next_step_has_returned() -> None:
    env = make(envs.CountingEnv, length=50)
    previous, _ = env.reset(seed=0)
    for count in range(1, 6):
        env.send(zeros(env))
        assert all(worker.poller.poll(5000) for worker in env._pool._workers)  # they are through
        assert previous.tolist() == [[count - 1]] * 3
        obs = env.recv()[0]
        assert previous.tolist() == [[count - 1]] * 3
        assert obs.tolist() == [[count]] * 3
        previous = obs
    env.close()
    assert previous.tolist() == [[5.0]] * 3  # the memory outlives the workers


def test_what_wrappers_change_is_told() -> None:
    env = SubprocessVectorEnv([make_lives] * 2, env_id="x", n_workers=2, start_method="fork")
    env.reset(seed=0)
    ends = []
    for _ in range(30):
        _, reward, terminated, _, infos = env.step(zeros(env))
        assert (reward.tolist(), infos["raw_reward"].tolist()) == ([0.5] * 2, [1.0] * 2)
        ends.append((bool(terminated.all()), bool(infos["episode_over"].all())))
    env.close()
    assert [i for i, (lost, _) in enumerate(ends, 1) if lost] == [10, 20, 30]
    assert [i for i, (_, over) in enumerate(ends, 1) if over] == [30]


def test_stacked_pictures_come_through_shared_memory() -> None:
    env = make(
        envs.PictureEnv,
        options=ObservationOptions(frame_stack=3, grayscale=True, resize=(20, 30)),
    )
    env.reset(seed=0)
    obs = env.step(zeros(env))[0]
    env.close()
    assert obs.shape == (3, 3, 20, 30)
    assert [int(frame[0, 0]) for frame in obs[2]] == [1, 1, 2]


def test_a_saved_state_goes_on_here_and_in_one_process(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    actions = np.random.default_rng(1).integers(0, 2, (400, 5))
    ours.reset(seed=4)
    for action in actions[:320]:
        ours.step(action)
    state = ours.get_state()
    expected = [[a.copy() for a in flatten(ours.step(action))] for action in actions[320:]]
    for env in (ours, theirs):
        assert env.set_state(state)[1].tolist() == [True] * 5
        for action, before in zip(actions[320:], expected, strict=True):
            for a, b in zip(flatten(env.step(action)), before, strict=True):
                np.testing.assert_array_equal(a, b)


def test_frames_come_from_every_env() -> None:
    env = make(envs.DrawingEnv)
    env.reset(seed=0)
    env.step(zeros(env))
    frames = env.render()
    env.close()
    assert [frame[0, 0].tolist() for frame in frames] == [[0, 20, 0]] * 3


# -- faults ---------------------------------------------------------------------------------------


def run_until_error(env: SubprocessVectorEnv) -> tuple[str, float]:
    """Step until an error; return its text and how long the fatal call took."""
    pids = env.worker_pids
    assert len(pids) == 2
    env.reset(seed=0)
    for _ in range(10):
        started = time.monotonic()
        try:
            env.step(zeros(env))
        except EnvironmentFailedError as error:
            seconds = time.monotonic() - started
            assert not any(map(is_alive, pids))
            assert env.worker_pids == []
            return str(error), seconds
    raise AssertionError("no error")


def test_an_exception_names_env_step_and_cause() -> None:
    text, seconds = run_until_error(make(envs.RaisingEnv, at_step=3, at_seed=1))
    assert text == "environment 1 (RaisingEnv) raised ValueError in step 3: the wheel came off"
    assert seconds < 60


def test_the_traceback_of_the_worker_is_the_cause() -> None:
    env = make(envs.RaisingEnv, at_step=0)
    with pytest.raises(EnvironmentFailedError) as caught:
        env.reset(seed=0)
    assert "the wheel came off" in str(caught.value.__cause__)
    assert "in misbehave" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("by_signal", "reason"),
    [(None, "exit code 9"), (signal.SIGKILL, "SIGKILL"), (signal.SIGUSR1, "SIGUSR1")],
)
def test_a_dead_worker_is_named_with_its_exit_code(by_signal: int | None, reason: str) -> None:
    text, seconds = run_until_error(make(envs.DyingEnv, at_seed=2, by_signal=by_signal))
    assert "worker 1 (environments 1 to 2 of DyingEnv)" in text
    assert reason in text
    assert seconds < 60


def test_a_worker_killed_between_two_steps_is_noticed() -> None:
    env = make(envs.CountingEnv)
    env.reset(seed=0)
    pids = env.worker_pids
    os.kill(pids[0], signal.SIGKILL)
    wait_until_gone(pids[:1], 60)
    with pytest.raises(EnvironmentFailedError, match=r"worker 0 .*SIGKILL"):
        env.step(zeros(env))
    assert not any(map(is_alive, pids))


@pytest.mark.slow
def test_a_hanging_worker_is_named_after_the_timeout() -> None:
    text, seconds = run_until_error(
        make(envs.HangingEnv, at_seed=0, at_step=2, env_timeout_seconds=1.5)
    )
    assert "worker 0 (environments 0 to 0 of HangingEnv) did not answer" in text
    assert "env_timeout_seconds (1.5)" in text
    assert seconds < 60


class SlowEnv(envs.CountingEnv):
    def step(self, action: Any):
        time.sleep(0.01)
        return super().step(action)


def test_a_replay_may_take_longer_than_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make(SlowEnv, n_envs=2, length=100)
    env.reset(seed=0)
    for _ in range(20):
        env.step(zeros(env))
    state = env.get_state()
    monkeypatch.setattr(env._pool, "_timeout", 0.1)  # the replay takes at least 20 * 0.01 s
    assert env.set_state(state)[1].tolist() == [True, True]
    monkeypatch.undo()
    env.close()


def test_an_env_that_cannot_be_built_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="Text"):
        make(envs.SpaceEnv, space=gym.spaces.Text(3))


def test_an_exception_in_the_constructor_is_reported() -> None:
    with pytest.raises(EnvironmentFailedError, match=r"worker 0 .* TypeError.*'speed'"):
        make(envs.CountingEnv, speed=3)


class UnbuildableEnv(envs.CountingEnv):
    def __init__(self) -> None:
        raise ValueError("no display:\n  set DISPLAY")


def test_an_exception_of_several_lines_is_told_in_one() -> None:
    with pytest.raises(EnvironmentFailedError, match=r"ValueError: no display: set DISPLAY$"):
        make(UnbuildableEnv)


def test_workers_that_all_fail_print_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(5):  # the second worker may find the connection closed already
        with pytest.raises(EnvironmentFailedError, match="TypeError"):
            make(envs.CountingEnv, speed=3)
    assert capfd.readouterr() == ("", "")


def test_what_cannot_be_pickled_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="vectorization: sync"):
        SubprocessVectorEnv([lambda: envs.CountingEnv()] * 2, env_id="x")


def test_a_closed_env_says_so() -> None:
    env = make(envs.CountingEnv)
    env.reset(seed=0)
    pids = env.worker_pids
    env.close()
    env.close()
    assert not any(map(is_alive, pids))
    with pytest.raises(EnvironmentFailedError, match="have ended"):
        env.step(zeros(env))
    with pytest.raises(EnvironmentFailedError, match="have ended"):
        env.reset()


def test_an_interrupted_step_leaves_the_env_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make(envs.CountingEnv, length=50)
    env.reset(seed=0)
    pool = env._pool
    receive = pool._receive

    def interrupt(*args: Any) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(pool, "_receive", interrupt)
    with pytest.raises(KeyboardInterrupt):
        env.step(zeros(env))
    monkeypatch.setattr(pool, "_receive", receive)
    assert env.step(zeros(env))[0].tolist() == [[2.0]] * 3  # the interrupted step was taken
    assert env.get_state()["n_steps"] == 2
    env.close()


# -- the parent's end -----------------------------------------------------------------------------

SCRIPT = """
import signal, sys, time
import numpy as np
from functools import partial
from tests.helpers import envs
from utils.vector_envs import SubprocessVectorEnv

def main():
    kwargs = {kwargs}
    signal.alarm(300)  # whatever becomes of the test
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # raises a KeyboardInterrupt
    env = SubprocessVectorEnv([partial(envs.{env}, **kwargs)] * 4, env_id="x", n_workers=2,
                              start_method="{method}")
    env.reset(seed=0)
    try:
        print(*env.worker_pids, flush=True)
        while True:
            env.step(np.zeros(4, int))
            time.sleep(0.01)
    except KeyboardInterrupt:
        env.step(np.zeros(4, int))  # the workers have not been interrupted
        env.close()
        print("stopped", flush=True)

if __name__ == "__main__":
    main()
"""


def start_script(
    tmp_path: Path, method: str, env: str = "CountingEnv", kwargs: dict | None = None
) -> tuple[subprocess.Popen, list[int]]:
    path = tmp_path / "script.py"
    text = SCRIPT.replace("{kwargs}", repr(kwargs or {})).replace("{env}", env)
    path.write_text(textwrap.dedent(text.replace("{method}", method)))
    process = subprocess.Popen(
        [sys.executable, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    pids = [int(word) for word in process.stdout.readline().split()]
    assert len(pids) == 2, process.communicate()
    assert all(map(is_alive, pids))
    return process, pids


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_workers_end_when_the_parent_is_killed(tmp_path: Path, method: str) -> None:
    process, pids = start_script(tmp_path, method)
    process.kill()
    process.wait()
    assert wait_until_gone(pids, 60)
    process.communicate()


def test_workers_end_when_the_parent_is_killed_while_a_step_hangs(tmp_path: Path) -> None:
    process, pids = start_script(
        tmp_path, "fork", env="HangingEnv", kwargs={"at_step": 2, "at_seed": 0}
    )
    time.sleep(0.1)
    process.kill()
    process.wait()
    assert wait_until_gone(pids, 60)
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_all_is_the_parents_to_decide_and_leaves_nothing(
    tmp_path: Path, number: signal.Signals
) -> None:
    process, pids = start_script(tmp_path, "spawn")
    # A terminal sends Ctrl-C to the whole group, and so do job schedulers with SIGTERM.
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=60)  # an importing machine under load is slow
    assert (process.returncode, out, err) == (0, "stopped\n", "")
    assert not any(map(is_alive, pids))


@pytest.mark.parametrize("kwargs", [{}, pytest.param({"at_step": 0}, marks=pytest.mark.slow)])
def test_a_parent_that_forgets_to_close_leaves_nothing(
    tmp_path: Path, kwargs: dict[str, int]
) -> None:
    path = tmp_path / "script.py"
    path.write_text(
        textwrap.dedent(
            f"""
            import signal
            from functools import partial
            from tests.helpers import envs
            from utils.vector_envs import SubprocessVectorEnv
            if __name__ == "__main__":
                make = partial(envs.{"HangingEnv" if kwargs else "CountingEnv"}, **{kwargs})
                env = SubprocessVectorEnv([make] * 2, env_id="x", n_workers=2)
                print(*env.worker_pids, flush=True)
                signal.signal(signal.SIGALRM, signal.default_int_handler)
                signal.setitimer(signal.ITIMER_REAL, {0.2 if kwargs else 0})
                try:
                    env.reset()  # a hanging one goes on until the alarm
                except KeyboardInterrupt:
                    pass
                raise SystemExit("bye")
            """
        )
    )
    result = subprocess.run(
        [sys.executable, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert result.stderr == "bye\n"
    assert not any(map(is_alive, map(int, result.stdout.split())))


def test_no_file_is_left_in_shared_memory() -> None:
    def names() -> set[str]:
        return {p.name for p in Path("/dev/shm").glob("environments-*")}

    before = names()
    env = make(envs.CountingEnv)
    assert names() == before
    env.close()


def test_workers_do_not_load_torch() -> None:
    code = "import sys, utils.vector_envs.worker; print('torch' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout == "False\n"


def test_what_is_started_later_can_be_ended_by_signals(tmp_path: Path) -> None:
    path = tmp_path / "main.py"
    path.write_text(
        textwrap.dedent(
            """
            import multiprocessing, time
            from multiprocessing import resource_tracker
            from tests.helpers import envs
            from utils.vector_envs import SubprocessVectorEnv
            if __name__ == "__main__":
                resource_tracker.ensure_running()
                SubprocessVectorEnv(
                    [envs.CountingEnv], env_id="x", n_workers=1, start_method="forkserver"
                ).close()
                context = multiprocessing.get_context("forkserver")
                sleeper = context.Process(target=time.sleep, args=(60,), daemon=True)
                sleeper.start()
                sleeper.terminate()
                sleeper.join(10)
                print(sleeper.exitcode)
                sleeper.kill()
            """
        )
    )
    result = subprocess.run(
        [sys.executable, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (result.stdout, result.stderr) == ("-15\n", "")
