import pytest

from utils.errors import RunNotFoundError
from utils.run import Run, RunGroup, find_group, list_runs

CONFIG = {"config_id": "A-v0:ppo", "seed": 0}


def make_group(runs_dir, seeds=(0, 1)):
    return RunGroup.create(runs_dir, config=CONFIG, seeds=seeds, arguments=["A-v0:ppo"])


def test_a_group_remembers_what_it_was_asked(tmp_path):
    group = make_group(tmp_path)
    assert group.id.endswith("-A-v0-ppo-x2")
    assert group.read_record() == {"config": CONFIG, "seeds": [0, 1], "arguments": ["A-v0:ppo"]}
    assert group.runs_dir == tmp_path
    assert make_group(tmp_path).id != group.id
    assert list_runs(tmp_path) == []


def test_the_newest_run_of_each_seed_counts(tmp_path):
    group = make_group(tmp_path)

    def make(seed, name):
        config = CONFIG | {"seed": seed}
        return Run.create(tmp_path, config_id="A-v0:ppo", config_dict=config, group=name)

    make(0, group.id)
    newest, other = make(0, group.id), make(1, group.id)
    make(1, "another")
    make(2, None)
    assert group.runs() == {0: newest, 1: other}


def test_a_group_is_found_by_id_and_by_path(tmp_path):
    group = make_group(tmp_path)
    assert find_group(group.id, tmp_path) == group
    found = find_group(str(group.path), tmp_path / "elsewhere")
    assert found is not None
    assert found.id == group.id
    assert find_group("@last", tmp_path) is None
    assert find_group("", tmp_path) is None
    run = Run.create(tmp_path, config_id="A-v0:ppo", config_dict=CONFIG)
    assert find_group(run.id, tmp_path) is None


def test_a_damaged_record_is_told(tmp_path):
    group = make_group(tmp_path)
    (group.path / "group.json").write_text("{}")
    with pytest.raises(RunNotFoundError, match="is missing or damaged"):
        group.read_record()
