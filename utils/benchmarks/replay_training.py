"""Trainings from a replay buffer with equal settings: which ones, and how the peer makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Train = Callable[[], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayTask:
    """One training with equal settings on both sides."""

    config_id: str
    overrides: tuple[str, ...]
    """What makes ours equal to the peer's."""
    peer: str
    """Class name in stable_baselines3."""
    peer_settings: Mapping[str, Any] = field(default_factory=dict)
    """Its arguments beside policy, environment, seed and device."""
    net_arch: tuple[int, ...] = (256, 256)
    timesteps: int = 10_000


# hyperparams/dqn.yml of RL Baselines3 Zoo; there every target is the maximum of one network.
TASKS: dict[str, ReplayTask] = {
    "dqn CartPole-v1": ReplayTask(
        config_id="CartPole-v1:dqn",
        overrides=("policy_lr=2.3e-3",),  # the peer's target is copied once in each round, too
        peer="DQN",
        peer_settings={
            "learning_rate": 2.3e-3,
            "batch_size": 64,
            "buffer_size": 100_000,
            "learning_starts": 1000,
            "gamma": 0.99,
            "target_update_interval": 10,
            "train_freq": 256,
            "gradient_steps": 128,
            "exploration_fraction": 0.16,
            "exploration_final_eps": 0.04,
        },
    ),
    "dqn LunarLander-v3": ReplayTask(
        config_id="LunarLander-v3:dqn",
        overrides=(
            "policy_lr=6.3e-4",
            "batch_size=128",
            "buffer_transitions=50000",
            "learning_starts_timesteps=100",
            "train_every_vec_steps=4",
            "replay_ratio=1.0",
            "n_step=1",
            "double=false",
            "policy_kwargs.hidden_dims=[256,256]",
            "reward_scale=1.0",
            "target_update_timesteps=250",
            "gamma=0.99",
            "epsilon={start: 1.0, end: 0.1, to: 0.12}",
        ),
        peer="DQN",
        peer_settings={
            "learning_rate": 6.3e-4,
            "batch_size": 128,
            "buffer_size": 50_000,
            "learning_starts": 100,
            "gamma": 0.99,
            "target_update_interval": 250,
            "train_freq": 4,
            "gradient_steps": -1,
            "exploration_fraction": 0.12,
            "exploration_final_eps": 0.1,
        },
        timesteps=4_000,
    ),
    # The peer's own defaults; those of the paper but for the learning rate's schedule.
    "sac Pendulum-v1": ReplayTask(
        config_id="Pendulum-v1:sac",
        overrides=("policy_lr=3e-4", "learning_starts_timesteps=256"),
        peer="SAC",
        peer_settings={"learning_rate": 3e-4, "learning_starts": 256},
        timesteps=2_000,
    ),
}


def prepare_sb3(task: ReplayTask, seed: int, *, timesteps: int, device: str) -> Train:
    """Build the peer's training."""
    import stable_baselines3

    peer = getattr(stable_baselines3, task.peer)
    model = peer(
        "MlpPolicy",
        task.config_id.partition(":")[0],
        policy_kwargs={"net_arch": list(task.net_arch)},
        seed=seed,
        device=device,
        **task.peer_settings,
    )

    def train() -> None:
        model.learn(timesteps)
        model.env.close()

    return train
