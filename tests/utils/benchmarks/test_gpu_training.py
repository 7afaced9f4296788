import pytest

from utils.benchmarks.gpu_training import benchmark_config, speed_from_moments, why_not


def test_the_first_part_is_start_up_and_the_others_are_rates():
    # Parts of 5, 1, 2 and 1 seconds; each is 3 iterations of 32 steps of 10 environments.
    speed = speed_from_moments(
        "x", [100.0, 105.0, 106.0, 108.0, 109.0], n_envs=10, n_iterations=3, mean_length=7.0
    )
    assert speed.rates == (960.0, 480.0, 960.0)
    assert speed.median == 960.0
    assert speed.start_seconds == 4.0


def test_a_part_of_the_training_is_an_epoch():
    config = benchmark_config(n_envs=8, n_parts=4, n_iterations=2, seed=0, device="cpu")
    assert config.resolved_batch_size == 64
    assert config.max_timesteps == 4 * config.rollouts_per_epoch * config.rollout_size


@pytest.mark.parametrize(
    ("name", "device", "expected"),
    [("ours", "cpu", None), ("eager", "cuda", None), ("graph", "cpu", "on CUDA only")],
)
def test_who_cannot_take_part_is_told_why(name, device, expected):
    reason = why_not(name, device=device)
    assert reason is None if expected is None else reason.endswith(expected)
