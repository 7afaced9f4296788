from __future__ import annotations

from collections.abc import Iterator

import gymnasium as gym
import pytest

from gym_wrappers import EnvWrapperRegistry
from utils.errors import ConfigError


class Plain(gym.Wrapper):
    def __init__(self, env: gym.Env, *, size: int, name: str = "x") -> None:
        super().__init__(env)


@pytest.fixture
def plain() -> Iterator[None]:
    EnvWrapperRegistry.register("Plain", Plain)
    yield
    del EnvWrapperRegistry._entries["Plain"]


@pytest.mark.parametrize("name", EnvWrapperRegistry.names())
def test_every_entry_is_a_wrapper_in_a_folder_of_its_own(name: str) -> None:
    wrapper = EnvWrapperRegistry.get(name)
    assert issubclass(wrapper, gym.Wrapper)
    assert wrapper.__name__ == name
    package, folder, module = wrapper.__module__.split(".")
    assert (package, module) == ("gym_wrappers", "wrapper")
    assert folder.replace("_", "") == name.lower()


@pytest.mark.usefixtures("plain")
def test_an_entry_becomes_a_class_and_its_arguments() -> None:
    entry = {"id": "Plain", "size": 3}
    assert EnvWrapperRegistry.resolve(entry) == (Plain, {"size": 3})
    assert entry == {"id": "Plain", "size": 3}


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"id": "ClipRewrd"}, "unknown wrapper 'ClipRewrd'; did you mean ClipReward?"),
        ({"id": "Zzz"}, r"unknown wrapper 'Zzz' \(known: ActionGrid, "),
        ({"size": 3}, "has no 'id'"),
        ({"id": "Plain", "size": 3, "nam": "y"}, "Plain takes no 'nam'; did you mean name?"),
        ({"id": "Plain"}, "Plain needs 'size'"),
        ({"id": "Plain", "size": True}, "Plain: size must be a whole number, got True"),
        ({"id": "Plain", "size": 3.0}, r"Plain: size must be a whole number, got 3\.0"),
        ({"id": "ClipReward", "low": "a"}, "ClipReward: low must be a number, got 'a'"),
        ({"id": "EpisodicLife", "x": 1}, r"takes no 'x' \(it takes none\)"),
    ],
)
def test_mistakes_are_named(entry: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        EnvWrapperRegistry.resolve(entry)


@pytest.mark.usefixtures("plain")
def test_a_name_belongs_to_one_class() -> None:
    EnvWrapperRegistry.register("Plain", Plain)
    with pytest.raises(ConfigError, match="registered already"):
        EnvWrapperRegistry.register("Plain", gym.Wrapper)


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "StateCountBonus", "cell_size": "a"},
        {"id": "SelectObservation", "indices": [[0]]},
    ],
)
def test_a_value_that_a_wrapper_cannot_use_is_named(entry: dict) -> None:
    wrapper, kwargs = EnvWrapperRegistry.resolve(entry)
    with pytest.raises(ConfigError, match=f"env_wrappers: {entry['id']}"):
        EnvWrapperRegistry.wrap(gym.make("CartPole-v1"), wrapper, kwargs)
