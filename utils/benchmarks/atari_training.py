"""Stable-Baselines3's trainings on pictures, advanced one rollout and update at a time."""

from __future__ import annotations

from contextlib import ExitStack

from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_atari_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv, VecFrameStack

from utils.benchmarks.contest import Contestant

PEER_ENV_ID = "ale_py:PongNoFrameskip-v4"  # worker processes must import what registers it
PEER_N_ENVS, PEER_N_STEPS = 8, 128


def build_peers(name: str, *, device: str, stack: ExitStack) -> list[Contestant]:
    """Build the peer's trainings.

    Args:
        name: Of the one with its default vector environment.
        device: Where the networks live.
        stack: Closes the environments.
    """
    return [
        _build_sb3(name, DummyVecEnv, device, stack),
        _build_sb3(f"{name}, processes", SubprocVecEnv, device, stack),
    ]


def _build_sb3(name: str, vec_env: type[VecEnv], device: str, stack: ExitStack) -> Contestant:
    kwargs = {"start_method": "spawn"} if vec_env is SubprocVecEnv else {}
    games = make_atari_env(
        PEER_ENV_ID, PEER_N_ENVS, seed=0, vec_env_cls=vec_env, vec_env_kwargs=kwargs
    )
    env = VecFrameStack(games, 4)
    stack.callback(env.close)
    model = PPO(
        "CnnPolicy",
        env,
        n_steps=PEER_N_STEPS,
        batch_size=256,
        n_epochs=4,
        learning_rate=2.5e-4,
        clip_range=0.1,
        ent_coef=0.01,
        vf_coef=0.5,
        device=device,
    )

    def advance() -> int:
        before = model.num_timesteps
        model.learn(PEER_N_ENVS * PEER_N_STEPS, reset_num_timesteps=False)
        return model.num_timesteps - before

    return Contestant(name, advance, has_processes=True)
