"""A process of its own: train a PPO in the manner of single-file scripts until it solves CartPole.

Run by the benchmark as `python -m utils.benchmarks.plain_ppo_solve SEED MAX_TIMESTEPS N_EPISODES`.
It prints one JSON object: timesteps and the last greedy mean return. What a person has who copies
such a script and takes its logs out: Gymnasium, torch, autograd, one loop, and the settings that
CleanRL's `ppo.py` has for CartPole. It shares nothing with ours but the interpreter.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

EVAL_PERIOD = 8192
THRESHOLD = 475.0
N_ENVS, N_STEPS, N_EPOCHS, N_MINIBATCHES = 4, 128, 4, 4
SCHEDULED_TIMESTEPS = 500_000
LEARNING_RATE, GAMMA, GAE_LAMBDA, CLIP = 2.5e-4, 0.99, 0.95, 0.2
ENTROPY_WEIGHT, VALUE_WEIGHT, MAX_NORM = 0.01, 0.5, 0.5


def _layer(n_in: int, n_out: int, gain: float) -> nn.Linear:
    layer = nn.Linear(n_in, n_out)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def _network(n_out: int, gain: float) -> nn.Sequential:
    wide = 2**0.5
    return nn.Sequential(
        _layer(4, 64, wide), nn.Tanh(), _layer(64, 64, wide), nn.Tanh(), _layer(64, n_out, gain)
    )


@dataclass(slots=True)
class _Rollout:
    """What one iteration collected, time-major."""

    observation: Tensor
    action: Tensor
    logprob: Tensor
    value: Tensor
    reward: Tensor
    done: Tensor
    """Whether the episode had ended before this step."""


class PlainPPO:
    """Actor, critic, optimiser and environments of one training."""

    def __init__(self, *, seed: int) -> None:
        """Build everything from a seed."""
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - as the scripts do
        self.actor, self.critic = _network(2, 0.01), _network(1, 1.0)
        self.parameters = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(self.parameters, lr=LEARNING_RATE, eps=1e-5)
        self.env = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")] * N_ENVS)
        self.observation = torch.from_numpy(self.env.reset(seed=seed)[0])
        self.done = torch.zeros(N_ENVS)
        self.timesteps = 0

    @torch.no_grad()
    def collect(self) -> _Rollout:
        """Step the environments with the policy as it is."""
        rows = []
        for _ in range(N_STEPS):
            policy = torch.distributions.Categorical(logits=self.actor(self.observation))
            action = policy.sample()
            value = self.critic(self.observation).squeeze(-1)
            before = self.observation, action, policy.log_prob(action), value
            observation, reward, terminated, truncated, _ = self.env.step(action.numpy())
            rows.append((*before, torch.from_numpy(reward).float(), self.done))
            self.observation = torch.from_numpy(observation)
            self.done = torch.from_numpy(terminated | truncated).float()
        self.timesteps += N_STEPS * N_ENVS
        return _Rollout(*(torch.stack(column) for column in zip(*rows, strict=True)))

    @torch.no_grad()
    def advantages(self, rollout: _Rollout) -> Tensor:
        """Return generalised advantages, (T, N)."""
        advantage = torch.zeros_like(rollout.reward)
        next_value, alive = self.critic(self.observation).squeeze(-1), 1.0 - self.done
        running = torch.zeros(N_ENVS)
        for t in reversed(range(N_STEPS)):
            delta = rollout.reward[t] + GAMMA * next_value * alive - rollout.value[t]
            advantage[t] = running = delta + GAMMA * GAE_LAMBDA * alive * running
            next_value, alive = rollout.value[t], 1.0 - rollout.done[t]
        return advantage

    def update(self, rollout: _Rollout, advantage: Tensor) -> None:
        """Make the passes over a rollout."""
        progress = (self.timesteps - N_STEPS * N_ENVS) / SCHEDULED_TIMESTEPS
        self.optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1.0 - progress)
        flat = [x.flatten(0, 1) for x in (rollout.observation, rollout.action, rollout.logprob)]
        flat += [x.flatten() for x in (rollout.value, advantage)]
        n_samples = N_STEPS * N_ENVS
        for _ in range(N_EPOCHS):
            for rows in torch.randperm(n_samples).split(n_samples // N_MINIBATCHES):
                loss = self._loss(*(x[rows] for x in flat))
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.parameters, MAX_NORM)
                self.optimizer.step()

    def _loss(
        self, observation: Tensor, action: Tensor, logprob: Tensor, value: Tensor, advantage: Tensor
    ) -> Tensor:
        policy = torch.distributions.Categorical(logits=self.actor(observation))
        ratio = (policy.log_prob(action) - logprob).exp()
        scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        bounded = ratio.clamp(1.0 - CLIP, 1.0 + CLIP)
        policy_loss = -torch.min(scaled * ratio, scaled * bounded).mean()
        returns = advantage + value
        new_value = self.critic(observation).squeeze(-1)
        near_value = value + (new_value - value).clamp(-CLIP, CLIP)
        errors = torch.max((new_value - returns) ** 2, (near_value - returns) ** 2)
        value_loss = 0.5 * errors.mean()
        return policy_loss + VALUE_WEIGHT * value_loss - ENTROPY_WEIGHT * policy.entropy().mean()

    def predict(self, observation: np.ndarray, *, deterministic: bool) -> tuple[np.ndarray, None]:
        """Choose the best action for each row, in the form that the judge asks for."""
        assert deterministic
        with torch.no_grad():
            return self.actor(torch.from_numpy(observation)).argmax(-1).numpy(), None


def main(arguments: list[str]) -> None:
    """Train one seed and print what came of it."""
    from utils.benchmarks.judge import build_fast_cartpole, greedy_mean

    seed, max_timesteps, n_episodes = (int(argument) for argument in arguments)
    torch.set_num_threads(1)  # as ours
    model, judge = PlainPPO(seed=seed), build_fast_cartpole(n_episodes)
    mean, next_evaluation = 0.0, EVAL_PERIOD
    while mean < THRESHOLD and model.timesteps < max_timesteps:
        rollout = model.collect()
        model.update(rollout, model.advantages(rollout))
        if model.timesteps >= next_evaluation:
            next_evaluation += EVAL_PERIOD
            mean = greedy_mean(model, judge, seed=1_000_000 * (seed + 1) + model.timesteps)
    print(json.dumps({"timesteps": model.timesteps, "mean": mean}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
