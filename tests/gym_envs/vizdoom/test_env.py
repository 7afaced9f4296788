"""Doom itself: time-outs, last pictures, seeds, traces."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from utils.environment import build_env
from utils.errors import ConfigError

pytest.importorskip("vizdoom")

from gym_envs.vizdoom.registration import register

ROOT = Path(__file__).resolve().parents[3]
ENGINE = "vizdoom/vizdoom"


def make(env_id: str = "VizDoom-Basic", **kwargs) -> gym.Env:
    register()
    return gym.make(env_id, disable_env_checker=True, **kwargs)


def play(env: gym.Env, action: int, *, seed: int = 0) -> tuple[int, float, bool, bool]:
    """Repeat an action to the end; return steps, return, terminated, truncated."""
    env.reset(seed=seed)
    total = 0.0
    for count in range(1, 1000):
        _, reward, terminated, truncated, _ = env.step(action)
        total += reward
        if terminated or truncated:
            return count, total, terminated, truncated
    raise AssertionError("no end")


def engines(*, of: int | None = None) -> set[int]:
    """Return the processes of engines that run now; with `of`, those that this process started."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes()
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if of in (None, parent) and command.split(b"\0")[0].decode().endswith(ENGINE):
                found.add(int(folder.name))
    return found


def is_gone(pids: set[int], *, seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while pids & engines():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize(
    ("frame_skip", "n_steps"),
    [(4, 75), (7, 43)],  # 300 tics of 4 are 75 steps; of 7, 42 and one of 6 tics
)
def test_the_time_out_counts_tics_and_truncates(frame_skip, n_steps):
    env = make(frame_skip=frame_skip)
    assert env.spec.max_episode_steps == n_steps
    assert play(env, 0) == (n_steps, -300.0, False, True)  # less 1 a tic
    env.close()


@pytest.mark.parametrize("limit", [10, 100])
def test_another_limit_takes_the_place_of_the_time_out(limit):
    env = build_env("VizDoom-Basic", n_envs=1, max_episode_steps=limit)
    assert env.max_episode_steps == limit
    env.reset(seed=0)
    for _ in range(limit - 1):
        _, _, terminated, truncated, _ = env.step(np.zeros(1, int))
        assert not terminated[0]
        assert not truncated[0]
    assert env.step(np.zeros(1, int))[3][0]
    env.close()


def test_a_scenario_without_time_out_has_no_limit():
    env = make("VizDoom-DefendTheLine")
    assert env.spec.max_episode_steps is None
    env.close()


def test_the_picture_after_a_time_out_is_the_true_one():
    env, longer = make(max_steps=5), make(max_steps=6)
    for each in (env, longer):
        each.reset(seed=3)
    for _ in range(5):
        last, _, _, truncated, _ = env.step(1)
        true, _, _, goes_on, _ = longer.step(1)
    assert (truncated, goes_on) == (True, False)
    np.testing.assert_array_equal(last, true)
    assert last.std() > 10
    env.close()
    longer.close()


def test_where_an_episode_terminates_the_last_picture_is_given_again():
    env = make(actions=["ATTACK", "MOVE_LEFT+ATTACK", "MOVE_RIGHT+ATTACK"])
    rng = np.random.default_rng(0)
    for seed in range(20):
        before, _ = env.reset(seed=seed)
        terminated = truncated = False
        while not (terminated or truncated):
            observation, _, terminated, truncated, _ = env.step(int(rng.integers(3)))
            if not terminated:
                before = observation
        if terminated:
            break
    assert terminated
    assert not truncated
    np.testing.assert_array_equal(observation, before)
    assert observation is not before
    assert observation.std() > 10
    env.close()


def test_seeds_decide_the_pictures_whatever_was_played_before():
    env, other = make(), make()
    first, _ = env.reset(seed=5)
    frames = [env.step(a % 4)[0] for a in range(12)]
    env.reset(seed=6)
    env.step(2)
    for again in (other, env):
        np.testing.assert_array_equal(again.reset(seed=5)[0], first)
        for a, frame in enumerate(frames):
            np.testing.assert_array_equal(again.step(a % 4)[0], frame)
    assert (other.reset(seed=6)[0] != first).any()
    env.close()
    other.close()


def test_observations_hold_what_was_asked_for():
    env = make(
        game_variables=True,
        buffers=["depth", "labels"],
        screen_format="GRAY8",
        screen_resolution="RES_160X120",
        actions="multi_binary",
    )
    observation, info = env.reset(seed=0)
    assert observation in env.observation_space
    assert {key: value.shape for key, value in observation.items()} == {
        "screen": (120, 160, 1), "depth": (120, 160, 1), "labels": (120, 160, 1),
        "gamevariables": (1,),
    }  # fmt: skip
    assert observation["gamevariables"] == info["ammo2"] == 50
    for _ in range(6):
        observation, *_, info = env.step(np.array([0, 0, 1]))
    assert info["ammo2"] < 50
    env.close()

    named = make(game_variables=["HEALTH", "AMMO2"])
    assert named.reset(seed=0)[0]["gamevariables"].tolist() == [100.0, 50.0]
    named.close()


def test_frames_are_colour_pictures_of_their_own():
    for kwargs in ({}, {"screen_format": "GRAY8"}):
        env = make(render_mode="rgb_array", **kwargs)
        observation, _ = env.reset(seed=0)
        frame = env.render()
        assert (frame.shape, frame.dtype) == ((120, 160, 3), np.uint8)
        assert frame.std() > 10
        frame[:] = 0
        assert observation.std() > 10
        env.close()


@pytest.mark.parametrize(
    ("kwargs", "told"),
    [
        ({"frame_skip": 0}, "frame_skip: must be a whole number, at least 1, got 0"),
        ({"screen_resolution": "RES_160X121"}, "there is no 'RES_160X121'; choose RES_160X120"),
        ({"screen_format": "RGBA32"}, "there is no 'RGBA32'; choose RGB24 or GRAY8"),
        ({"buffers": ["depht"]}, "there is no 'depht'; choose depth or labels or automap"),
        ({"buffers": "depth"}, "buffers: must be a list of names, got 'depth'"),
        ({"game_variables": "HEALTH"}, "game_variables: must be a list of names, got 'HEALTH'"),
        ({"game_variables": ["HEALTHY"]}, "there is no 'HEALTHY'; choose HEALTH"),
        ({"doom_skill": 6}, "doom_skill: must be a whole number, 1 to 5, got 6"),
        ({"frameskip": 4}, "takes no 'frameskip'; did you mean frame_skip"),
        ({"doom_map": "MAP99"}, "doom_map: there is no level 'MAP99'; choose MAP"),
        ({"doom_map": "E1M2"}, "doom_map: there is no level 'E1M2'; choose MAP"),
    ],
)
def test_wrong_settings_are_told(kwargs, told):
    with pytest.raises(ConfigError, match=told):
        build_env("VizDoom-Basic", n_envs=1, env_kwargs=kwargs)


def test_processes_give_the_same_as_this_one():
    options = {"n_envs": 3, "grayscale_obs": True, "resize_obs": (30, 40), "frame_stack": 2}
    here = build_env("VizDoom-Basic", vectorization="sync", **options)
    there = build_env("VizDoom-Basic", vectorization="async", n_workers=2, **options)
    np.testing.assert_array_equal(here.reset(seed=1)[0], there.reset(seed=1)[0])
    rng = np.random.default_rng(0)
    for _ in range(80):  # time is up after 75
        actions = rng.integers(4, size=3)
        left, right = here.step(actions), there.step(actions)
        for a, b in zip(left[:4], right[:4], strict=True):
            np.testing.assert_array_equal(a, b)
        assert left[4].keys() == right[4].keys()
    here.close()
    there.close()


def test_running_episodes_are_restored():
    env, fresh = (build_env("VizDoom-Basic", n_envs=2, vectorization="sync") for _ in range(2))
    env.reset(seed=4)
    for _ in range(78):  # into the second episodes
        observation, *_ = env.step(np.array([1, 0]))
    again, restored = fresh.set_state(env.get_state())
    assert restored.all()
    np.testing.assert_array_equal(again, observation)
    np.testing.assert_array_equal(env.step(np.array([2, 3]))[0], fresh.step(np.array([2, 3]))[0])
    env.close()
    fresh.close()


def test_nothing_is_written_and_no_process_is_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = os.getpid()  # other programs may run engines too
    before, memory = engines(of=own), set(Path("/dev/shm").glob("ViZDoom*"))
    envs = [make() for _ in range(2)]
    started = engines(of=own) - before
    assert len(started) == 2
    for env in envs:
        env.reset(seed=0)
        env.step(0)
        env.close()
        env.close()
    assert is_gone(started)
    assert list(tmp_path.iterdir()) == []
    assert set(Path("/dev/shm").glob("ViZDoom*")) <= memory


@pytest.mark.skipif(sys.platform != "linux", reason="a process's death is told by Linux alone")
def test_a_killed_program_leaves_neither_engine_nor_memory(tmp_path):
    program = (
        "import sys, time, gymnasium as gym\n"
        "from gym_envs.vizdoom.registration import register\n"
        "register(); env = gym.make('VizDoom-Basic'); env.reset(); print('on', flush=True)\n"
        "time.sleep(60)\n"
    )
    before, memory = engines(), set(Path("/dev/shm").glob("ViZDoom*"))
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout.readline() == b"on\n"
        started = engines() - before
        assert started
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert is_gone(started)
    assert set(Path("/dev/shm").glob("ViZDoom*")) <= memory
    assert list(tmp_path.iterdir()) == []


def test_a_ctrl_c_in_the_terminal_is_not_for_the_engine():
    before = engines()
    env = make()
    for pid in engines() - before:
        assert os.getpgid(pid) != os.getpgrp()
    env.reset(seed=0)
    old = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        os.kill(os.getpid(), signal.SIGINT)
        assert env.step(0)[1] == -4.0
    finally:
        signal.signal(signal.SIGINT, old)
    env.close()
