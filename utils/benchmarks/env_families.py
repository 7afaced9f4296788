"""Steps per second of our collector with a trivial policy, beside the bare environments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from utils.benchmarks.contest import Contestant
from utils.distributions import ActionDistribution
from utils.environment import build_env
from utils.environment.families.standard import find_spec, make_env
from utils.environment.families.table import family_of
from utils.errors import MissingAssetError, MissingDependencyError
from utils.normalization import ObservationNormalizer
from utils.policy_factory import PolicyStep, build_distribution
from utils.rollouts import Collector, RolloutBuffer

OURS = "ours: collector"
BARE = "bare environments"
N_STEPS = 32
"""Of one rollout."""
_MOST_ACTIONS = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """One environment that stands for its family.

    Attributes:
        env_id: Its id.
        n_envs: Environments side by side.
        env_kwargs: Arguments of its constructor.
    """

    env_id: str
    n_envs: int = 16
    env_kwargs: dict[str, Any] = field(default_factory=dict)


SUBJECTS = (
    Subject(env_id="CartPole-v1"),
    Subject(env_id="FrozenLake-v1"),
    Subject(env_id="LunarLander-v3"),
    Subject(env_id="BipedalWalker-v3"),
    Subject(env_id="CarRacing-v3", n_envs=2),
    Subject(env_id="HalfCheetah-v5"),
    Subject(env_id="Ant-v5"),
    Subject(env_id="dm_control/cartpole-swingup"),
    Subject(env_id="dm_control/walker-walk"),
    Subject(env_id="MiniGrid-DoorKey-5x5-v0"),
    Subject(env_id="BabyAI-GoToLocal-v0"),
    Subject(env_id="ALE/Pong-v5"),
    Subject(env_id="VizDoom-Basic", n_envs=4),
    Subject(env_id="Retro/Airstriker-Genesis-v0", n_envs=2),
    Subject(env_id="Bandit-Bernoulli-v0"),
)


def choose_subjects(env_ids: Sequence[str] | None, *, n_envs: int | None) -> list[Subject]:
    """Return what is measured.

    Args:
        env_ids: Ids of the environments; None for `SUBJECTS`.
        n_envs: Replaces the number of environments.
    """
    known = {subject.env_id: subject for subject in SUBJECTS}
    chosen = [
        known.get(env_id, Subject(env_id=env_id))
        for env_id in (env_ids or [s.env_id for s in SUBJECTS])
    ]
    return [s if n_envs is None else replace(s, n_envs=n_envs) for s in chosen]


def why_not_installed(env_id: str) -> str | None:
    """Say what keeps an environment from being built here; None if nothing does."""
    try:
        family_of(env_id).make_known(env_id)
    except (MissingDependencyError, MissingAssetError) as error:
        return str(error)
    return None


def enter_contestants(stack: ExitStack, subject: Subject) -> list[Contestant]:
    """Build both sides for an environment: equally many of them, the same random actions.

    Ours is the whole way of a rollout: the vector env that `vectorization: auto` takes, a policy
    that reads its actions from a table, the buffer, episode statistics. The other side is the
    plain loop: `step` of one environment after the other, `reset` where an episode ends; of a
    family that runs one in a process it is a loop over a single one.

    Args:
        stack: Closes the environments.
        subject: What is measured.

    Returns:
        Contestants whose unit is one environment step.
    """
    env = build_env(subject.env_id, n_envs=subject.n_envs, env_kwargs=subject.env_kwargs)
    stack.callback(env.close)
    return [
        Contestant(OURS, _collect(env), has_processes=env.vectorization_name != "sync"),
        Contestant(BARE, _step_bare(stack, subject)),
    ]


def _collect(env: Any) -> Callable[[], int]:
    distribution, _ = build_distribution(env.single_action_space)
    policy: Any = TablePolicy(env, distribution)
    collector = Collector(
        env, policy, device=torch.device("cpu"), generator=torch.Generator().manual_seed(0)
    )
    collector.reset(seed=0)
    buffer = RolloutBuffer(
        n_steps=N_STEPS,
        n_envs=env.num_envs,
        observation_space=env.single_observation_space,
        distribution=distribution,
    )
    return lambda: collector.collect(buffer, n_steps=N_STEPS).n_timesteps


def _step_bare(stack: ExitStack, subject: Subject) -> Callable[[], int]:
    spec = find_spec(subject.env_id)
    envs = [
        make_env(spec, max_episode_steps=None, kwargs=dict(subject.env_kwargs))
        for _ in range(1 if family_of(subject.env_id).one_per_process else subject.n_envs)
    ]
    for i, env in enumerate(envs):
        stack.callback(env.close)
        env.action_space.seed(i)
        env.reset(seed=i)
    actions = [[env.action_space.sample() for env in envs] for _ in range(_MOST_ACTIONS)]
    turn = 0

    def advance() -> int:
        nonlocal turn
        for _ in range(N_STEPS):
            turn = (turn + 1) % _MOST_ACTIONS
            for env, action in zip(envs, actions[turn], strict=True):
                _, _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    env.reset()
        return N_STEPS * len(envs)

    return advance


class TablePolicy:
    """Acts by a table of random actions; all that a collector asks of a policy, and no network."""

    has_critic = has_memory = has_masks = False

    def __init__(self, env: gym.vector.VectorEnv, distribution: ActionDistribution) -> None:
        """Draw the actions.

        Args:
            env: For whose environments.
            distribution: Of the action space; it says how actions are stored.
        """
        self.distribution = distribution
        self.normalizer = ObservationNormalizer()  # of the kind that changes nothing
        space = env.action_space
        space.seed(0)
        self._actions = [self._stored(env, space.sample()) for _ in range(_MOST_ACTIONS)]
        self._zeros = torch.zeros(env.num_envs)
        self._turn = 0

    @staticmethod
    def _stored(env: gym.vector.VectorEnv, action: np.ndarray) -> Tensor:
        """Return an action as a policy gives it: choices count from 0."""
        start = getattr(env.single_action_space, "start", 0)
        is_box = isinstance(env.single_action_space, gym.spaces.Box)
        return torch.as_tensor(action if is_box else action - start)

    def normalize(self, observation: Any) -> Any:
        """Return observations as they are."""
        return observation

    def act(self, observation: Any, **_: Any) -> PolicyStep:  # noqa: ARG002 - it looks at nothing
        """Return the next actions of the table."""
        self._turn = (self._turn + 1) % _MOST_ACTIONS
        return PolicyStep(self._actions[self._turn], self._zeros, self._zeros)

    def initial_state(self, n: int) -> None:
        """Remember nothing."""
