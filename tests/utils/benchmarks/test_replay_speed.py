from pathlib import Path

import pytest

from utils.benchmarks import replay_speed

pytest.importorskip("stable_baselines3")


def test_all_buffers_hand_over_as_many_batches(tmp_path: Path) -> None:
    contests = (
        replay_speed.build_samplers(capacity=400, batch_size=16, folder=tmp_path),
        replay_speed.build_picture_samplers(capacity=40, batch_size=4),
        replay_speed.build_sequence_samplers(capacity=400, batch_size=2, length=8),
        replay_speed.build_writers(capacity=64, n_envs=4),
    )
    for contestants in contests:
        assert len(contestants) > 1
        assert {one.advance() for one in contestants} == {50}


@pytest.mark.slow
def test_memory_is_what_was_declared() -> None:
    use = replay_speed.fill_alone(replay_speed.fill_ours, 300_000)
    assert use.declared is not None
    assert use.resident == pytest.approx(use.declared, rel=0.05)
