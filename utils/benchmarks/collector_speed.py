"""Steps per second of collecting rollouts: ours, SB3's, and stepping alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from utils.benchmarks.contest import Contestant
from utils.benchmarks.vecenv_speed import draw_actions
from utils.environment import build_env
from utils.policy_factory import PolicySettings, build_policy
from utils.returns import generalized_advantage
from utils.rollouts import Collector, RolloutBuffer

PEER = "SB3 collect_rollouts"
GAMMA, GAE_LAMBDA = 0.99, 0.95
HIDDEN_DIMS = (64, 64)


def enter_contestants(
    stack: ExitStack, env_id: str, *, n_envs: int, n_steps: int
) -> list[Contestant]:
    """Build the collectors for an id, with equal networks: two of 64-64 tanh units.

    Each fills rollouts of `n_steps` and computes its advantages, as SB3's collection does.

    Args:
        stack: Closes the environments.
        env_id: Gymnasium id with vector observations.
        n_envs: Number of environments.
        n_steps: Vector steps of a rollout.

    Returns:
        Contestants whose unit is one environment step.
    """
    return [
        Contestant("ours: Collector", _ours(stack, env_id, n_envs, n_steps)),
        Contestant(PEER, _sb3(stack, env_id, n_envs, n_steps)),
        Contestant("ours: environments alone", _bare(stack, env_id, n_envs)),
    ]


def _ours(stack: ExitStack, env_id: str, n_envs: int, n_steps: int) -> Callable[[], int]:
    env = build_env(env_id, n_envs=n_envs, vectorization="sync")
    stack.callback(env.close)
    settings = PolicySettings(
        hidden_dims=HIDDEN_DIMS,
        activation="tanh",
        orthogonal_init=True,
        share_trunk=False,
        log_std_init=0.0,
        feature_dim=512,
        normalize_obs="none",
        clip_obs=10.0,
        has_critic=True,
    )
    policy = build_policy(env.single_observation_space, env.single_action_space, settings)
    generator = torch.Generator()
    generator.manual_seed(0)
    collector = Collector(env, policy, device=torch.device("cpu"), generator=generator)
    collector.reset(seed=0)
    buffer = RolloutBuffer(
        n_steps=n_steps,
        n_envs=n_envs,
        observation_space=env.single_observation_space,
        distribution=policy.distribution,
    )

    def advance() -> int:
        summary = collector.collect(buffer, n_steps=n_steps)
        generalized_advantage(
            reward=buffer.reward,
            value=buffer.value,
            next_value=buffer.next_value,
            terminated=buffer.terminated,
            done=buffer.done,
            gamma=GAMMA,
            gae_lambda=GAE_LAMBDA,
        )
        return summary.n_timesteps

    return advance


def _sb3(stack: ExitStack, env_id: str, n_envs: int, n_steps: int) -> Callable[[], int]:
    env = make_vec_env(env_id, n_envs, seed=0)
    stack.callback(env.close)
    arch = {"pi": list(HIDDEN_DIMS), "vf": list(HIDDEN_DIMS)}
    model = PPO(
        "MlpPolicy",
        env,
        n_steps=n_steps,
        batch_size=n_envs * n_steps,
        gamma=GAMMA,
        gae_lambda=GAE_LAMBDA,
        policy_kwargs={"net_arch": arch, "activation_fn": torch.nn.Tanh},
        device="cpu",
    )
    # What `learn` does before its first rollout: it makes the callback and resets the environments.
    _, callback = model._setup_learn(total_timesteps=10**9)

    def advance() -> int:
        model.collect_rollouts(model.env, callback, model.rollout_buffer, n_steps)
        return n_envs * n_steps

    return advance


def _bare(stack: ExitStack, env_id: str, n_envs: int) -> Callable[[], int]:
    env = build_env(env_id, n_envs=n_envs, vectorization="sync")
    stack.callback(env.close)
    env.reset(seed=0)
    actions = draw_actions(env_id, n_envs=n_envs)

    def advance() -> int:
        for action in actions:
            env.step(action)
        return len(actions) * n_envs

    return advance
