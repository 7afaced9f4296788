import dataclasses
import json
import multiprocessing

import pytest

from utils.errors import UserError
from utils.run import Labels, Run, change_labels, read_labels
from utils.run.labels import check_word


def test_labels_are_kept_in_the_folder_of_the_run(tmp_path):
    run = Run.create(tmp_path, config_id="A-v0:ppo", config_dict={}, group="study")
    assert read_labels(run.path) == Labels(group="study")
    change_labels(run.path, lambda labels: dataclasses.replace(labels, tags=("b", "a", "b")))
    change_labels(run.path, lambda labels: dataclasses.replace(labels, note="so far"))
    assert read_labels(run.path) == Labels(group="study", tags=("a", "b"), note="so far")
    stored = json.loads((run.path / "labels.json").read_text())
    assert stored == {"group": "study", "tags": ["a", "b"], "note": "so far"}


def test_a_run_without_a_group_has_no_file(tmp_path):
    run = Run.create(tmp_path, config_id="A-v0:ppo", config_dict={})
    assert not (run.path / "labels.json").exists()
    change_labels(run.path, lambda labels: labels)
    assert not (run.path / "labels.json").exists()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"tags": 3, "group": [], "note": null}'])
def test_a_damaged_file_says_nothing(tmp_path, content):
    (tmp_path / "labels.json").write_text(content)
    assert read_labels(tmp_path) == Labels()


def _tag(folder, number):
    change_labels(folder, lambda old: dataclasses.replace(old, tags=(*old.tags, f"t{number:02}")))


def test_of_many_writers_none_is_lost(tmp_path):
    processes = [
        multiprocessing.get_context("fork").Process(target=_tag, args=(tmp_path, number))
        for number in range(12)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert read_labels(tmp_path).tags == tuple(f"t{number:02}" for number in range(12))


@pytest.mark.parametrize("word", ["", "a b", "a,b", "a=b", "-a", "a/b", "<b>", "ä"])
def test_a_name_that_no_filter_could_name_is_refused(word):
    with pytest.raises(UserError, match="--group"):
        check_word(word, what="--group")


def test_names():
    assert check_word("lr-1.5_b+", what="tag") == "lr-1.5_b+"
