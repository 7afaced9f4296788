import sys

import pytest

from utils.environment.families import table
from utils.environment.families.family import Family
from utils.environment.families.table import family_of, missing_extra
from utils.errors import MissingDependencyError


@pytest.mark.parametrize(
    ("env_id", "name"),
    [
        ("CartPole-v1", "Gymnasium"),
        ("some.module:Thing-v0", "Gymnasium"),
        ("LunarLander-v3", "Box2D"),
        ("LunarLanderContinuous-v3", "Box2D"),
        ("gymnasium.envs:CarRacing-v3", "CarRacing"),
    ],
)
def test_the_longest_prefix_decides(env_id, name):
    assert family_of(env_id).name == name


def test_a_missing_package_is_named_before_anything_is_built():
    family = Family(name="X", prefixes=("X-",), packages=("no_such_package",), extra="xs")
    with pytest.raises(MissingDependencyError, match=r"X-Y.*no_such_package.*\[xs\]"):
        family.make_known("X-Y")


def test_every_family_with_packages_names_the_extra_that_installs_them():
    for family in table.FAMILIES:
        assert family.extra is not None or not family.packages, family


def test_the_extra_of_an_id_is_missing_where_one_of_its_packages_is(monkeypatch):
    monkeypatch.setitem(sys.modules, "Box2D", None)  # as if it were not installed
    assert missing_extra("LunarLander-v3") == "box2d"
    assert missing_extra("CartPole-v1") is None
