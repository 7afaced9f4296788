"""Whole episodes of a policy, one frame at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch

from utils.playback.environment import as_frame, current_frame
from utils.policy_factory import ActorCritic
from utils.rollouts.stepper import Stepper
from utils.vector_envs import InProcessVectorEnv


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
    """What the policy chose, counting from 0 or unclipped; None for the reset."""
    reward: float
    """Raw reward of the step, 0 for the reset."""
    episode_return: float
    """Sum of the raw rewards so far."""
    episode: PlayedEpisode | None
    """The whole episode, with its last step."""


def play_episode(
    env: InProcessVectorEnv,
    policy: ActorCritic,
    *,
    seed: int,
    deterministic: bool,
    max_steps: int | None = None,
    device: torch.device | None = None,
) -> Iterator[PlayedStep]:
    """Play one episode from its reset to its end.

    An episode of T steps gives exactly T + 1 frames, all of this episode: the last one shows the
    final state, which the environment has left by the time `step` returns. The seed alone decides
    the episode, for sampled actions too. Neither the policy's normaliser nor any generator
    outside is touched.

    Args:
        env: One environment that nothing else uses.
        policy: Acts as it is.
        seed: Of the environment and of sampled actions, >= 0.
        deterministic: Most likely actions rather than samples.
        max_steps: Cut the episode after so many steps; None plays it to its end.
        device: Where the policy lives; the CPU if None.

    Yields:
        The reset, then one step after the other; the last one holds the episode.

    Raises:
        EnvironmentFailedError: The environment raised or gave numbers that are not finite.
        RenderError: It cannot be drawn.
    """
    assert env.num_envs == 1, env.num_envs
    device = device or torch.device("cpu")
    generator = torch.Generator(device=device)
    generator.manual_seed(seed)
    stepper = Stepper(env, policy, device=device)
    stepper.reset(seed=seed)
    yield PlayedStep(_frame(env, is_final=False), 0, None, 0.0, 0.0, None)
    total = 0.0
    n_steps = 0
    episode = None
    while episode is None:
        with torch.inference_mode():
            action = stepper.decide(
                policy.normalize(stepper.observation),
                generator=generator,
                deterministic=deterministic,
            ).action
            outcome = stepper.step(action)
        n_steps += 1
        reward = float(outcome.infos.get("raw_reward", outcome.reward)[0])
        total += reward
        was_reset = bool(outcome.terminated[0] or outcome.truncated[0])
        if outcome.finished is not None:
            end = "truncated" if outcome.truncated[0] else "terminated"
            total = float(outcome.finished.returns[0])
            episode = PlayedEpisode(seed=seed, episode_return=total, length=n_steps, end=end)
        elif n_steps == max_steps:
            episode = PlayedEpisode(seed=seed, episode_return=total, length=n_steps, end="cut")
        frame = _frame(env, is_final=was_reset)
        yield PlayedStep(frame, n_steps, action[0].cpu().numpy(), reward, total, episode)


def _frame(env: InProcessVectorEnv, *, is_final: bool) -> np.ndarray | None:
    if env.render_mode != "rgb_array":
        return None
    if is_final:
        return as_frame(env.final_frames[0], env_id=env.env_id)
    return current_frame(env)
