from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces

from tests.helpers.demonstrations import write_episodes
from utils.demonstrations.dataset_ids import dataset_folder, has_dataset, list_datasets
from utils.demonstrations.minari_files import read_dataset, write_dataset
from utils.errors import ConfigError, MissingAssetError, MissingDependencyError, UserError

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")

NUMBERS = spaces.Box(-1, 1, (3,), np.float32)
CHOICES = spaces.Discrete(4, start=2)


@pytest.fixture(autouse=True)
def _own_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))


def read(
    dataset_id: str,
    observation: spaces.Space = NUMBERS,
    action: spaces.Space = CHOICES,
    n: int | None = None,
):
    return read_dataset(dataset_id, observation, action, n_episodes=n, download=False)


def test_what_is_written_is_read_and_minari_knows_it() -> None:
    episodes = write_episodes("toys/random-v0", NUMBERS, CHOICES)
    data = read("toys/random-v0")
    assert data.n_episodes == 4
    expected = np.concatenate([episode.observation[:-1] for episode in episodes])
    assert np.array_equal(data.observation.numpy(), expected)
    assert data.action.tolist() == [a - 2 for e in episodes for a in e.action.tolist()]
    assert data.returns.tolist() == [15.0] * 4  # 0 + 1 + ... + 5
    assert list(minari.list_local_datasets()) == ["toys/random-v0"] == list_datasets()
    theirs = minari.load_dataset("toys/random-v0")
    assert (theirs.total_episodes, theirs.total_steps) == (4, 24)
    assert "terminations" in repr(theirs[0])
    assert theirs[0].terminations.tolist() == [False] * 5 + [True]
    assert theirs[1].truncations.tolist() == [False] * 5 + [True]
    assert np.array_equal(theirs[3].observations, episodes[3].observation)


def test_only_the_first_episodes_are_read_if_that_is_asked_for() -> None:
    write_episodes("toys/random-v0", NUMBERS, CHOICES)
    assert read("toys/random-v0", n=2).n_episodes == 2
    with pytest.raises(ConfigError, match="dataset_episodes: 5, but 'toys/random-v0' has 4"):
        read("toys/random-v0", n=5)


def test_pictures_are_kept_without_loss_and_their_channels_may_come_last() -> None:
    last = spaces.Box(0, 255, (40, 44, 3), np.uint8)
    first = spaces.Box(0, 255, (3, 40, 44), np.uint8)
    episodes = write_episodes("toys/pictures-v0", last, NUMBERS, n_episodes=1)
    data = read("toys/pictures-v0", first, NUMBERS)
    assert data.observation.dtype == torch.uint8
    expected = np.moveaxis(episodes[0].observation[:-1], -1, 1)
    assert np.array_equal(data.observation.numpy(), expected)
    own = write_episodes("toys/own-v0", first, NUMBERS, n_episodes=1)
    assert np.array_equal(
        read("toys/own-v0", first, NUMBERS).observation.numpy(), own[0].observation[:-1]
    )


def test_parts_of_a_dict_are_kept_by_name() -> None:
    space = spaces.Dict({"a": NUMBERS, "b": spaces.Discrete(5)})
    episodes = write_episodes("toys/parts-v0", space, NUMBERS, n_episodes=2)
    data = read("toys/parts-v0", space, NUMBERS)
    assert set(data.observation) == {"a", "b"}
    assert data.observation["b"].tolist()[:6] == episodes[0].observation["b"][:-1].tolist()


@pytest.mark.parametrize(
    ("observation", "action", "said"),
    [
        (spaces.Box(-1, 1, (2,), np.float32), CHOICES, "the environment shows Box"),
        (NUMBERS, spaces.Discrete(4), "the environment takes Discrete"),
        (NUMBERS, spaces.Box(-1, 1, (1,), np.float32), "the environment takes Box"),
    ],
)
def test_a_dataset_of_another_task_is_refused(
    observation: spaces.Space, action: spaces.Space, said: str
) -> None:
    write_episodes("toys/random-v0", NUMBERS, CHOICES, n_episodes=1)
    with pytest.raises(ConfigError, match=said):
        read("toys/random-v0", observation, action)


