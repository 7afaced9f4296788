"""Minari datasets: read as demonstrations, and written from episodes."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from utils.demonstrations.dataset_ids import (
    absent_dataset,
    check_dataset_id,
    dataset_folder,
    datasets_root,
    has_dataset,
)
from utils.demonstrations.episodes import Demonstrations, Episode, join_episodes
from utils.errors import ConfigError, MissingDependencyError, UserError
from utils.storage import storage_errors

_NEEDED_FOR = "a dataset of demonstrations"


def require_minari(needed_for: str = _NEEDED_FOR) -> Any:
    """Import Minari.

    Raises:
        MissingDependencyError: It, or what reads its files, is not installed.
    """
    try:
        import h5py  # noqa: F401 - the files are HDF5
        import huggingface_hub  # noqa: F401 - where they are fetched from
        import minari
    except ImportError as error:
        package = error.name or "minari"
        raise MissingDependencyError(package, extra="minari", needed_for=needed_for) from error
    return minari


# -- reading --------------------------------------------------------------------------------------


def read_dataset(
    dataset_id: str,
    observation_space: gym.Space,
    action_space: gym.Space,
    *,
    n_episodes: int | None,
    download: bool,
) -> Demonstrations:
    """Read a dataset whole.

    Args:
        dataset_id: Its name in Minari.
        observation_space: Single space of the environment that is learnt for.
        action_space: The same of actions.
        n_episodes: Only the first so many; None for all.
        download: Fetch it where it is not here.

    Raises:
        MissingAssetError: It is not here.
        ConfigError: It cannot be fetched, has too few episodes, or other spaces.
        MissingDependencyError: Minari is not installed.
    """
    check_dataset_id(dataset_id, name="dataset")
    require_minari(f"dataset: {dataset_id}")
    if not has_dataset(dataset_id):
        if not download:
            raise absent_dataset(dataset_id)
        _download(dataset_id)
    storage = open_storage(dataset_id)
    pictures_last = _check_spaces(dataset_id, storage, observation_space, action_space)
    total = int(storage.total_episodes)
    if n_episodes is not None and n_episodes > total:
        raise ConfigError(
            f"dataset_episodes: {n_episodes}, but '{dataset_id}' has {total} episodes"
        )
    episodes = _read_episodes(storage, n_episodes or total, pictures_last=pictures_last)
    return join_episodes(episodes, observation_space, action_space)


def open_storage(dataset_id: str) -> Any:
    """Open a dataset that is here.

    Raises:
        ConfigError: Its files are damaged or of an unknown form.
    """
    from minari.dataset.minari_storage import MinariStorage

    try:
        return MinariStorage.read(dataset_folder(dataset_id) / "data")
    except (OSError, ValueError, KeyError, AssertionError) as error:
        raise ConfigError(
            f"dataset: '{dataset_id}' in {datasets_root()} cannot be read: {error}"
        ) from error


def _download(dataset_id: str) -> None:
    """Fetch a dataset; whatever goes wrong is one line."""
    from minari.storage.hosting import download_dataset

    from utils.publishing.hub_failures import FailedCallError, hub_failures

    had_folder = dataset_folder(dataset_id).exists()
    try:
        with hub_failures():
            download_dataset(dataset_id)
    except FailedCallError as error:
        if not had_folder:
            shutil.rmtree(dataset_folder(dataset_id), ignore_errors=True)
        raise ConfigError(f"dataset: '{dataset_id}' could not be fetched: {error}") from error
    if not has_dataset(dataset_id):
        raise ConfigError(f"dataset: Minari's servers have no dataset '{dataset_id}'")


def _check_spaces(
    dataset_id: str, storage: Any, observation_space: gym.Space, action_space: gym.Space
) -> bool:
    """Refuse a dataset of another task; say whether its pictures have their channels last."""
    theirs = storage.observation_space
    fits = _fits(theirs, observation_space)
    pictures_last = not fits and _fits(_channels_first(theirs), observation_space)
    if not fits and not pictures_last:
        raise ConfigError(
            f"dataset: '{dataset_id}' holds observations of {_one_line(theirs)}, and the "
            f"environment shows {_one_line(observation_space)}"
        )
    if not _fits(storage.action_space, action_space, with_bounds=True):
        raise ConfigError(
            f"dataset: '{dataset_id}' holds actions of {_one_line(storage.action_space)}, and the "
            f"environment takes {_one_line(action_space)}"
        )
    return pictures_last


def _fits(theirs: gym.Space, ours: gym.Space, *, with_bounds: bool = False) -> bool:
    """Compare spaces but for the width of floats and, of observations, their bounds."""
    if isinstance(ours, gym.spaces.Dict):
        if not isinstance(theirs, gym.spaces.Dict) or set(theirs) != set(ours):
            return False
        return all(_fits(theirs[key], ours[key]) for key in ours)
    if not isinstance(ours, gym.spaces.Box):
        return theirs == ours
    if not isinstance(theirs, gym.spaces.Box) or theirs.shape != ours.shape:
        return False
    if (theirs.dtype == np.uint8) != (ours.dtype == np.uint8):
        return False
    return not with_bounds or (
        np.allclose(theirs.low, ours.low) and np.allclose(theirs.high, ours.high)
    )


def _channels_first(space: gym.Space) -> gym.Space:
    if isinstance(space, gym.spaces.Dict):
        return gym.spaces.Dict({key: _channels_first(space[key]) for key in space})
    if isinstance(space, gym.spaces.Box) and space.dtype == np.uint8 and len(space.shape) == 3:
        return gym.spaces.Box(
            np.moveaxis(space.low, -1, 0), np.moveaxis(space.high, -1, 0), dtype=np.uint8
        )
    return space


def _read_episodes(storage: Any, n: int, *, pictures_last: bool) -> Iterator[Episode]:
    for episode in storage.get_episodes(range(n)):
        observation = episode["observations"]
        if pictures_last:
            observation = _move_channels(observation)
        ended = episode["terminations"]
        yield Episode(
            observation, np.asarray(episode["actions"]), episode["rewards"], bool(ended[-1])
        )


def _move_channels(observation: Any) -> Any:
    if isinstance(observation, dict):
        return {key: _move_channels(part) for key, part in observation.items()}
    is_picture = observation.dtype == np.uint8 and observation.ndim == 4
    return np.moveaxis(observation, -1, 1) if is_picture else observation


def _one_line(space: gym.Space) -> str:
    return " ".join(str(space).split())


# -- writing --------------------------------------------------------------------------------------


def write_dataset(
    dataset_id: str,
    episodes: Iterable[Episode],
    observation_space: gym.Space,
    action_space: gym.Space,
    *,
    facts: dict[str, Any],
) -> Path:
    """Write a whole dataset beside its place and then move it there: it is there whole, or not.

    Args:
        dataset_id: Its name; there is none of it yet.
        episodes: In order.
        observation_space: Single space.
        action_space: Single space.
        facts: More of its metadata; `algorithm_name`, `description` and others of Minari's.

    Returns:
        Its folder.

    Raises:
        UserError: Somebody else has written one of that name in the meantime.
        StorageError: The disk is full or read-only.
    """
    minari = require_minari()
    from minari.data_collector.episode_buffer import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

    folder = dataset_folder(dataset_id)
    unfinished = folder.parent / f".{folder.name}.unfinished"
    with storage_errors(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it misses an author's address
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(unfinished, ignore_errors=True)  # of a writer that was killed
        try:
            unfinished.mkdir()
            storage = MinariStorage.new(
                unfinished / "data",
                observation_space=observation_space,
                action_space=action_space,
                data_format="hdf5",
                jpeg_encoding=False,  # what the learner sees is what the player saw
            )
            facts = {"dataset_id": dataset_id, "minari_version": minari.__version__, **facts}
            storage.update_metadata(facts)
            for episode in episodes:
                storage.update_episodes([_as_buffer(episode, EpisodeBuffer)])
            _make_namespace(dataset_id)
            if folder.exists():
                raise UserError(f"--dataset {dataset_id}: it was written by somebody else just now")
            unfinished.rename(folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def _as_buffer(episode: Episode, buffer: Any) -> Any:
    n = len(episode.action)
    is_last = np.arange(n) == n - 1
    return buffer(
        seed=episode.seed,
        observations=episode.observation,
        actions=episode.action,
        rewards=list(episode.reward),
        terminations=list(is_last & episode.terminated),
        truncations=list(is_last & (not episode.terminated)),
        infos={},
    )


def _make_namespace(dataset_id: str) -> None:
    """Let Minari know of the part of a name before the last slash."""
    from minari.namespace import create_namespace, list_local_namespaces

    namespace = dataset_id.rpartition("/")[0]
    if namespace and namespace not in list_local_namespaces():
        create_namespace(namespace)
