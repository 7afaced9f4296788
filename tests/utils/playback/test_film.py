import av
import pytest

from tests.helpers.played_runs import make_config
from tests.helpers.policies import build_linear_policy
from utils.playback.environment import RenderError, build_playback_env
from utils.playback.film import film_episode


def policy_for(config):
    env = build_playback_env(config, render_mode=None)
    policy = build_linear_policy(env)
    env.close()
    return policy


def test_a_film_is_one_episode_from_reset_to_final_state(tmp_path):
    config = make_config()
    path = tmp_path / "videos" / "a.mp4"
    episode = film_episode(config, policy_for(config), path, seed=5, deterministic=True)
    assert (episode.length, episode.seed, episode.end) == (5, 5, "terminated")
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert (stream.average_rate, stream.width, stream.height) == (12, 48, 36)
        greens = [frame.to_ndarray(format="rgb24")[..., 1].mean() for frame in container.decode(0)]
    assert greens == pytest.approx([0, 20, 40, 60, 80, 100], abs=6)


def test_a_film_ends_at_its_step_limit(tmp_path):
    config = make_config()
    episode = film_episode(
        config, policy_for(config), tmp_path / "a.mp4", seed=5, deterministic=True, max_steps=2
    )
    assert (episode.length, episode.end) == (2, "cut")


def test_what_cannot_be_drawn_leaves_no_file(tmp_path):
    config = make_config(env_id="tests.helpers.envs:Counting-v0")
    with pytest.raises(RenderError):
        film_episode(config, policy_for(config), tmp_path / "a.mp4", seed=5, deterministic=True)
    assert list(tmp_path.iterdir()) == []
