from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium import spaces

from utils.smoke import environments

CONFIG = SimpleNamespace(env_id="Some-v0")


class ScriptedEnv:
    """Answers every step alike, and says whether it was closed."""

    single_observation_space = spaces.Box(0, 1, (1,), np.float32)
    observation_space = spaces.Box(0, 1, (2, 1), np.float32)
    action_space = spaces.MultiDiscrete([2, 2])

    def __init__(self, **answer):
        self.answer = {
            "observation": np.zeros((2, 1), np.float32),
            "reward": np.zeros(2),
            "terminated": np.zeros(2, bool),
            "truncated": np.zeros(2, bool),
            "infos": {},
            "frame": np.arange(48, dtype=np.uint8).reshape(4, 4, 3),
        } | answer
        self.is_closed = False

    def reset(self, *, seed):
        return np.zeros((2, 1), np.float32), {}

    def step(self, action):
        return tuple(
            self.answer[name]
            for name in ("observation", "reward", "terminated", "truncated", "infos")
        )

    def render(self):
        return (self.answer["frame"],)

    def close(self):
        self.is_closed = True


@pytest.fixture
def try_env(monkeypatch):
    def try_env(env):
        monkeypatch.setattr(environments, "load_config", lambda config_id: CONFIG)
        monkeypatch.setattr(environments, "build_env_from_config", lambda config, **kwargs: env)
        return environments.step_at_random("Some-v0:ppo", timesteps=6)

    return try_env


def test_steps_episodes_and_frames_are_told(try_env):
    ones = np.array([True, False])
    env = ScriptedEnv(terminated=ones, infos={"final_obs": np.zeros((2, 1), np.float32)})
    # 6 timesteps of 2 environments are 3 vector steps; one episode ends in each; two ways to run.
    assert try_env(env) == "2 x 3 vector steps, 6 episodes, frames of 4x4"
    assert env.is_closed


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"observation": np.full((2, 1), 2, np.float32)}, "is not in Box"),
        ({"reward": np.array([0.0, np.nan])}, "reward"),
        (
            {"terminated": np.ones(2, bool), "truncated": np.ones(2, bool)},
            "both terminated and truncated",
        ),
        ({"terminated": np.ones(2, bool)}, "final_obs"),
        ({"infos": {"final_obs": 0}}, "final_obs"),
        ({"frame": np.zeros((4, 4, 3), np.uint8)}, "one colour"),
        ({"frame": np.ones((4, 4, 3), np.float32)}, "float32"),
    ],
)
def test_a_breach_of_the_contract_is_found_and_the_environment_closed(try_env, fault, message):
    env = ScriptedEnv(**fault)
    with pytest.raises(AssertionError, match=message):
        try_env(env)
    assert env.is_closed


def test_a_real_environment_passes():
    done = environments.step_at_random("FrozenLake-v1:ppo", timesteps=40)
    assert done.startswith("3 x 20 vector steps")
