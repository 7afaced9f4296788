"""Whole episodes of a policy, one state at a time: one alone, or several side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from utils.playback.acting import SideBySide
from utils.playback.environment import draw_states
from utils.policies import Policy, PolicyStep
from utils.rollouts.stepper import Outcome, Stepper
from utils.vector_envs import BaseVectorEnv


@dataclass(frozen=True, kw_only=True, slots=True)
class PlayedEpisode:
    """One episode as it went."""

    seed: int
    """Reset with this seed, the environment and the policy play the same episode again."""
    episode_return: float
    """Undiscounted sum of the raw rewards."""
    length: int
    """Environment steps."""
    end: Literal["terminated", "truncated", "cut"]
    """`cut`: it was not over when the step limit of the player was reached."""


class PlayedStep(NamedTuple):
    """The state that a step led to; the first of an episode is the reset."""

    frame: np.ndarray | None
    """(H, W, 3) uint8 picture of the state; None unless the render mode is rgb_array."""
    n_steps: int
    """Steps of this episode so far, 0 for the reset."""
    action: np.ndarray | None
    """What was chosen, counting from 0 or unclipped; None for the reset."""
    reward: float
    """Raw reward of the step, 0 for the reset."""
    episode_return: float
    """Sum of the raw rewards so far."""
    episode: PlayedEpisode | None
    """The whole episode, with its last step."""


class EpisodePlayer:
    """Plays one episode in each of N environments, with whatever actions it is given.

    An episode of T steps has exactly T + 1 states, all of this episode: the last one is the final
    state, which the environment has left by the time its `step` returns. Whoever has ended stays at
    its last state while others go on.

    Attributes:
        states: The state that each environment is in, or ended in.
        stepper: What the policy sees: observation, mask, memory.
    """

    def __init__(
        self,
        env: BaseVectorEnv,
        policy: Policy,
        *,
        seed: int,
        deterministic: bool,
        max_steps: int | None = None,
        device: torch.device | None = None,
        draws: bool = True,
    ) -> None:
        """Reset the environments.

        Args:
            env: Nothing else uses it.
            policy: Acts as it is.
            seed: Environment k begins with seed + k, and so do sampled actions in it.
            deterministic: Most likely actions rather than samples.
            max_steps: Cut episodes after so many steps; None plays them to their end.
            device: Where the policy lives; the CPU if None.
            draws: Draw the states, where the render mode is rgb_array.
        """
        self._env, self._policy, self._max_steps = env, policy, max_steps
        self._draws = draws and env.render_mode == "rgb_array"
        self._seeds = range(seed, seed + env.num_envs)
        self.stepper = Stepper(
            env,
            SideBySide(
                policy,
                env.single_action_space,
                seeds=self._seeds,
                deterministic=deterministic,
                device=device or torch.device("cpu"),
            ),
            device=device or torch.device("cpu"),
        )
        self.stepper.reset(seed=seed)
        everywhere = np.ones(env.num_envs, bool)
        frames = self._draw(everywhere, was_reset=~everywhere)
        self.states = [PlayedStep(frame, 0, None, 0.0, 0.0, None) for frame in frames]

    @property
    def is_over(self) -> bool:
        """Whether every episode has ended."""
        return all(state.episode is not None for state in self.states)

    @torch.inference_mode()
    def decide(self) -> PolicyStep:
        """Let the policy choose for the present states, and take them into its memory.

        Once before each step, whoever chooses the actions.
        """
        observation = self._policy.normalize(self.stepper.observation)
        return self.stepper.decide(observation, generator=None)

    @torch.inference_mode()
    def explain(self) -> dict[str, Tensor]:
        """Return what the policy thinks of the present states; see `Policy.explain`."""
        return self._policy.explain(
            self._policy.normalize(self.stepper.observation),
            mask=self.stepper.mask,
            state=self.stepper.state,
        )

    @torch.inference_mode()
    def step(self, action: Tensor) -> list[PlayedStep]:
        """Step every environment.

        Args:
            action: (N, ...) counting from 0 or unclipped; rows of ended episodes do nothing.

        Returns:
            `states`, with the last step of each episode that ended now or earlier.
        """
        is_running = np.array([state.episode is None for state in self.states])
        outcome = self.stepper.step(action)
        frames = self._draw(is_running, was_reset=outcome.terminated | outcome.truncated)
        chosen = action.cpu().numpy()
        for k in np.flatnonzero(is_running):
            self.states[k] = self._advance(k, outcome, chosen[k], frames[k])
        return self.states

    def _advance(
        self, k: int, outcome: Outcome, action: np.ndarray, frame: np.ndarray | None
    ) -> PlayedStep:
        before = self.states[k]
        n_steps = before.n_steps + 1
        reward = float(outcome.infos.get("raw_reward", outcome.reward)[k])
        total = before.episode_return + reward
        end: Literal["terminated", "truncated", "cut"] | None = None
        if outcome.over[k]:
            end = "truncated" if outcome.truncated[k] else "terminated"
        elif n_steps == self._max_steps:
            end = "cut"
        episode = None
        if end is not None:
            episode = PlayedEpisode(
                seed=self._seeds[k], episode_return=total, length=n_steps, end=end
            )
        return PlayedStep(frame, n_steps, action, reward, total, episode)

    def _draw(self, is_wanted: np.ndarray, *, was_reset: np.ndarray) -> list[np.ndarray | None]:
        if not self._draws:
            return [None] * len(is_wanted)
        return draw_states(self._env, is_wanted, was_reset=was_reset)


def play_together(
    env: BaseVectorEnv,
    policy: Policy,
    *,
    seed: int,
    deterministic: bool,
    max_steps: int | None = None,
    device: torch.device | None = None,
) -> Iterator[list[PlayedStep]]:
    """Play one episode in each of N environments, from the resets to the last end.

    The seed alone decides an episode, for sampled actions too: it is the same here and alone.
    Neither the policy's normaliser nor any generator outside is touched.

    Args:
        env: Nothing else uses it.
        policy: Acts as it is.
        seed: Environment k begins with seed + k, and so do sampled actions in it.
        deterministic: Most likely actions rather than samples.
        max_steps: Cut episodes after so many steps; None plays them to their end.
        device: Where the policy lives; the CPU if None.

    Yields:
        The resets, then one step after the other, a state for each environment; those that have
        ended stay at their last one, which holds the episode.

    Raises:
        EnvironmentFailedError: An environment raised or gave numbers that are not finite.
        RenderError: It cannot be drawn.
    """
    player = EpisodePlayer(
        env, policy, seed=seed, deterministic=deterministic, max_steps=max_steps, device=device
    )
    yield player.states
    while not player.is_over:
        yield player.step(player.decide().action)


def play_episode(
    env: BaseVectorEnv,
    policy: Policy,
    *,
    seed: int,
    deterministic: bool,
    max_steps: int | None = None,
    device: torch.device | None = None,
) -> Iterator[PlayedStep]:
    """Play one episode in the only environment of `env`; see `play_together`."""
    assert env.num_envs == 1, env.num_envs
    states = play_together(
        env, policy, seed=seed, deterministic=deterministic, max_steps=max_steps, device=device
    )
    for (state,) in states:
        yield state
