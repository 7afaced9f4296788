"""Which ids there are, and what is said where a file is missing or broken."""

import shutil
from pathlib import Path

import gymnasium as gym
import pytest

from gym_envs.vizdoom.scenarios import BUNDLED, find_config, list_scenarios
from utils.environment import build_env
from utils.errors import ConfigError

PACKAGE = Path("package")


def test_every_bundled_scenario_has_an_id():
    found = list_scenarios(PACKAGE, environ={})
    assert len(found) == len(BUNDLED) + 1
    assert found["VizDoom-HealthGatheringSupreme"] == PACKAGE / "health_gathering_supreme.cfg"
    assert found["VizDoom-Custom"] is None


def test_a_folder_of_ones_own_comes_first(tmp_path):
    for name in ("my-maze.cfg", "basic.cfg", "readme.txt"):
        (tmp_path / name).touch()
    found = list_scenarios(PACKAGE, environ={"VIZDOOM_SCENARIOS_DIR": str(tmp_path)})
    assert found["VizDoom-MyMaze"] == tmp_path / "my-maze.cfg"
    assert found["VizDoom-Basic"] == tmp_path / "basic.cfg"
    assert found["VizDoom-TakeCover"] == PACKAGE / "take_cover.cfg"


def test_a_missing_folder_is_told():
    with pytest.raises(ConfigError, match="VIZDOOM_SCENARIOS_DIR: there is no folder /nowhere"):
        list_scenarios(PACKAGE, environ={"VIZDOOM_SCENARIOS_DIR": "/nowhere"})


def test_a_path_is_needed_and_must_lead_to_a_file(tmp_path):
    with pytest.raises(ConfigError, match="VizDoom-Custom needs config_path"):
        find_config(None)
    with pytest.raises(ConfigError, match="config_path: there is no file"):
        find_config(tmp_path / "none.cfg")


def scenario(folder: Path, text: str, *, wad: bool = True) -> Path:
    import vizdoom

    if wad:
        shutil.copy(Path(vizdoom.scenarios_path) / "basic.wad", folder / "maze.wad")
    file = folder / "my_maze.cfg"
    file.write_text(text)
    return file


GOOD = """doom_scenario_path = maze.wad
episode_timeout = 21
living_reward = -1
available_buttons = { ATTACK }
"""


def test_scenarios_of_ones_own_run_by_path_and_by_folder(tmp_path, monkeypatch):
    pytest.importorskip("vizdoom")
    file = scenario(tmp_path, GOOD)
    by_path = build_env("VizDoom-Custom", n_envs=1, env_kwargs={"config_path": str(file)})
    by_path.close()
    assert (by_path.max_episode_steps, by_path.single_action_space.n) == (6, 2)  # 21 tics / 4

    monkeypatch.setenv("VIZDOOM_SCENARIOS_DIR", str(tmp_path))
    by_folder = build_env("VizDoom-MyMaze", n_envs=1, env_kwargs={"frame_skip": 10})
    by_folder.close()
    assert by_folder.max_episode_steps == 3
    gym.registry.pop("VizDoom-MyMaze")


@pytest.mark.parametrize(
    ("text", "wad", "told"),
    [
        (GOOD, False, "doom_scenario_path leads to .*maze.wad, and there is no such file"),
        (GOOD.replace("episode_timeout", "episode_timeoutt"), True, "Unsupported key: episode_ti"),
        (GOOD.replace("ATTACK", "JUMPP"), True, "Unsupported value"),
        ("doom_scenario_path = maze.wad\n", True, "names no available_buttons"),
    ],
)
def test_a_broken_scenario_is_told_in_one_line(tmp_path, capfd, text, wad, told):
    pytest.importorskip("vizdoom")
    file = scenario(tmp_path, text, wad=wad)
    with pytest.raises(ConfigError, match=told) as caught:
        build_env("VizDoom-Custom", n_envs=1, env_kwargs={"config_path": str(file)})
    assert "\n" not in str(caught.value)
    assert str(file) in str(caught.value)
    assert capfd.readouterr().err == ""


def test_an_unknown_scenario_is_answered_with_the_nearest():
    pytest.importorskip("vizdoom")
    with pytest.raises(ConfigError, match="did you mean VizDoom-DefendTheCenter"):
        build_env("VizDoom-DefendTheCentre", n_envs=1)
