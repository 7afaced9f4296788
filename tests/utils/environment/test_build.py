from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from utils.environment import build_env, build_env_from_config, build_evaluation_env
from utils.errors import ConfigError, MissingDependencyError
from utils.vector_envs import InProcessVectorEnv, SubprocessVectorEnv

ROOT = Path(__file__).resolve().parents[3]
CONFIG = {
    "env_id": "CartPole-v1",
    "n_envs": 2,
    "vectorization": "auto",
    "env_kwargs": {},
    "env_wrappers": [],
    "max_episode_steps": None,
    "grayscale_obs": False,
    "resize_obs": None,
    "frame_stack": 1,
    "channel_order": "auto",
    "action_masks": False,
    "n_workers": None,
    "start_method": "spawn",
    "env_timeout_seconds": 60.0,
    "device": "cpu",
}


def zeros(env: Any) -> np.ndarray:
    return np.zeros(env.num_envs, int)


def first_end(env: Any, action: int = 0) -> tuple[int, bool, bool]:
    env.reset(seed=0)
    for count in range(1, 2000):
        _, _, terminated, truncated, _ = env.step(np.full(env.num_envs, action))
        if terminated[0] or truncated[0]:
            return count, bool(terminated[0]), bool(truncated[0])
    raise AssertionError("no end")


@pytest.mark.parametrize(
    ("env_id", "limit", "threshold"),
    [
        ("CartPole-v1", 500, 475.0),
        ("MountainCar-v0", 200, -110.0),
        ("Pendulum-v1", 200, None),
        ("Taxi-v4", 200, 8.0),
        ("CliffWalking-v1", None, None),
        ("Blackjack-v1", None, None),
    ],
)
def test_facts_of_registered_envs(env_id: str, limit: int | None, threshold: float | None) -> None:
    env = build_env(env_id, n_envs=2, vectorization="sync")
    assert (env.env_id, env.num_envs) == (env_id, 2)
    assert (env.max_episode_steps, env.reward_threshold) == (limit, threshold)
    assert env.vectorization_name == "sync"
    obs, _ = env.reset(seed=0)
    assert env.observation_space.contains(obs)
    for _ in range(20):
        obs, *_ = env.step(env.action_space.sample())
        assert env.observation_space.contains(obs)
    env.close()


@pytest.mark.parametrize("limit", [7, 1000])
def test_the_time_limit_of_the_config_is_the_only_one(limit: int) -> None:
    # MountainCar at rest never ends by itself; its own limit is 200.
    env = build_env("MountainCar-v0", n_envs=1, max_episode_steps=limit)
    assert env.max_episode_steps == limit
    assert first_end(env, action=1) == (limit, False, True)


def test_picture_options_reach_the_observation() -> None:
    pytest.importorskip("cv2")
    env = build_env(
        "tests.helpers.envs:Picture-v0",
        n_envs=2,
        grayscale_obs=True,
        resize_obs=[20, 30],
        frame_stack=4,
        channel_order="last",
    )
    assert env.reset(seed=0)[0].shape == env.observation_space.shape == (2, 4, 20, 30)


def test_wrappers_are_applied_in_order_around_the_time_limit() -> None:
    env = build_env(
        "tests.helpers.envs:RewardList-v0",
        n_envs=1,
        env_wrappers=[
            {"id": "ClipReward", "low": -2.0, "high": 2.0},
            {"id": "ClipReward", "low": -9.0, "high": 1.5},
        ],
    )
    env.reset(seed=0)
    _, reward, _, _, infos = env.step(zeros(env))
    assert (reward.tolist(), infos["raw_reward"].tolist()) == ([1.5], [5.0])


def test_a_life_loss_wrapper_keeps_the_true_episode_apart() -> None:
    env = build_env("tests.helpers.envs:Lives-v0", n_envs=1, env_wrappers=[{"id": "EpisodicLife"}])
    env.reset(seed=0)
    ends, total, over_at = 0, 0.0, []
    for count in range(1, 31):
        _, reward, terminated, _, infos = env.step(zeros(env))
        ends += int(terminated[0])
        total += float(reward[0])
        over_at += [count] if infos["episode_over"][0] else []
    assert (ends, total, over_at) == (3, 30.0, [30])


