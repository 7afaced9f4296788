from pathlib import Path

import pytest

from utils.errors import UserError
from utils.sweeps.cli import parse_sweep_args


def test_defaults_and_everything():
    args = parse_sweep_args(["a.yaml"])
    assert (args.path, args.backend, args.n_jobs) == (Path("a.yaml"), "local", 1)
    assert (args.n_trials, args.n_seeds, args.seed, args.folder) == (None, None, 0, None)
    assert not args.is_report_only
    numbers = ["--n-trials", "1e2", "--jobs", "3", "--seeds", "2", "--seed", "5"]
    args = parse_sweep_args(["a.yaml", *numbers, "--out", "x", "--report"])
    assert (args.n_trials, args.n_jobs, args.n_seeds, args.seed) == (100, 3, 2, 5)
    assert (args.folder, args.is_report_only) == (Path("x"), True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "name a sweep file, such as config/sweeps/cartpole_ppo.yaml"),
        ("a.yaml --n-trails 3", "unknown option '--n-trails': did you mean '--n-trials'?"),
        ("a.yaml --jobs 0", "--jobs 0: must be a whole number >= 1"),
        ("a.yaml --backend wandbb", "did you mean 'wandb'?"),
        ("a.yaml --backend wandb --seeds 2", "--seeds has no effect with --backend wandb"),
        ("a.yaml --backend wandb --report", "--report has no effect with --backend wandb"),
    ],
)
def test_mistakes(words, message):
    with pytest.raises(UserError) as caught:
        parse_sweep_args(words.split())
    assert message in str(caught.value)
