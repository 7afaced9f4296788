import json

import pytest
import torch

from utils.checkpoints import load_checkpoint, weights_content
from utils.errors import CheckpointError

pytest.importorskip("safetensors")

STATE = {
    "policy": {
        "normalizer.moments.mean": torch.tensor([1.5, -2.0], dtype=torch.float64),
        "trunk.weight": torch.arange(6.0).reshape(2, 3).T,  # not contiguous
        "steps": torch.tensor(7),
    },
    "spaces": {"observation": {"kind": "box", "low": "-inf"}, "action": {"kind": "discrete"}},
    "counters": {"epoch": 3, "timesteps": 48},
    "optimizer": {"secret": torch.ones(3)},
}


def write(path, state=STATE):
    path.write_bytes(weights_content(state))
    return path


def test_what_acts_comes_back_and_nothing_else_is_written(tmp_path):
    loaded = load_checkpoint(write(tmp_path / "model.safetensors"))
    assert loaded.keys() == {"policy", "spaces", "counters"}
    assert loaded["spaces"] == STATE["spaces"]
    assert loaded["counters"] == STATE["counters"]
    assert loaded["policy"].keys() == STATE["policy"].keys()
    for name, tensor in STATE["policy"].items():
        assert loaded["policy"][name].dtype == tensor.dtype
        assert torch.equal(loaded["policy"][name], tensor)


def test_tensors_that_share_memory_are_written_apart(tmp_path):
    shared = torch.ones(4)
    state = STATE | {"policy": {"a": shared, "b": shared[:2], "c": shared}}
    loaded = load_checkpoint(write(tmp_path / "model.safetensors", state))
    assert loaded["policy"]["b"].tolist() == [1.0, 1.0]


def test_equal_states_give_equal_bytes():
    turned = STATE | {"policy": dict(reversed(STATE["policy"].items()))}
    assert len({weights_content(state) for state in 10 * (STATE, turned)}) == 1


def test_a_link_leads_to_the_weights(tmp_path):
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    write(tmp_path / "blobs" / "abc123")
    link = tmp_path / "snapshot" / "model.safetensors"
    link.symlink_to("../blobs/abc123")
    assert load_checkpoint(link)["counters"]["epoch"] == 3


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda b: b[:-5], "damaged"),
        (lambda b: b"", "damaged"),
        (lambda b: b"\x80\x04cos\nsystem\n", "damaged"),
        (
            lambda b: b.replace(b"gymnasium-solver policy", b"another program's thing"),
            "not written",
        ),
        (lambda b: b.replace(b'"format_version":"1"', b'"format_version":"9"'), "version 9"),
    ],
)
def test_a_file_that_is_no_policy_is_refused(tmp_path, damage, message):
    path = tmp_path / "model.safetensors"
    path.write_bytes(damage(weights_content(STATE)))
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(path)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_checkpoint(tmp_path / "model.safetensors")


def test_the_head_is_text_that_anyone_can_read():
    content = weights_content(STATE)
    length = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + length])
    assert json.loads(head["__metadata__"]["counters"])["timesteps"] == 48
