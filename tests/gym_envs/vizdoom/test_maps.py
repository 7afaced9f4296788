from __future__ import annotations

from pathlib import Path

import pytest

vizdoom = pytest.importorskip("vizdoom")

from gym_envs.vizdoom.maps import list_maps, set_map  # noqa: E402
from utils.environment import build_env  # noqa: E402
from utils.errors import ConfigError  # noqa: E402

FOLDER = Path(vizdoom.__file__).parent


def load(name: str) -> vizdoom.DoomGame:
    game = vizdoom.DoomGame()
    game.load_config(str(FOLDER / "scenarios" / f"{name}.cfg"))
    return game


def test_levels_are_read_from_the_file():
    assert list_maps(FOLDER / "scenarios" / "basic.wad") == ["MAP01"]
    assert list_maps(FOLDER / "freedoom1.wad")[:2] == ["E1M1", "E1M2"]
    assert len(list_maps(FOLDER / "freedoom2.wad")) == 32


def test_no_wad_has_no_answer(tmp_path: Path):
    (tmp_path / "x.wad").write_bytes(b"zip?")
    assert list_maps(tmp_path / "x.wad") is None
    assert list_maps(tmp_path / "missing.wad") is None


@pytest.mark.parametrize(
    ("scenario", "level"), [("basic", "map01"), ("basic", "MAP32"), ("freedoom1", "e1m2")]
)
def test_a_level_of_the_scenario_or_its_game_is_taken(scenario: str, level: str):
    game = load(scenario)
    set_map(game, level)
    assert game.get_doom_map() == level


@pytest.mark.parametrize(("scenario", "level"), [("basic", "E1M1"), ("freedoom1", "MAP01")])
def test_a_level_of_another_game_is_refused(scenario: str, level: str):
    with pytest.raises(ConfigError, match=f"no level '{level}'; choose "):
        set_map(load(scenario), level)


def test_a_game_without_the_usual_first_level_begins_with_its_own():
    for scenario, level in (("freedoom1", "E1M1"), ("freedoom2", "map01"), ("basic", "map01")):
        game = load(scenario)
        set_map(game, None)
        assert game.get_doom_map() == level


def test_a_level_that_a_scenario_names_is_not_replaced():
    game = load("basic")
    game.set_doom_map("map77")
    with pytest.raises(ConfigError, match="no level 'MAP77'"):
        set_map(game, None)


def test_the_whole_game_starts():
    env = build_env("VizDoom-Freedoom1", n_envs=1, vectorization="async", env_timeout_seconds=30)
    try:
        assert env.reset(seed=0)[0].any()
    finally:
        env.close()
