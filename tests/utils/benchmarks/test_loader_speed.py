from utils.benchmarks.loader_speed import build_contestants, fill_buffer


def test_all_loaders_hand_over_as_many_samples():
    buffer = fill_buffer(n_steps=16, n_envs=2)
    contestants = build_contestants(buffer, batch_size=8, n_passes=3)
    # 16 * 2 samples, three times
    assert {one.name: one.advance() for one in contestants} == dict.fromkeys(
        [one.name for one in contestants], 96
    )
    assert len(contestants) == 3
