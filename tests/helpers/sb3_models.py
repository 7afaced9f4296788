"""Small untrained models of Stable-Baselines3, and environments whose observations are drawn."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import stable_baselines3 as sb3
import torch
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

from utils.sb3_policies.importing import import_model

BOX = gym.spaces.Box(np.array([-2.0, -1.0], np.float32), np.array([3.0, 1.0], np.float32))
VECTOR = gym.spaces.Box(-3.0, 3.0, (5,), np.float32)
PICTURE = gym.spaces.Box(0, 255, (40, 36, 3), np.uint8)
MIXED = gym.spaces.Dict(
    {
        "picture": gym.spaces.Box(0, 255, (3, 36, 36), np.uint8),
        "number": gym.spaces.Discrete(4),
        "vector": VECTOR,
    }
)


class Drawn(gym.Env):
    """Observations and rewards drawn evenly, from any spaces."""

    def __init__(self, observation, action, length=9):
        self.observation_space, self.action_space = observation, action
        self.length = length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.t = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.t += 1
        return self.observation_space.sample(), 1.0, self.t == self.length, False, {}


SPACES = {
    "vector-discrete": (VECTOR, gym.spaces.Discrete(3)),
    "vector-multi": (VECTOR, gym.spaces.MultiDiscrete([3, 2])),
    "vector-bits": (VECTOR, gym.spaces.MultiBinary(3)),
    "vector-box": (VECTOR, BOX),
    "choice-discrete": (gym.spaces.Discrete(6), gym.spaces.Discrete(3)),
    "choices-discrete": (gym.spaces.MultiDiscrete([3, 4]), gym.spaces.Discrete(3)),
    "bits-discrete": (gym.spaces.MultiBinary(4), gym.spaces.Discrete(3)),
    "picture-discrete": (PICTURE, gym.spaces.Discrete(3)),
    "picture-box": (PICTURE, BOX),
    "mixed-discrete": (MIXED, gym.spaces.Discrete(3)),
    "mixed-box": (MIXED, BOX),
}
for _name, (_observation, _action) in SPACES.items():
    gym.register(
        f"Drawn-{_name}-v0",
        entry_point=Drawn,
        kwargs={"observation": _observation, "action": _action},
    )


def env_of(name, *, n_stack=1, normalize=None):
    env = DummyVecEnv([lambda: gym.make(f"Drawn-{name}-v0")] * 2)
    if normalize == "inside":
        env = VecNormalize(env, norm_reward=False)
    if n_stack > 1:
        env = VecFrameStack(env, n_stack)
    if normalize == "outside":
        env = VecNormalize(env, norm_reward=False, clip_obs=1.0)
    return env


def shaken(model):
    """Change all weights, so that every one of them has a say; untrained heads are nearly 0."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.policy.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return model


def make(algorithm, policy, env, **changes):
    settings = {"device": "cpu", "seed": 5, **changes}
    if algorithm in ("DQN", "SAC", "TD3", "DDPG"):
        settings = {"buffer_size": 200, "learning_starts": 10, **settings}
    if algorithm in ("PPO", "A2C"):
        settings = {"n_steps": 8, **settings}
    if algorithm == "PPO":
        settings = {"batch_size": 8, **settings}
    return getattr(sb3, algorithm)(policy, env, **settings)


def small(**changes):
    return {"net_arch": [8, 7], **changes}


def import_it(tmp_path, model, name, **changes):
    path = tmp_path / "model.zip"
    model.save(path)
    settings = {"vec_normalize": None, "runs_dir": tmp_path / "runs"} | changes
    return import_model(path, env_id=f"Drawn-{name}-v0", **settings)
