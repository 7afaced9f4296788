"""Trainings on pictures that can be advanced a little at a time: ours, Stable-Baselines3's."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack

from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_atari_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv, VecFrameStack

from utils.benchmarks.contest import Contestant
from utils.config import load_config

CONFIG_ID = "ALE/Pong-v5:ppo_gpu"
PEER_ENV_ID = "ale_py:PongNoFrameskip-v4"  # worker processes must import what registers it
PEER_N_ENVS, PEER_N_STEPS = 8, 128


def build_contestants(
    *, device: str, n_envs: int, peer: str
) -> tuple[list[Contestant], Callable[[], None]]:
    """Build all trainings.

    Args:
        device: Where the networks live.
        n_envs: Environments of ours.
        peer: Name of the peer with its default vector environment.

    Returns:
        The contestants, and what closes their environments.
    """
    with ExitStack() as stack:
        contestants = [
            _build_ours(device, n_envs, stack),
            _build_sb3(peer, DummyVecEnv, device, stack),
            _build_sb3(f"{peer}, processes", SubprocVecEnv, device, stack),
        ]
        return contestants, stack.pop_all().close


def _build_ours(device: str, n_envs: int, stack: ExitStack) -> Contestant:
    """Train by the agent's own epochs: rollout, targets, update and metrics, without Lightning."""
    from agents import build_agent
    from agents.base_agent import hyperparameters_at

    logging.getLogger("gymnasium_solver").setLevel(logging.ERROR)
    config = load_config(CONFIG_ID, [f"device={device}", f"n_envs={n_envs}"])
    agent = build_agent(config)
    stack.callback(agent.close)
    agent.source.reset(seed=0)

    def advance() -> int:
        before = agent.counters.timesteps
        agent.hyperparameters |= hyperparameters_at(config, timesteps=before)
        agent.collect_rollout()
        (batch,) = agent.source.loader
        agent.learn_from(batch)
        agent.recorder.flush()
        return agent.counters.timesteps - before

    return Contestant("ours", advance, has_processes=True)


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
