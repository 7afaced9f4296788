import av
import pytest

from tests.helpers.played_runs import make_config
from tests.helpers.policies import build_linear_policy
from utils.playback.environment import build_playback_env
from utils.publishing.replay import NoReplayError, film_replay


def film(config, path):
    env = build_playback_env(config, render_mode=None)
    policy = build_linear_policy(env)
    env.close()
    return film_replay(config, policy, path, seed=3, deterministic=True)


def test_a_film_has_every_state_of_its_episode(tmp_path):
    replay = film(make_config(), tmp_path / "replay.mp4")
    assert (replay.length, replay.end) == (5, "terminated")
    with av.open(str(tmp_path / "replay.mp4")) as container:
        assert len(list(container.decode(video=0))) == 6


def test_a_long_episode_is_filmed_to_the_limit(tmp_path):
    replay = film(make_config(video_max_steps=3), tmp_path / "replay.mp4")
    assert (replay.length, replay.end) == (3, "cut")


def test_what_cannot_be_drawn_or_encoded_is_told(tmp_path, monkeypatch):
    path = tmp_path / "replay.mp4"
    with pytest.raises(NoReplayError, match="--no-video publishes without one"):
        film(make_config(env_id="tests.helpers.space_envs:Drawn-v0"), path)
    monkeypatch.setattr(av, "codecs_available", {"mpeg4"})
    with pytest.raises(NoReplayError, match="the encoder libx264"):
        film(make_config(), path)
    assert list(tmp_path.iterdir()) == []
