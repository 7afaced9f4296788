import base64
import json
from pathlib import Path

import numpy as np
import pytest

from tests.utils.inspection.test_store import make_record, make_request
from utils.inspection.media import MediaShelf
from utils.inspection.payload import encode_array, player_value
from utils.inspection.record import Branch
from utils.inspection.store import StoredEpisode


def decode(array):
    return np.frombuffer(base64.b64decode(array["data"]), "<f4").reshape(-1, array["width"])


@pytest.mark.parametrize(
    "array",
    [
        np.array([1.5, -2.0, np.nan]),
        np.arange(6, dtype=np.int64).reshape(3, 2),
        np.array([[True, False]]),
        np.empty((4, 0), np.float32),
    ],
)
def test_arrays_are_rows_of_little_endian_floats(array):
    encoded = encode_array(array)
    if array.shape[-1] == 0:
        assert encoded == {"width": 0, "data": ""}
    else:
        expected = array.reshape(len(array), -1).astype(np.float32)
        assert np.array_equal(decode(encoded), expected, equal_nan=True)


def make_episode(**changes):
    record = make_record(make_request(**changes))
    record.traces["learner_reward"] = record.traces["reward"] * 2
    return StoredEpisode(record, Path("/somewhere/secret/run"))


def test_the_value_of_the_player_is_json_and_names_no_path():
    media = MediaShelf()
    episodes = [make_episode(), make_episode(branch=Branch(1, (0.0,)))]
    value = player_value(episodes, ["one", "two"], run_id="<b>", media=media)
    text = json.dumps(value, allow_nan=False)
    assert "secret" not in text
    assert "digest" not in text
    assert value["branch_step"] == 1
    assert [episode["name"] for episode in value["episodes"]] == ["one", "two"]
    film = value["episodes"][0]["film"]
    name = film.removeprefix("/media/")
    assert media.find(name) == Path("/somewhere/secret/run/frames.mp4")


def test_a_learner_that_is_paid_the_same_is_not_sent_twice():
    episode = make_episode()
    traces = player_value([episode], ["a"], run_id="r", media=MediaShelf())["episodes"][0]["traces"]
    assert decode(traces["learner_reward"]).ravel().tolist() == [2.0, 5.0]
    episode.record.traces["learner_reward"] = episode.record.traces["reward"]
    traces = player_value([episode], ["a"], run_id="r", media=MediaShelf())["episodes"][0]["traces"]
    assert "learner_reward" not in traces
    del episode.record.traces["learner_reward"]
    player_value([episode], ["a"], run_id="r", media=MediaShelf())


def test_only_films_that_were_handed_out_are_found():
    media = MediaShelf()
    url = media.url(Path("/runs/a/frames.mp4"))
    assert media.url(Path("/runs/a/frames.mp4")) == url
    assert media.url(Path("/runs/b/frames.mp4")) != url
    assert media.url(None) is None
    for name in ("frames.mp4", "../config.json", "/runs/a/frames.mp4", ""):
        assert media.find(name) is None
