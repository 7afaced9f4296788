"""Runs that older programs saved are read as what they were."""

import copy
import json
from pathlib import Path

import pytest

from utils.config import SCHEMA_VERSION, load_config_json
from utils.config.migrations import MIGRATIONS, migrate, steps
from utils.errors import ConfigError

STORED = Path(__file__).parent / "stored"
EXAMPLES = sorted(STORED.glob("*.version_*.json"))
# What each of these runs did by settings that its file does not name.
UNSAID = {
    "ppo": {
        "reward_scale": 1.0,
        "action_masks": False,
        "rollouts_per_epoch": 1,
        "sequence_length": None,
        "value_normalization": "none",
        "trackio": False,
    },
    "reinforce": {"rollouts_per_epoch": 1, "action_masks": False},
    "dreamer": {"dream_video": False},
}


def test_there_is_a_step_for_every_older_version():
    assert sorted(MIGRATIONS) == list(range(1, SCHEMA_VERSION))
    assert {path.name.split(".")[0] for path in EXAMPLES} >= {"ppo", "dqn", "sac", "dreamer"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_stored_run_is_read_and_keeps_every_setting(path):
    saved = json.loads(path.read_text())
    config = load_config_json(path).to_dict()
    assert config["schema_version"] == SCHEMA_VERSION
    kept = {key: config[key] for key in saved if key not in ("schema_version", "policy_kwargs")}
    expected = {key: saved[key] for key in kept}
    assert kept == expected
    assert saved["policy_kwargs"].items() <= config["policy_kwargs"].items()
    unsaid = UNSAID.get(saved["algo_id"], {})
    assert {key: config[key] for key in unsaid} == {
        **unsaid,
        **{k: saved[k] for k in unsaid if k in saved},
    }


def test_what_an_old_run_does_not_say_is_not_a_matter_of_defaults():
    old = json.loads((STORED / "dreamer.version_1.json").read_text())
    assert "dream_video" not in old
    assert "bins" not in old["policy_kwargs"]
    new = migrate(old, source="old")
    assert new["dream_video"] is False  # today's default is True
    assert new["policy_kwargs"]["bins"] == 255
    assert next(iter(new)) == "schema_version"


def test_migrating_changes_nothing_in_place_and_is_done_once():
    old = json.loads((STORED / "ppo.version_1.json").read_text())
    before = copy.deepcopy(old)
    new = migrate(old, source="old")
    assert old == before
    assert migrate(new, source="new") == new


def test_steps_are_walked_in_order(monkeypatch):
    def add(name):
        return lambda settings: {**settings, "walked": [*settings.get("walked", []), name]}

    monkeypatch.setattr(steps, "MIGRATIONS", {1: add("one"), 2: add("two"), 3: add("three")})
    monkeypatch.setattr(steps, "SCHEMA_VERSION", 4)
    walked = [migrate({"schema_version": v}, source="x").get("walked", []) for v in (1, 2, 3, 4)]
    assert walked == [["one", "two", "three"], ["two", "three"], ["three"], []]


@pytest.mark.parametrize("version", [0, -1, True, "1", 1.0, None, SCHEMA_VERSION + 1])
def test_other_versions_are_refused(version):
    with pytest.raises(ConfigError, match=r"^x: "):
        migrate({"schema_version": version}, source="x")
