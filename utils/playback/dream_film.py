"""One episode as a film beside what a world model saw in it, and dreamt of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from utils.playback.decoded_pictures import draw_pictures, real_pictures
from utils.playback.dream_canvas import DreamCanvas, DreamChart
from utils.playback.environment import build_playback_env, frames_per_second, render_modes
from utils.playback.episodes import PlayedStep, play_episode
from utils.playback.observation_names import name_decoded_numbers
from utils.playback.replay import replay_observations, stack_observations
from utils.policies.world_model_policy import Belief
from utils.vector_envs import InProcessVectorEnv
from utils.video import VideoWriter
from utils.world_models import State
from utils.world_models.dreaming import (
    Reading,
    dream,
    observe_episode,
    read_states,
    repeat_actions,
)
from utils.world_models.observation_parts import Observation

HORIZON = 50
"""Steps of a dream, and from the beginning of one to that of the next."""
CONTEXT = 5
"""Steps that are seen before the first dream begins."""
_MOST_NUMBERS = 4


class _Told(NamedTuple):
    """What is known of each of the T + 1 states, in one of three ways."""

    numbers: np.ndarray | None
    reward: np.ndarray
    """(T + 1,) that arrived with the state."""
    goes_on: np.ndarray | None
    pictures: np.ndarray | None
    """(T + 1, h, w, 3) uint8"""


def film_dreams(
    config: Any,
    policy: Belief,
    path: Path,
    *,
    seed: int,
    deterministic: bool,
    max_steps: int | None = None,
    device: torch.device | None = None,
) -> None:
    """Play an episode and film it beside its reconstruction and the dreams of it.

    A dream begins every `HORIZON` steps; it sees nothing, and takes the actions that were taken.

    Args:
        config: The config of the run.
        policy: Acts as it is.
        path: The .mp4 file; it appears when it is complete.
        seed: Of the episode.
        deterministic: Most likely actions rather than samples.
        max_steps: The film ends after so many steps.
        device: Where the policy lives; the CPU if None.

    Raises:
        RenderError: The environment cannot be drawn.
        UserError: It cannot be built, fails, or the file cannot be written; no file is left.
    """
    device = device or torch.device("cpu")
    has_pictures = bool(policy.world_model.decoder.parts.pictures)
    draws = not has_pictures and "rgb_array" in render_modes(config)
    env = build_playback_env(config, render_mode="rgb_array" if draws else None)
    try:
        played = list(
            play_episode(
                env,
                policy,
                seed=seed,
                deterministic=deterministic,
                max_steps=max_steps,
                device=device,
            )
        )
        actions = [step.action for step in played if step.action is not None]
        observation = stack_observations(
            env.single_observation_space,
            replay_observations(env, seed=seed, actions=actions),
            device=device,
        )
        assert isinstance(env, InProcessVectorEnv), type(env)
        labels = name_decoded_numbers(env, config.spec.observation.labels)
        fps = frames_per_second(config, env)
    finally:
        env.close()
    action = torch.as_tensor(np.stack(actions), device=device)
    told, divergence, starts = imagine_episode(policy, observation, action)
    told["real"] = _real(policy, observation, played)
    _write(path, told, divergence, starts, played, labels, fps=fps)


@torch.inference_mode()
def imagine_episode(
    policy: Belief, observation: Observation, action: Tensor
) -> tuple[dict[str, _Told], np.ndarray, list[int]]:
    """Return what was `reconstructed` and `dreamt`, divergences (T + 1,), and where dreams begin.

    Args:
        policy: Holds the world model.
        observation: (T + 1, ...) raw.
        action: (T, ...) as the policy chose them.
    """
    model, code = policy.world_model, policy.code
    encoded = code.encode(code.from_env(action))
    n_steps = len(encoded)
    beliefs = observe_episode(model, observation, encoded)
    starts = list(range(min(CONTEXT, n_steps - 1), n_steps, HORIZON))
    deter, stoch = (torch.full_like(part, torch.nan) for part in beliefs.state)
    for k in starts:
        n = min(HORIZON, n_steps - k)
        start = State(*(part[k : k + 1] for part in beliefs.state))
        imagined = dream(model, start, repeat_actions(encoded[k : k + n]), n_steps=n)
        # The last state of a dream is there, not the first of the next, which has seen.
        kept = slice(k if k == starts[0] else k + 1, k + n + 1)
        deter[kept] = imagined.state.deter[-(kept.stop - kept.start) :, 0]
        stoch[kept] = imagined.state.stoch[-(kept.stop - kept.start) :, 0]
    told = {
        "reconstructed": _tell(read_states(model, beliefs.state)),
        "dreamt": _tell(read_states(model, State(deter, stoch))),
    }
    return told, beliefs.divergence.cpu().numpy(), starts


def _tell(reading: Reading) -> _Told:
    pictures, reward = reading.decoded.pictures, reading.reward.cpu().numpy()
    reward[0] = np.nan  # nothing is paid for a reset
    return _Told(
        None if reading.numbers is None else reading.numbers.cpu().numpy(),
        reward,
        None if reading.goes_on is None else reading.goes_on.cpu().numpy(),
        draw_pictures([part.nan_to_num(0.5) for part in pictures]) if pictures else None,
    )


def _real(policy: Belief, observation: Observation, played: list[PlayedStep]) -> _Told:
    parts = policy.world_model.decoder.parts
    pictures = real_pictures(parts, observation)
    reward = np.array([np.nan, *(step.reward for step in played[1:])], np.float32)
    numbers = parts.vector(observation, n_leading=1).cpu().numpy() if parts.width else None
    return _Told(numbers, reward, None, draw_pictures(pictures) if pictures else None)


def _write(
    path: Path,
    told: dict[str, _Told],
    divergence: np.ndarray,
    starts: list[int],
    played: list[PlayedStep],
    labels: list[str],
    *,
    fps: float,
) -> None:
    kinds = ("real", "reconstructed", "dreamt")
    has_pictures = told["real"].pictures is not None
    has_frames = played[0].frame is not None
    titles = list(kinds) if has_pictures else ["real episode"] if has_frames else []
    charts = _charts({kind: told[kind] for kind in kinds}, divergence, labels)
    canvas = DreamCanvas(titles, charts, starts=starts)
    with VideoWriter(path, fps=fps) as writer:
        for t, step in enumerate(played):
            pictures = []
            if has_pictures:
                pictures = [told[kind].pictures[t] for kind in kinds]  # type: ignore[index]
            elif step.frame is not None:
                pictures = [step.frame]
            writer.write(canvas.frame(t, pictures))


def _charts(told: dict[str, _Told], divergence: np.ndarray, labels: list[str]) -> list[DreamChart]:
    charts = []
    if told["real"].numbers is not None:
        for k, label in enumerate(labels[:_MOST_NUMBERS]):
            lines = {kind: each.numbers[:, k] for kind, each in told.items()}  # type: ignore[index]
            charts.append(DreamChart(label, lines))
    charts.append(
        DreamChart("divergence of seen and expected, nats", {"reconstructed": divergence})
    )
    charts.append(DreamChart("reward", {kind: each.reward for kind, each in told.items()}))
    goes_on = {kind: each.goes_on for kind, each in told.items() if each.goes_on is not None}
    if goes_on:
        charts.append(DreamChart("goes on", goes_on))
    return charts
