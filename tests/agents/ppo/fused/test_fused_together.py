"""Fused kernels of several processes: parts of minibatches that are those of the whole."""

from __future__ import annotations

import pytest
import torch

from tests.helpers.commands import Command
from tests.helpers.fused_loops import DEVICE, make_loop
from tests.helpers.together import run_together
from utils.returns import standardize

MODULE = "tests.helpers.fused_together"
pytestmark = [pytest.mark.gpu] if DEVICE == "cuda" else []
needs_gpus = pytest.mark.skipif(
    DEVICE == "cuda" and torch.cuda.device_count() < 2, reason="needs two CUDA devices"
)
SHAPE = {"n_envs": 8, "n_steps": 4, "n_epochs": 1, "n_minibatches": 2, "hidden_dims": (32,)}


def run(tmp_path, *words):
    """Return what each of two processes came to."""
    paths = [tmp_path / str(rank) for rank in range(2)]
    ended = run_together(2, MODULE, lambda rank: (str(paths[rank]), *words))
    assert [f.code for f in ended] == [0, 0], "\n".join(f.err for f in ended)
    return [torch.load(path, weights_only=False) for path in paths]


def distance(one, other):
    pairs = zip(one["parameters"], other["parameters"], strict=True)
    return max(float((a - b).abs().max()) for a, b in pairs)


@needs_gpus
def test_processes_that_do_the_same_are_one_process_twice(tmp_path):
    path = tmp_path / "one"
    alone = Command(MODULE, str(path), "0").wait()
    assert alone.code == 0, alone.err
    one = torch.load(path, weights_only=False)
    first, second = run(tmp_path, "0")
    assert distance(first, second) == 0.0
    # The deviation of twice the samples has one degree of freedom less than twice as many.
    assert distance(one, first) < 1e-4
    assert first["n_timesteps"] == 2 * one["n_timesteps"]
    for key in ("train/loss/value", "train/adv/mean", "train/policy/entropy"):
        assert first["metrics"][key] == pytest.approx(one["metrics"][key], rel=1e-3)


@needs_gpus
def test_processes_with_their_own_environments_have_the_same_weights(tmp_path):
    first, second = run(tmp_path)
    assert not torch.equal(first["env"], second["env"])
    assert distance(first, second) == 0.0
    assert first["metrics"] == second["metrics"]


class Pair:
    """Two processes in one: what the other gives to a mean is known beforehand."""

    size = 2

    def __init__(self):
        self.given, self.others = [], []

    def mean_(self, tensor):
        self.given.append(tensor.clone())
        if self.others:
            tensor.add_(self.others.pop(0)).div_(2)


@pytest.mark.parametrize("mode", ["batch", "rollout"])
def test_advantages_are_standardised_over_the_parts_of_both(mode):
    loops = [make_loop(**SHAPE, normalize_advantages=mode, seed=seed) for seed in (0, 1)]
    pairs = [Pair(), Pair()]
    iterations = [loop.iteration for loop in loops]
    for iteration, pair in zip(iterations, pairs, strict=True):
        iteration.team = pair
        iteration.advantages.copy_(torch.randn_like(iteration.advantages) * 3.0 + 50.0)
        iteration.hyper.zero_()
    n = iterations[0].n_samples if mode == "rollout" else iterations[0].minibatch_size
    parts = [iteration.advantages.cpu() for iteration in iterations]
    for iteration, part in zip(iterations, parts, strict=True):
        first = part - part[0]  # in a row, as if nothing had been shuffled
        count = 1 if mode == "rollout" else iteration.n_updates
        sums = [first.view(count, n).sum(1), first.square().view(count, n).sum(1)]
        iteration.partial.zero_()
        iteration.partial[:count, :, 0] = torch.stack(sums, dim=1).to(iteration.partial.device)
    before = [iteration.partial.clone() for iteration in iterations]
    for iteration, sums in zip(iterations, before, strict=True):
        iteration.join_moments()
        iteration.partial.copy_(sums)
    for k in range(2):
        pairs[k].others = [pairs[1 - k].given[0]]
        iterations[k].join_moments()
        shift = iterations[k].partial[0, 0].sum().cpu() / n
        left = iterations[k].partial[0, 1].sum().cpu() - shift.square() * n
        ours = (parts[k][:n] - (parts[k][0] + shift)) / (left / (n - 1)).sqrt()
        whole = torch.cat([part[:n] for part in parts])
        torch.testing.assert_close(ours, standardize(parts[k][:n], over=whole), atol=1e-4, rtol=0)