def test_env_kwargs_are_not_shared_between_envs() -> None:
    env = build_env("FrozenLake-v1", n_envs=2, env_kwargs={"is_slippery": False})
    env.reset(seed=0)
    # Without slipping, "right" moves from field 0 to field 1.
    assert env.step(np.array([2, 2]))[0].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"env_id": "CartPol-v1"}, "no environment 'CartPol-v1'; did you mean CartPole-v1"),
        ({"env_id": "CartPole-v9"}, "did you mean CartPole-v1"),
        ({"env_id": "Taxi-v3"}, "Taxi-v3 is retired: .* `Taxi-v4`"),
        ({"env_id": "no_such_module:X-v0"}, "no module 'no_such_module'"),
        ({"env_kwargs": {"sutton": True}}, "takes no 'sutton'; did you mean sutton_barto_reward"),
        ({"env_wrappers": [{"id": "ClipRewrd"}]}, "did you mean ClipReward"),
        ({"env_wrappers": [{"id": "ClipReward", "low": "a"}]}, "ClipReward: low must be a number"),
        ({"env_wrappers": [{"id": "StateCountBonus", "cell_size": "a"}]}, "cannot be made with"),
        ({"vectorization": "threads"}, "'threads' is not one of auto, sync, async, native"),
        ({"env_id": "FrozenLake-v1", "env_kwargs": {"map_name": "9x9"}}, "map_name.*KeyError"),
    ],
)
@pytest.mark.parametrize("vectorization", ["sync", "async"])
def test_mistakes_are_config_errors(
    arguments: dict[str, Any], message: str, vectorization: str
) -> None:
    settings = {"env_id": "CartPole-v1", "vectorization": vectorization, **arguments}
    with pytest.raises(ConfigError, match=message):
        build_env(settings.pop("env_id"), n_envs=2, start_method="fork", **settings)


@pytest.mark.parametrize(
    ("package", "env_id", "written", "meant"),
    [
        ("minigrid", "MiniGrid-Empty-5x5-v0", "observaton", "observation"),
        ("mujoco", "Hopper-v5", "healty_reward", "healthy_reward"),
    ],
)
def test_an_argument_that_is_handed_on_and_refused_is_named(
    package: str, env_id: str, written: str, meant: str
) -> None:
    pytest.importorskip(package)
    with pytest.raises(ConfigError, match=f"takes no '{written}'; did you mean {meant}"):
        build_env(env_id, n_envs=1, env_kwargs={written: 1})


@pytest.fixture
def without_box2d_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("gymnasium.envs.box2d")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.usefixtures("without_box2d_imported")
@pytest.mark.parametrize("package", ["Box2D", "pygame"])
def test_a_missing_package_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    if package != "Box2D":
        pytest.importorskip("Box2D")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        MissingDependencyError, match=rf"the package '{package}'.*gymnasium-solver\[box2d\]"
    ):
        build_env("LunarLander-v3", n_envs=1)


@pytest.mark.usefixtures("without_box2d_imported")
def test_a_package_that_is_there_and_broken_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("Box2D", "Box2D.b2"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))  # holds nothing to import
    with pytest.raises(ConfigError, match=r"LunarLander-v3 needs a package: .*cannot import name"):
        build_env("LunarLander-v3", n_envs=1)


def test_vectorization_is_chosen_by_name_or_by_cost() -> None:
    with build_closing("CartPole-v1", vectorization="async", start_method="fork") as env:
        assert isinstance(env, SubprocessVectorEnv)
    with build_closing("Blackjack-v1", vectorization="auto") as env:
        assert isinstance(env, InProcessVectorEnv)


