"""What the benchmark of several processes trains, and how it tells what it found."""

from pathlib import Path

import pytest

from utils.benchmarks.scaling import CASES, ScalingFigure, command_of, scaling_table
from utils.config.cli import parse_train_args
from utils.config.loader import load_config


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_environments_and_minibatches_grow_with_the_processes(name, device):
    sizes = {}
    for size in (1, 4):
        words = command_of(CASES[name], size, device=device, runs_dir=Path("/tmp/x"))[2:]
        args = parse_train_args(words, environ={})
        config = load_config(args.config_id, args.overrides)
        assert config.n_processes == size
        batch_size = getattr(config, "resolved_batch_size", config.batch_size)
        sizes[size] = (config.n_envs, batch_size)
    assert sizes[4] == tuple(4 * number for number in sizes[1])


def test_the_table_compares_with_the_first_of_its_case():
    figures = [
        ScalingFigure("cartpole", 1, "cuda", 100, 1000.0, 5),
        ScalingFigure("cartpole", 4, "cuda", 400, 3000.0, 5),
        ScalingFigure("simd", 2, "cpu", 10, 50.0, 5),
    ]
    lines = [line.split() for line in scaling_table(figures).splitlines()[2:]]
    assert lines[0][-3:] == ["1,000", "1.00x", "100%"]
    assert lines[1][-3:] == ["3,000", "3.00x", "75%"]
    assert lines[2][-3:] == ["50", "1.00x", "100%"]
