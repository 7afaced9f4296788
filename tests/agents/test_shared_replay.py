"""Processes that have parts of a batch learn from it what one process learns from the whole."""

from __future__ import annotations

import pytest
import torch

from tests.helpers.commands import Command
from tests.helpers.same_batches import CASES
from tests.helpers.together import run_together

MODULE = "tests.helpers.same_batches"
MODULES = (MODULE, "agents.shared_replay", "agents.dreamer.dreamer_agent")
TOLERANCE = 1e-4
"""Of the largest number of a tensor: what the order of sums changes in four updates; seen: 4e-6."""
_SMALLEST = 1e-6
"""Numbers whose size says nothing."""
needs_gpus = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")


def leaves(state, name=""):
    """Return the tensors and numbers of nested dicts by name."""
    if isinstance(state, dict):
        parts = [leaves(part, f"{name}/{key}") for key, part in state.items()]
        return {key: value for part in parts for key, value in part.items()}
    is_number = torch.is_tensor(state) or isinstance(state, float)
    return {name: torch.as_tensor(state).double()} if is_number else {}


def learn(case, tmp_path, *, device="cpu"):
    """Return what one process has learnt, and what each of two has."""
    one = tmp_path / "one"
    alone = Command(MODULE, case, device, str(one), modules=MODULES).wait()
    assert alone.code == 0, alone.err  # which may also tell of compiling
    paths = [tmp_path / str(rank) for rank in range(2)]
    ended = run_together(2, MODULE, lambda r: (case, device, str(paths[r])), modules=MODULES)
    assert [f.code for f in ended] == [0, 0], "\n".join(f.err for f in ended)
    return [leaves(torch.load(path, map_location="cpu")) for path in (one, *paths)]


def assert_alike(one, other, *, tolerance):
    assert one.keys() == other.keys()
    for key, value in one.items():
        # The share of an error in rewards is no mean, so neither is it the mean of the parts'.
        if key.startswith("/told") and "reward_error" in key:
            continue
        size = float(value.abs().max()) if value.numel() else 0.0
        bound = tolerance * max(size, _SMALLEST)
        torch.testing.assert_close(other[key], value, rtol=0.0, atol=bound, msg=key)


@pytest.mark.parametrize("case", CASES)
def test_two_processes_learn_what_one_does(case, tmp_path):
    one, first, second = learn(case, tmp_path)
    assert first.keys() == second.keys()
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert_alike(one, first, tolerance=TOLERANCE)


@pytest.mark.gpu
@needs_gpus
@pytest.mark.parametrize("case", ["dreamer", "tdmpc", "sac", "rainbow"])
def test_two_gpus_learn_what_one_does_by_captured_graphs(case, tmp_path):
    one, first, second = learn(case, tmp_path, device="cuda")
    assert all(torch.equal(first[key], second[key]) for key in first)
    # Products there have fewer digits, and optimisers divide by the size of what is left of them.
    one, first = ({k: v for k, v in s.items() if k.startswith("/policy")} for s in (one, first))
    assert_alike(one, first, tolerance=1e-3)
