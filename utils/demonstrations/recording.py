"""Episodes of a trained policy, recorded piece by piece and then made a dataset."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from utils.demonstrations.dataset_ids import dataset_folder
from utils.demonstrations.episodes import Episode
from utils.demonstrations.minari_files import write_dataset
from utils.demonstrations.rows import copy_row, stack_rows
from utils.errors import UserError
from utils.playback.acting import SideBySide
from utils.policies import Policy
from utils.rollouts.stepper import Stepper
from utils.spaces import ActionAdapter
from utils.storage import atomic_file, read_json, storage_errors, write_json
from utils.vector_envs import BaseVectorEnv

EPISODES_AT_ONCE = 8
"""Episodes that are played side by side, and kept together."""
_SETTINGS = "settings.json"


@torch.inference_mode()
def play_side_by_side(
    env: BaseVectorEnv, policy: Policy, *, seed: int, deterministic: bool, max_steps: int | None
) -> list[Episode]:
    """Play one episode in each environment, each the one that it would be alone.

    Args:
        env: N environments that nothing else uses.
        policy: Acts as it is.
        seed: Environment k begins with seed + k, and so do sampled actions in it.
        deterministic: Most likely actions rather than samples.
        max_steps: Cut episodes after so many steps; None plays them to their end.
    """
    n = env.num_envs
    acting = SideBySide(
        policy,
        env.single_action_space,
        seeds=range(seed, seed + n),
        deterministic=deterministic,
        device=torch.device("cpu"),
    )
    stepper, adapter = (
        Stepper(env, acting, device=torch.device("cpu")),
        ActionAdapter(env.single_action_space),
    )
    stepper.reset(seed=seed)
    rows: list[list[Any]] = [[copy_row(stepper.observation_array, k)] for k in range(n)]
    actions: list[list[np.ndarray]] = [[] for _ in range(n)]
    rewards: list[list[float]] = [[] for _ in range(n)]
    has_terminated = np.zeros(n, bool)
    is_running = np.ones(n, bool)
    while is_running.any():
        chosen = stepper.decide(policy.normalize(stepper.observation), generator=None).action
        outcome = stepper.step(chosen)
        taken = adapter.to_env(chosen.cpu().numpy())
        done = outcome.terminated | outcome.truncated
        raw = outcome.infos.get("raw_reward", outcome.reward)
        for k in np.flatnonzero(is_running):
            shown = outcome.infos["final_obs"] if done[k] else stepper.observation_array
            rows[k].append(copy_row(shown, k))
            actions[k].append(taken[k].copy())
            rewards[k].append(float(raw[k]))
        has_terminated |= is_running & outcome.terminated
        is_running &= ~done
        if max_steps is not None and stepper.n_vec_steps >= max_steps:
            break
    return [
        Episode(
            stack_rows(rows[k]),
            np.stack(actions[k]),
            np.array(rewards[k]),
            bool(has_terminated[k]),
            seed + k,
        )
        for k in range(n)
    ]


class Recording:
    """The part of a dataset that is recorded so far, in a hidden folder beside its place.

    A piece is one file, written whole or not at all, so a recording that was stopped at any moment
    goes on after its last piece.
    """

    def __init__(self, dataset_id: str, settings: dict[str, Any]) -> None:
        """Begin a recording, or find the one that was begun.

        Args:
            dataset_id: Name of the dataset.
            settings: What decides the episodes, as JSON values.

        Raises:
            UserError: One of other settings was begun under this name.
            StorageError: The folder cannot be written.
        """
        place = dataset_folder(dataset_id)
        self._id, self.folder = dataset_id, place.parent / f".{place.name}.recording"
        stored = read_json(self.folder / _SETTINGS)
        if stored is not None and stored != settings:
            differing = [key for key in settings if stored.get(key) != settings[key]]
            raise UserError(
                f"--dataset {dataset_id}: a recording of another {' and '.join(differing)} was "
                f"begun under this name; choose another, or remove '{self.folder}'"
            )
        if stored is None:
            with storage_errors(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.folder / _SETTINGS, settings)

    @property
    def n_episodes(self) -> int:
        """Episodes that are recorded."""
        return len(self._pieces()) * EPISODES_AT_ONCE

    def add(self, episodes: list[Episode]) -> None:
        """Keep the next piece, `EPISODES_AT_ONCE` episodes."""
        assert len(episodes) == EPISODES_AT_ONCE, len(episodes)
        path = self.folder / f"{len(self._pieces()):06}.npz"
        with atomic_file(path) as file:
            np.savez(file, **_pack(episodes))

    def episodes(self, n: int) -> Iterator[Episode]:
        """Yield the first n episodes."""
        for path in self._pieces():
            with np.load(path) as piece:
                for episode in _unpack(piece):
                    if n == 0:
                        return
                    yield episode
                    n -= 1

    def finish(
        self, n: int, env: BaseVectorEnv, *, facts: dict[str, Any]
    ) -> tuple[Path, np.ndarray]:
        """Make the first n episodes a dataset, and forget the pieces.

        Returns:
            Its folder, and the return of each episode, (n,) float64.
        """
        returns = np.array([episode.reward.sum() for episode in self.episodes(n)])
        place = write_dataset(
            self._id,
            self.episodes(n),
            env.single_observation_space,
            env.single_action_space,
            facts=facts,
        )
        shutil.rmtree(self.folder)
        return place, returns

    def _pieces(self) -> list[Path]:
        return sorted(self.folder.glob("??????.npz"))


def record(
    recording: Recording,
    env: BaseVectorEnv,
    policy: Policy,
    *,
    n_episodes: int,
    seed: int,
    deterministic: bool,
    max_steps: int | None,
    tell: Callable[[int], None],
) -> None:
    """Play until there are n episodes.

    Args:
        recording: Takes them; what it has already is not played again.
        env: `EPISODES_AT_ONCE` environments.
        policy: Acts as it is.
        n_episodes: Of the whole dataset.
        seed: The k-th episode begins with seed + k.
        deterministic: Most likely actions rather than samples.
        max_steps: Cut episodes after so many steps; None plays them to their end.
        tell: Called with the number of episodes so far.
    """
    while (done := recording.n_episodes) < n_episodes:
        tell(done)
        episodes = play_side_by_side(
            env, policy, seed=seed + done, deterministic=deterministic, max_steps=max_steps
        )
        recording.add(episodes)
    tell(n_episodes)


def _pack(episodes: list[Episode]) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {}
    for k, episode in enumerate(episodes):
        observation = episode.observation
        is_dict = isinstance(observation, dict)
        for key, part in observation.items() if is_dict else [("", observation)]:
            arrays[f"{k}.observation.{key}"] = part
        arrays[f"{k}.action"], arrays[f"{k}.reward"] = episode.action, episode.reward
        arrays[f"{k}.facts"] = np.array(json.dumps([episode.terminated, episode.seed]))
    return arrays


def _unpack(piece: Any) -> Iterator[Episode]:
    for k in range(EPISODES_AT_ONCE):
        prefix = f"{k}.observation."
        parts = {
            name.removeprefix(prefix): piece[name] for name in piece if name.startswith(prefix)
        }
        terminated, seed = json.loads(str(piece[f"{k}.facts"]))
        observation = parts.get("", parts)
        yield Episode(observation, piece[f"{k}.action"], piece[f"{k}.reward"], terminated, seed)
