"""Which extras a config needs beside those of its environment."""

import sys

import pytest

from utils.config import load_config
from utils.config.catalog import list_configs
from utils.environment.families.extras import missing_extras


@pytest.mark.parametrize(
    ("config_id", "extras"),
    [
        ("CartPole-v1:ppo", []),
        ("Spotlight-v0:world_models", ["evolution"]),
        ("Spotlight-v0:world_models_real", ["evolution"]),
        ("LunarLander-v3:ppo", ["box2d"]),
        ("CarRacing-v3:ppo", ["box2d", "image"]),
        ("CartPole-v1:bc", ["minari"]),
        ("Pendulum-v1:diffusion", ["diffusion", "minari"]),
        ("Obstacle-v0:bc", []),
    ],
)
def test_what_is_not_installed_is_named(monkeypatch, config_id, extras):
    for package in ("Box2D", "cv2", "cma", "minari", "diffusers"):
        monkeypatch.setitem(sys.modules, package, None)
    assert missing_extras(load_config(config_id).to_dict()) == extras


def test_the_list_marks_variants_whose_extra_is_missing(monkeypatch):
    for package in ("Box2D", "mujoco", "dm_control", "minigrid", "gym_pusht", "ale_py", "cma"):
        monkeypatch.setitem(sys.modules, package, None)
    row = list_configs("Spotlight", missing_extras=missing_extras).splitlines()[1]
    assert "(needs the extra 'evolution')" in row
    monkeypatch.setitem(sys.modules, "minari", None)
    row = list_configs("CartPole", missing_extras=missing_extras).splitlines()[1]
    assert "dreamer_v1, random, bc (needs 'minari') " in row
