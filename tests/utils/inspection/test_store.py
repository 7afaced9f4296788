import json
import os

import numpy as np
import pytest

from tests.helpers.played_runs import make_config, make_run
from utils.errors import CheckpointError, StorageError
from utils.inspection.record import Branch, EpisodeRecord, EpisodeRequest
from utils.inspection.store import EpisodeStore, fingerprint, save_record


def make_request(**changes):
    values = {"checkpoint": "epoch=01", "fingerprint": "0a1b2c3d", "seed": 7}
    return EpisodeRequest(**(values | {"is_deterministic": True} | changes))


def make_record(request):
    return EpisodeRecord(
        request=request,
        timesteps=100,
        episode_return=3.5,
        length=2,
        end="terminated",
        is_success=None,
        fps=30.0,
        frame_size=(48, 36),
        view=None,
        observation={"labels": ["x"]},
        actions={"kind": "discrete"},
        notes=("a note",),
        traces={"reward": np.array([1.0, 2.5]), "digest": np.array([1, 2, 3], np.uint32)},
    )


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path, make_config(), states=[{"a": 1}, {"a": 2}])


def store_record(run, request):
    store = EpisodeStore(run)
    with store.writing(request) as folder:
        save_record(folder, make_record(request))
    return store


@pytest.mark.parametrize("branch", [None, Branch(4, (1.0, 0.5))])
def test_a_record_comes_back_as_it_was(run, branch):
    request = make_request(branch=branch)
    stored = store_record(run, request).find(request)
    expected = make_record(request)
    assert stored.record.facts() == expected.facts()
    assert stored.record.request == request
    for name, array in expected.traces.items():
        assert stored.record.traces[name].dtype == array.dtype
        assert np.array_equal(stored.record.traces[name], array)
    assert stored.film.name == "frames.mp4"
    assert stored.view_film is None


@pytest.mark.parametrize(
    "other",
    [
        make_request(seed=8),
        make_request(is_deterministic=False),
        make_request(checkpoint="epoch=02"),
        make_request(fingerprint="ffffffff"),
        make_request(branch=Branch(0, (1.0,))),
    ],
)
def test_another_request_is_another_recording(run, other):
    store = store_record(run, make_request())
    assert store.find(other) is None
    one, two = Branch(0, (1.0,)), Branch(0, (2.0,))
    assert make_request(branch=one).folder != make_request(branch=two).folder


def test_recordings_are_listed_by_seed_without_branches(run):
    for request in (
        make_request(seed=12),
        make_request(seed=3),
        make_request(seed=3, branch=Branch(0, (1.0,))),
        make_request(seed=5, checkpoint="epoch=09"),
    ):
        store = store_record(run, request)
    seeds = [facts["request"]["seed"] for facts in store.list_facts("epoch=01", "0a1b2c3d")]
    assert seeds == [3, 12]


def test_what_fails_leaves_nothing(run):
    store, request = EpisodeStore(run), make_request()

    def fail():
        with store.writing(request) as folder:
            (folder / "frames.mp4").write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert store.find(request) is None
    assert not store.folder.exists()
    store_record(run, make_request(seed=1))
    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [facts["request"]["seed"] for facts in store.list_facts("epoch=01", "0a1b2c3d")] == [1]


def test_a_recording_is_not_there_before_it_is_whole(run):
    store, request = EpisodeStore(run), make_request()
    with store.writing(request) as folder:
        save_record(folder, make_record(request))
        assert store.find(request) is None
        number = folder.stat().st_ino
    assert store.find(request).folder.stat().st_ino == number  # renamed, not copied


def test_what_a_killed_inspector_left_is_removed_and_a_living_ones_is_not(run):
    store = EpisodeStore(run)
    store.folder.mkdir()
    gone, here = store.folder / ".partial-999999999-0", store.folder / f".partial-{os.getpid()}-x"
    for folder in (gone, here):
        folder.mkdir()
        (folder / "frames.mp4").write_bytes(b"half")
    store_record(run, make_request())
    assert not gone.exists()
    assert here.exists()


@pytest.mark.parametrize("name", ["episode.json", "traces.npz"])
def test_a_damaged_recording_is_made_anew(run, name):
    request = make_request()
    store = store_record(run, request)
    path = store.folder / request.folder / name
    path.write_bytes(path.read_bytes()[:20])
    assert store.find(request) is None
    store_record(run, request)
    assert store.find(request) is not None


def test_a_recording_of_another_format_is_not_read(run):
    request = make_request()
    store = store_record(run, request)
    path = store.folder / request.folder / "episode.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 0}))
    assert store.find(request) is None
    assert store.list_facts("epoch=01", "0a1b2c3d") == []


def test_a_full_disk_is_one_line(run, monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", refuse)
    with pytest.raises(StorageError, match="No space left on device"):
        store_record(run, make_request())
    assert not EpisodeStore(run).folder.exists()


def test_the_fingerprint_belongs_to_the_content_of_a_checkpoint(run, tmp_path):
    first, second = (run.checkpoint(name) for name in ("epoch=00", "epoch=01"))
    assert fingerprint(first) != fingerprint(second)
    copy = tmp_path / "copy.ckpt"
    copy.write_bytes(first.read_bytes())
    assert fingerprint(copy) == fingerprint(first)
    copy.write_bytes(b"no archive")
    with pytest.raises(CheckpointError, match="is cut short or not a checkpoint"):
        fingerprint(copy)
