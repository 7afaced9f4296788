"""Collect rollouts from a tensor environment without leaving its device."""

from __future__ import annotations

from typing import Protocol

import gymnasium as gym
import torch
from torch import Tensor

from utils.device_rollouts.buffer import DeviceRolloutBuffer
from utils.policy_factory import ActorCritic


class TensorStep(Protocol):
    """What one vector step led to: tensors (N, ...) on the device."""

    observation: Tensor
    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    final_observation: Tensor
    episode_return: Tensor
    episode_length: Tensor


class TensorEnv(Protocol):
    """A vector environment that takes and gives tensors."""

    num_envs: int
    single_observation_space: gym.Space
    single_action_space: gym.Space

    def reset_tensors(self, *, seed: int | None = None) -> Tensor:
        """Begin a new episode everywhere; return the observation (N, ...)."""

    def observe_tensors(self) -> Tensor:
        """Return the observation of the state as it is, (N, ...)."""

    def step_tensors(self, action: Tensor) -> TensorStep:
        """Step all environments; those that end begin anew."""


class TensorActionAdapter:
    """Clip continuous actions to the bounds of their space; leave choices as they are.

    The same as `ActionAdapter`, for tensors.
    """

    def __init__(self, space: gym.Space, *, device: torch.device) -> None:
        """Read the bounds of a single action space."""
        self._bounds: tuple[Tensor, Tensor] | None = None
        if isinstance(space, gym.spaces.Box):
            low, high = (torch.from_numpy(bound).to(device) for bound in (space.low, space.high))
            self._bounds = (low, high)
        else:
            assert isinstance(space, gym.spaces.Discrete), space
            assert space.start == 0, space

    def to_env(self, action: Tensor) -> Tensor:
        """Return the actions for the environment, (N, ...)."""
        return action if self._bounds is None else action.clamp(*self._bounds)


class DeviceCollector:
    """Steps a tensor environment with the policy and fills a buffer; reads nothing back.

    The same data as `Collector` makes: the buffer holds what the policy saw, and `next_value` is
    the value of the next row, or that of the final observation where an episode was truncated.
    """

    def __init__(
        self,
        env: TensorEnv,
        policy: ActorCritic,
        buffer: DeviceRolloutBuffer,
        *,
        generator: torch.Generator,
    ) -> None:
        """Bind environment, policy and buffer, all on one device.

        Args:
            env: Has been reset before the first rollout.
            policy: Has a critic.
            buffer: Of as many environments.
            generator: Source of the policy's randomness.
        """
        assert policy.has_critic, policy
        assert buffer.n_envs == env.num_envs, (buffer.n_envs, env.num_envs)
        self.env = env
        self.policy = policy
        self.buffer = buffer
        self.generator = generator
        self._adapter = TensorActionAdapter(env.single_action_space, device=generator.device)

    @torch.no_grad()
    def collect(self) -> None:
        """Fill the buffer, going on where the last rollout stopped."""
        raw = self.env.observe_tensors()
        for t in range(self.buffer.n_steps):
            raw = self._write_step(t, raw)
        self._write_next_values(raw)

    def _write_step(self, t: int, raw: Tensor) -> Tensor:
        buffer, policy = self.buffer, self.policy
        if policy.normalizer.learns:
            policy.normalizer.update(raw)
        observation = policy.normalize(raw)
        decision = policy.act(observation, generator=self.generator)
        step = self.env.step_tensors(self._adapter.to_env(decision.action))
        buffer.observation[t] = observation
        buffer.action[t] = decision.action
        buffer.logprob[t] = decision.logprob
        buffer.value[t] = decision.value
        buffer.reward[t] = step.reward
        buffer.terminated[t] = step.terminated
        buffer.truncated[t] = step.truncated
        buffer.final_observation[t] = step.final_observation
        buffer.episode_return[t] = step.episode_return
        buffer.episode_length[t] = step.episode_length
        return step.observation

    def _write_next_values(self, raw: Tensor) -> None:
        """Fill next_value; all final observations are valued, because shapes must not vary."""
        buffer = self.buffer
        buffer.next_value[:-1] = buffer.value[1:]
        buffer.next_value[-1] = self._predict(raw)
        final_value = self._predict(buffer.final_observation.flatten(0, 1))
        torch.where(
            buffer.truncated,
            final_value.view(buffer.value.shape),
            buffer.next_value,
            out=buffer.next_value,
        )

    def _predict(self, raw: Tensor) -> Tensor:
        return self.policy.predict_value(self.policy.normalize(raw))


def allocate_device_buffer(
    env: TensorEnv, *, n_steps: int, device: torch.device
) -> DeviceRolloutBuffer:
    """Allocate the buffer for rollouts of `n_steps` vector steps of an environment."""
    space = env.single_action_space
    is_discrete = isinstance(space, gym.spaces.Discrete)
    return DeviceRolloutBuffer(
        n_steps=n_steps,
        n_envs=env.num_envs,
        observation_shape=tuple(env.single_observation_space.shape),
        action_shape=tuple(space.shape),
        action_dtype=torch.int64 if is_discrete else torch.float32,
        device=device,
    )