class build_closing:  # noqa: N801 - used like a function
    def __init__(self, env_id: str, **kwargs: Any) -> None:
        self.env = build_env(env_id, n_envs=2, **kwargs)

    def __enter__(self) -> Any:
        return self.env

    def __exit__(self, *_: object) -> None:
        self.env.close()


def test_config_and_overrides_reach_the_env() -> None:
    config = SimpleNamespace(**CONFIG | {"max_episode_steps": 30})
    env = build_env_from_config(config)
    assert (env.num_envs, env.max_episode_steps, env.render_mode) == (2, 30, None)
    env = build_env_from_config(config, n_envs=3, max_episode_steps=40, render_mode="rgb_array")
    assert (env.num_envs, env.max_episode_steps, env.render_mode) == (3, 40, "rgb_array")
    env.reset(seed=0)
    assert [frame.shape for frame in env.render()] == [(400, 600, 3)] * 3
    assert env.render_fps == 50
    env.close()


def test_frames_show_the_episode_that_is_on() -> None:
    env = build_env("tests.helpers.envs:Drawing-v0", n_envs=1, render_mode="rgb_array")
    env.reset(seed=0)
    seen = []
    for _ in range(6):
        red, green, _ = env.render()[0][0, 0].tolist()
        seen.append((red // 40, green // 20))
        env.step(zeros(env))
    # Episode 0 has 5 steps; after its end the frame is the next episode's first.
    assert seen == [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0)]
    assert env.render_fps == 12


MAIN = """
import gymnasium as gym
import numpy as np
from gym_wrappers import EnvWrapperRegistry
from utils.environment import build_env

class Doubling(gym.Wrapper):
    def step(self, action):
        observation, reward, *rest = self.env.step(action)
        return observation * 2, reward, *rest

class OwnEnv(gym.Env):
    observation_space = gym.spaces.Box(0, 99, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)
    def __init__(self, bonus=0):
        self.bonus = bonus
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}
    def step(self, action):
        return np.full(1, 3 + self.bonus, np.float32), 1.0, False, False, {}

if __name__ == "__main__":
    # Registered by the main program only: a worker's own registries stay empty.
    gym.register("Own-v0", entry_point=OwnEnv, max_episode_steps=9)
    EnvWrapperRegistry.register("Doubling", Doubling)
    env = build_env("Own-v0", n_envs=2, vectorization="async", start_method="METHOD", n_workers=1,
                    env_kwargs={"bonus": 1}, env_wrappers=[{"id": "Doubling"}])
    env.reset(seed=0)
    print(env.step(np.zeros(2, int))[0].tolist(), env.max_episode_steps)
    env.close()
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_what_only_the_main_program_registers_works_in_workers(tmp_path: Path, method: str) -> None:
    script = tmp_path / "main.py"
    script.write_text(MAIN.replace("METHOD", method))
    result = subprocess.run(
        [sys.executable, str(script)],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (result.stdout, result.stderr) == ("[[8.0], [8.0]] 9\n", "")


def test_a_module_in_the_id_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_registrations.py").write_text(
        "import gymnasium\n"
        "gymnasium.register('Named-v0', entry_point='tests.helpers.envs:CountingEnv')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    env = build_env("own_registrations:Named-v0", n_envs=1)
    del gym.registry["Named-v0"]
    assert first_end(env) == (5, True, False)


@pytest.mark.parametrize(
    ("limit", "of_evaluations", "end"), [(5, 8, 8), (8, 5, 8), (5, None, 5), (None, 5, 200)]
)
def test_evaluations_may_be_longer_than_what_training_cuts_short(limit, of_evaluations, end):
    settings = CONFIG | {"env_id": "Pendulum-v1", "max_episode_steps": limit}
    judged = {"eval_max_episode_steps": of_evaluations, "eval_n_envs": 1, "resolved_eval_n_envs": 1}
    env = build_evaluation_env(SimpleNamespace(**settings, **judged))
    env.action_space.seed(0)
    env.reset(seed=0)
    n_steps = 1
    while not env.step(env.action_space.sample())[3][0]:
        n_steps += 1
    env.close()
    assert n_steps == end
