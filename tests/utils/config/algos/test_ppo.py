import pytest

from tests.helpers.config_files import load_ppo, ppo_problems


def test_a_whole_batch_size_counts_samples(tmp_path):
    config = load_ppo(tmp_path, "", "n_envs=3", "n_steps=50", "batch_size=50")
    assert (config.rollout_size, config.resolved_batch_size) == (150, 50)


@pytest.mark.parametrize(
    ("fraction", "n_steps", "size"),
    [
        ("0.5", 25, 50),
        ("1.0", 25, 100),
        # 0.07 * 100 is 7.000000000000001 and 0.29 * 100 is 28.999999999999996 in binary.
        ("0.29", 100, 116),
        ("0.01", 100, 4),
    ],
)
def test_a_fraction_is_of_the_rollout(tmp_path, fraction, n_steps, size):
    overrides = ("n_envs=4", f"n_steps={n_steps}", f"batch_size={fraction}")
    if 4 * n_steps % size:
        (line,) = ppo_problems(tmp_path, "", *overrides)
        assert f"is {size} samples" in line
    else:
        assert load_ppo(tmp_path, "", *overrides).resolved_batch_size == size


def test_a_rest_of_the_rollout_is_refused_with_both_numbers(tmp_path):
    (line,) = ppo_problems(tmp_path, "", "n_envs=3", "n_steps=50", "batch_size=64")
    assert line == (
        "--set batch_size=64: batch_size 64 does not divide the rollout of 150 samples "
        "(n_envs 3 x n_steps 50): 150 = 2 x 64 + 22; nearest sizes that do: 50 and 75"
    )
    # 0.3 of 150 is 45, and 150 = 3 x 45 + 15.
    (line,) = ppo_problems(tmp_path, "", "n_envs=3", "n_steps=50", "batch_size=0.3")
    assert "batch_size 0.3 of the rollout is 45 samples" in line
    assert "150 = 3 x 45 + 15" in line


def test_a_batch_larger_than_the_rollout_is_refused(tmp_path):
    (line,) = ppo_problems(tmp_path, "", "batch_size=64")
    assert "batch_size 64 exceeds the rollout of 32 samples" in line
    (line,) = ppo_problems(tmp_path, "", "batch_size=0.01")
    assert "is no whole sample of the rollout of 32 samples" in line


def test_a_single_sample_cannot_be_normalised(tmp_path):
    (line,) = ppo_problems(tmp_path, "", "batch_size=1")
    assert "single sample" in line
    assert "1.0 is the whole rollout" in line
    alone = ("n_envs=1", "n_steps=1", "batch_size=1")
    assert len(ppo_problems(tmp_path, "", *alone)) == 1
    (line,) = ppo_problems(tmp_path, "", *alone, "normalize_advantages=rollout")
    assert "needs more than one sample" in line
    assert load_ppo(tmp_path, "", *alone, "normalize_advantages=none").resolved_batch_size == 1


def test_one_and_one_point_nought_differ_and_keep_their_type_when_saved(tmp_path):
    whole = load_ppo(tmp_path, "", "batch_size=1.0")
    assert whole.resolved_batch_size == 32
    assert type(whole.to_dict()["batch_size"]) is float
    single = load_ppo(tmp_path, "", "batch_size=1", "normalize_advantages=none")
    assert single.resolved_batch_size == 1
    assert type(single.to_dict()["batch_size"]) is int


@pytest.mark.parametrize("value", ["0", "-4", "1.5", "true", "half", "null", "0.0", ".inf"])
def test_what_is_no_batch_size(tmp_path, value):
    (line,) = ppo_problems(tmp_path, "", f"batch_size={value}")
    assert "'batch_size' must be a whole number >= 1 or a fraction of the rollout" in line


MEMORY = "policy_kwargs.memory=gru"


def test_sequences_are_whole_rollouts_unless_said(tmp_path):
    assert load_ppo(tmp_path, "", "batch_size=1.0").resolved_sequence_length == 1
    config = load_ppo(tmp_path, "", MEMORY, "n_steps=32", "n_envs=4", "batch_size=64")
    assert config.resolved_sequence_length == 32
    short = load_ppo(
        tmp_path, "", MEMORY, "n_steps=32", "n_envs=4", "batch_size=64", "sequence_length=16"
    )
    assert short.resolved_sequence_length == 16


def test_sequences_must_fit_into_rollout_and_minibatch(tmp_path):
    sizes = (MEMORY, "n_steps=32", "n_envs=4")
    (line,) = ppo_problems(tmp_path, "", *sizes, "batch_size=64", "sequence_length=12")
    assert (
        "sequence_length 12 does not divide n_steps 32; nearest lengths that do: 8 and 16" in line
    )
    (line,) = ppo_problems(tmp_path, "", *sizes, "batch_size=8", "sequence_length=16")
    assert "batch_size 8 is not of whole sequences of sequence_length 16" in line
    (line,) = ppo_problems(tmp_path, "", *sizes, "batch_size=16")
    assert "not of whole sequences of sequence_length (n_steps) 32" in line


def test_settings_of_a_memory_need_one(tmp_path):
    (line,) = ppo_problems(tmp_path, "", "batch_size=1.0", "sequence_length=8")
    assert "'sequence_length' has no effect: policy_kwargs.memory is none" in line
    (line,) = ppo_problems(tmp_path, "", "batch_size=1.0", "policy_kwargs.memory_dim=8")
    assert "'policy_kwargs.memory_dim' has no effect: policy_kwargs.memory is none" in line
    (line,) = ppo_problems(tmp_path, "", "batch_size=1.0", "policy_kwargs.memory=rnn")
    assert "policy_kwargs.memory" in line