def test_bounds_of_actions_are_part_of_the_task_and_those_of_observations_are_not() -> None:
    wide, narrow = spaces.Box(-2, 2, (1,), np.float32), spaces.Box(-1, 1, (1,), np.float32)
    write_episodes("toys/random-v0", wide, narrow, n_episodes=1)
    assert read("toys/random-v0", spaces.Box(-1, 1, (1,), np.float64), narrow).n_episodes == 1
    with pytest.raises(ConfigError, match="holds actions of"):
        read("toys/random-v0", wide, wide)


def test_a_name_that_is_not_there_is_one_line_with_the_way_to_it() -> None:
    write_episodes("toys/random-v0", NUMBERS, CHOICES, n_episodes=1)
    with pytest.raises(MissingAssetError) as caught:
        read("toys/randon-v0")
    text = str(caught.value)
    assert "did you mean toys/random-v0?" in text
    assert "scripts/record_dataset.py RUN --dataset toys/randon-v0" in text
    assert "\n" not in text
    with pytest.raises(ConfigError, match="no name of a Minari dataset"):
        read("toys/random")


def test_looking_for_a_dataset_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(MissingAssetError):
        read("toys/random-v0")
    assert not (tmp_path / "datasets").exists()


def test_a_damaged_dataset_is_one_line() -> None:
    write_episodes("toys/random-v0", NUMBERS, CHOICES, n_episodes=1)
    (dataset_folder("toys/random-v0") / "data" / "metadata.json").write_text("{")
    with pytest.raises(ConfigError, match="cannot be read"):
        read("toys/random-v0")


def test_nothing_is_in_its_place_before_all_is_written(tmp_path: Path) -> None:
    def episodes():
        yield from write_episodes("toys/other-v0", NUMBERS, CHOICES, n_episodes=1)
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        write_dataset("toys/random-v0", episodes(), NUMBERS, CHOICES, facts={})
    assert not has_dataset("toys/random-v0")
    assert sorted(p.name for p in (tmp_path / "datasets" / "toys").iterdir()) == [
        "namespace_metadata.json",
        "other-v0",
    ]


def test_a_dataset_that_appeared_meanwhile_is_left_alone() -> None:
    mine = write_episodes("toys/random-v0", NUMBERS, CHOICES, n_episodes=1)
    with pytest.raises(UserError, match="written by somebody else"):
        write_dataset("toys/random-v0", mine, NUMBERS, CHOICES, facts={})


def test_without_minari_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "minari", None)
    with pytest.raises(MissingDependencyError, match=r"gymnasium-solver\[minari\]"):
        read("toys/random-v0")


def test_a_download_that_fails_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from minari.storage import hosting

    def refuse(_: str) -> None:
        (tmp_path / "datasets" / "toys" / "far-v0").mkdir(parents=True)
        raise OSError("no such host\nmore")

    monkeypatch.setattr(hosting, "download_dataset", refuse)
    with pytest.raises(ConfigError, match=r"'toys/far-v0' could not be fetched: no such host$"):
        read_dataset("toys/far-v0", NUMBERS, CHOICES, n_episodes=None, download=True)
    assert not dataset_folder("toys/far-v0").exists()


def test_a_million_steps_are_read_and_drawn_from() -> None:
    """In memory: what counts is that nothing loops over the steps in Python."""
    from utils.demonstrations.episodes import Episode, join_episodes
    from utils.demonstrations.windows import Windows

    space = gym.spaces.Box(-1, 1, (4,), np.float32)
    n, length = 1000, 1000
    shown = np.zeros((length + 1, 4), np.float32)
    done, paid = np.zeros((length, 4), np.float32), np.zeros(length)
    data = join_episodes((Episode(shown, done, paid, True) for _ in range(n)), space, space)
    assert len(data) == n * length
    windows = Windows(data, torch.arange(len(data)), n_observations=2, n_actions=16)
    index = torch.randint(len(data), (256,), generator=torch.Generator().manual_seed(0))
    assert windows.gather(index).action.shape == (256, 16, 4)
