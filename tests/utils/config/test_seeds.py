import argparse

import pytest

from utils.config.cli import parse_train_args
from utils.config.seeds import Seeds, read_seeds
from utils.errors import UserError


@pytest.mark.parametrize(
    ("text", "first", "expected"),
    [
        ("1,2,3", 9, (1, 2, 3)),
        ("1-4", 9, (1, 2, 3, 4)),
        ("0-1, 7", 9, (0, 1, 7)),
        ("5", 9, (5,)),
        ("3x", 0, (0, 1, 2)),
        ("3x", 100, (100, 101, 102)),
    ],
)
def test_seeds_as_people_write_them(text, first, expected):
    assert read_seeds(text).resolve(first) == expected


@pytest.mark.parametrize(
    "text", ["", "x", "0x", "1001x", "a", "1,,2", "1,1", "3-1", "-1", "1.5", "0-5000", "2147483648"]
)
def test_other_seeds_are_refused(text):
    with pytest.raises(argparse.ArgumentTypeError):
        read_seeds(text)


def test_a_training_of_a_group_gets_all_but_what_differs():
    words = (
        "CartPole-v1:ppo -q --seeds=3x --seed 7 --set gamma=0.9 --jobs 2 --runs_dir /tmp/x "
        "--max-timesteps 100 --quiet"
    )
    args = parse_train_args(words.split(), environ={})
    assert args.arguments == ("CartPole-v1:ppo", "--set", "gamma=0.9", "--max-timesteps", "100")
    assert args.seeds == Seeds(n_seeds=3)
    assert args.n_jobs == 2


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("A:ppo --jobs 2", "--jobs has no effect without --seeds"),
        ("A:ppo --seeds 1,2 --seed 3", "--seed has no effect with --seeds, which lists them"),
        ("A:ppo --seeds 2x --debug", "--debug has no effect with --seeds"),
        ("A:ppo --seeds 2x --group a", "--group has no effect with --seeds"),
        ("A:ppo --seeds two", "--seeds two: seeds are written 1,2,3 or 1-5, or 5x for five"),
        ("A:ppo --like @last", "--like takes the settings of a run: leave out 'A:ppo'"),
        ("--resume @last --group a", "--group has no effect with --resume"),
        ("--resume @last --like x", "--like has no effect with --resume"),
    ],
)
def test_what_does_not_go_together(words, expected):
    with pytest.raises(UserError) as refused:
        parse_train_args(words.split(), environ={})
    assert any(line.startswith(expected) for line in str(refused.value).splitlines()), refused.value
