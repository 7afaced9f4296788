import os
import pathlib
import pickle
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch

from utils.checkpoints import (
    is_whole_checkpoint,
    load_acting_state,
    load_checkpoint,
    save_checkpoint,
)
from utils.errors import CheckpointError, StorageError

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_everything_a_run_holds_comes_back_equal(tmp_path):
    generator = np.random.default_rng(3)
    optimizer = torch.optim.AdamW(torch.nn.Linear(2, 2).parameters())
    state = {
        "weights": torch.nn.Linear(3, 2).state_dict(),
        "optimizer": optimizer.state_dict(),
        "numpy_generator": generator.bit_generator.state,
        "torch_generator": torch.get_rng_state(),
        "uint64": np.arange(6, dtype=np.uint64).reshape(2, 3),
        "strided": np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2],
        "scalar_array": np.array(2.5),
        "empty": np.zeros((0, 4), dtype=np.int8),
        "bools": np.array([True, False]),
        "plain": {"a": (1, None, "x"), 3: [True, 2.5, b"y"]},
    }
    path = tmp_path / "epoch=01.ckpt"
    save_checkpoint(path, state)
    loaded = load_checkpoint(path)

    assert loaded["numpy_generator"] == state["numpy_generator"]
    assert loaded["plain"] == state["plain"]
    assert torch.equal(loaded["weights"]["weight"], state["weights"]["weight"])
    assert torch.equal(loaded["torch_generator"], state["torch_generator"])
    assert loaded["optimizer"]["param_groups"] == state["optimizer"]["param_groups"]
    for name in ("uint64", "strided", "scalar_array", "empty", "bools"):
        assert loaded[name].dtype == state[name].dtype, name
        np.testing.assert_array_equal(loaded[name], state[name])


def test_numpy_scalars_become_python_numbers(tmp_path):
    save_checkpoint(tmp_path / "a.ckpt", {"n": np.int64(3), "x": np.float32(0.5)})
    loaded = load_checkpoint(tmp_path / "a.ckpt")
    assert type(loaded["n"]) is int
    assert loaded == {"n": 3, "x": 0.5}


def test_unsafe_value_is_refused_when_saving_and_its_place_is_named(tmp_path):
    with pytest.raises(AssertionError, match=r"state\.a\.b\[1\]: .* PosixPath"):
        save_checkpoint(tmp_path / "a.ckpt", {"a": {"b": [1, pathlib.Path("x")]}})
    assert list(tmp_path.iterdir()) == []


def test_view_of_a_large_buffer_does_not_save_the_buffer(tmp_path):
    save_checkpoint(tmp_path / "a.ckpt", {"row": torch.zeros(1_000_000)[:2]})
    assert (tmp_path / "a.ckpt").stat().st_size < 10_000


def test_training_tensors_are_saved_without_their_graph(tmp_path):
    weight = torch.ones(2, requires_grad=True)
    save_checkpoint(tmp_path / "a.ckpt", {"w": weight * 2})
    assert load_checkpoint(tmp_path / "a.ckpt")["w"].requires_grad is False


def test_full_disk_keeps_the_old_checkpoint(tmp_path):
    path = tmp_path / "epoch=01.ckpt"
    save_checkpoint(path, {"epoch": 1})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, hard))
    try:
        with pytest.raises(StorageError, match="cannot write"):
            save_checkpoint(path, {"epoch": 2, "w": torch.zeros(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert load_checkpoint(path) == {"epoch": 1}
    assert os.listdir(tmp_path) == ["epoch=01.ckpt"]


@pytest.mark.slow
def test_killed_while_saving_keeps_the_old_checkpoint(tmp_path):
    path = tmp_path / "epoch=01.ckpt"
    save_checkpoint(path, {"epoch": 1})
    code = (
        "import os, sys, time, torch; from utils.checkpoints import save_checkpoint\n"
        "os.replace = lambda *paths: (print('written', flush=True), time.sleep(300))\n"
        "save_checkpoint(sys.argv[1], {'w': torch.zeros(1000)})\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"written\n"
    leftovers = list(tmp_path.glob(".*.tmp"))
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert leftovers[0].exists(), "the save was over before the kill"
    assert load_checkpoint(path) == {"epoch": 1}


@pytest.mark.parametrize("keep", [0, 10, -200, -1])
def test_cut_file_is_a_checkpoint_error(tmp_path, keep):
    path = tmp_path / "a.ckpt"
    save_checkpoint(path, {"w": torch.arange(1000.0)})
    content = path.read_bytes()
    path.write_bytes(content[:keep])
    assert not is_whole_checkpoint(path)
    with pytest.raises(CheckpointError, match="cut short or not a checkpoint"):
        load_checkpoint(path)


def test_flipped_bit_in_the_weights_is_a_checkpoint_error(tmp_path):
    path = tmp_path / "a.ckpt"
    save_checkpoint(path, {"w": torch.zeros(1000)})
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="is damaged"):
        load_checkpoint(path)


def test_missing_file_is_a_checkpoint_error(tmp_path):
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        load_checkpoint(tmp_path / "a.ckpt")


def test_file_that_would_run_code_is_refused(tmp_path):
    class Payload:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "was_run"),)

    torch.save({"a": Payload()}, tmp_path / "a.ckpt")
    with pytest.raises(CheckpointError, match="more than plain values"):
        load_checkpoint(tmp_path / "a.ckpt")
    assert not (tmp_path / "was_run").exists()


def test_plain_pickle_is_not_a_checkpoint(tmp_path):
    (tmp_path / "a.ckpt").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        load_checkpoint(tmp_path / "a.ckpt")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_tensors_of_a_gpu_load_on_the_cpu(tmp_path):
    save_checkpoint(tmp_path / "a.ckpt", {"w": torch.ones(2, device="cuda")})
    assert load_checkpoint(tmp_path / "a.ckpt")["w"].device.type == "cpu"


def test_a_state_that_no_policy_can_be_made_of_is_refused_by_what_it_lacks(tmp_path):
    path = tmp_path / "epoch=01.ckpt"
    state = {"policy": {}, "spaces": {}, "counters": {"epoch": 1}}
    save_checkpoint(path, state)
    assert load_acting_state(path) == state
    save_checkpoint(path, {"policy": torch.ones(2), "spaces": {}})
    with pytest.raises(CheckpointError, match="it has no policy and no counters"):
        load_acting_state(path)
