import json

import pytest

from utils.errors import ConfigError, UserError
from utils.reproduction.entries import Entry, Published
from utils.reproduction.store import (
    known_seconds,
    last_suite,
    read_suite,
    suite_record,
    write_suite,
)
from utils.reproduction.suite import LeftOut
from utils.run import Run

ENTRY = Entry("CartPole-v1:ppo", 2, 475.0, (Published("RL Zoo", 500.0, 0.0, "100k"),))


def trained(tmp_path, seed, returns, *, process_seconds=3.0):
    run = Run.create(tmp_path / "runs", config_id="CartPole-v1:ppo", config_dict={})
    run.write_environment_facts(device="cpu", torch_threads=1)
    test = {"returns": returns, "n_unfinished": 0, "metrics": {}}
    result = {
        "seed": seed,
        "timesteps": 1000,
        "training_seconds": 2.0,
        "process_seconds": process_seconds,
        "stop_reason": "done",
        "test": {"best": test, "last": test},
    }
    return run, result


@pytest.fixture
def record(tmp_path):
    found = {ENTRY: [trained(tmp_path, 7, [490.0, 500.0]), trained(tmp_path, 3, [400.0, 410.0])]}
    return suite_record(found, left_out=[LeftOut("X:ppo", "no GPU")], overrides=["gamma=0.9"])


def test_all_that_a_reader_needs_is_there(record):
    json.dumps(record)
    (entry,) = record["entries"]
    assert (entry["config_id"], entry["metric"], entry["less_is_better"]) == (
        "CartPole-v1:ppo",
        "return",
        False,
    )
    assert [seed["seed"] for seed in entry["seeds"]] == [3, 7]
    assert [seed["value"] for seed in entry["seeds"]] == [405.0, 495.0]
    assert entry["best"]["mean"] == 450.0
    # Two values, 405 and 495: deviation 63.64, half width 12.706 x 63.64 / sqrt(2) = 571.8.
    assert entry["best"]["half_width_95"] == pytest.approx(571.8, abs=0.1)
    assert (entry["goal"], entry["n_reached"], entry["n_episodes"]) == (475.0, 1, 2)
    assert entry["median_steps_per_second"] == 500.0
    assert entry["published"][0] == {
        "source": "RL Zoo",
        "mean": 500.0,
        "spread": 0.0,
        "timesteps": "100k",
    }
    (machine,) = record["machines"]
    assert machine["device"] == "cpu"
    assert "torch" in machine["packages"]
    assert record["left_out"] == [{"config_id": "X:ppo", "reason": "no GPU"}]
    assert record["overrides"] == ["gamma=0.9"]


def test_a_seeds_value_is_of_the_policy_that_the_goal_is_asked_of(tmp_path):
    run, result = trained(tmp_path, 7, [490.0, 500.0])
    result["test"]["last"] = result["test"]["best"] | {"returns": [300.0, 310.0]}
    entry = Entry("CartPole-v1:ppo", 1, 475.0, judged="last")
    (found,) = suite_record({entry: [(run, result)]}, left_out=[], overrides=[])["entries"]
    assert (found["judged"], found["n_reached"]) == ("last", 0)
    (seed,) = found["seeds"]
    assert (seed["value"], seed["best"], seed["last"]) == (305.0, 495.0, 305.0)


def test_what_was_written_is_read_and_the_newest_found(record, tmp_path):
    assert last_suite(tmp_path / "store") is None
    paths = [write_suite(tmp_path / "store", record) for _ in range(11)]
    assert len(set(paths)) == 11
    assert last_suite(tmp_path / "store", ["gamma=0.9"]) == paths[-1]
    assert last_suite(tmp_path / "store") is None  # of the configs' own settings there is none
    own = write_suite(tmp_path / "store", record | {"overrides": []})
    assert last_suite(tmp_path / "store") == own
    suite = read_suite(paths[0])
    assert suite.overrides == ("gamma=0.9",)
    assert suite.entries["CartPole-v1:ppo"].values == [405.0, 495.0]
    assert known_seconds([suite]) == {"CartPole-v1:ppo": 3.0}


def test_the_time_of_a_resumed_training_is_that_of_all_its_parts(tmp_path):
    group = [trained(tmp_path, 1, [1.0, 2.0], process_seconds=0.5)]
    record = suite_record({ENTRY: group}, left_out=[], overrides=[])
    assert record["entries"][0]["seeds"][0]["seconds"] == 2.0


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"schema": "x"}, "no file of benchmark results"),
        ({"schema_version": 2}, "version 2 of the form of results, and this program knows 1"),
        ({"entries": [{"config_id": "a"}]}, "is damaged"),
        ({"entries": [{"config_id": "a", "metric": "return", "seeds": []}]}, "is damaged"),
        ({"entries": None}, "is damaged"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_of(record, tmp_path, changes, text):
    path = write_suite(tmp_path, record | changes)
    with pytest.raises(ConfigError, match=text):
        read_suite(path)


def test_a_file_that_is_not_there_is_told_of(tmp_path):
    with pytest.raises(UserError, match="there is no file of results"):
        read_suite(tmp_path / "x.json")
    (tmp_path / "y.json").write_text("[1")
    with pytest.raises(ConfigError, match="no file of benchmark results"):
        read_suite(tmp_path / "y.json")
