import av
import numpy as np
import pytest
import torch

from agents.loading import load_policy
from tests.helpers.dreamer_runs import dreamer_config, make_dreamer_run
from utils.playback.dream_canvas import DreamCanvas, DreamChart
from utils.playback.dream_film import film_dreams, imagine_episode
from utils.playback.environment import build_playback_env
from utils.world_models import State
from utils.world_models.dreaming import dream, observe_episode, read_states, repeat_actions

PICTURES = {"env_id": "tests.helpers.envs:Picture-v0", "spec": {}}


def load(tmp_path, **changes):
    config = dreamer_config(**changes)
    run = make_dreamer_run(tmp_path / "runs", config)
    env = build_playback_env(config, render_mode=None)
    policy = load_policy(config, run.checkpoint("epoch=00"), env=env).policy
    env.close()
    return config, policy


def test_a_dream_begins_every_so_many_steps_and_sees_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("utils.playback.dream_film.HORIZON", 4)
    _, policy = load(tmp_path)
    n, model = 12, policy.world_model
    observation = torch.arange(n + 1.0).unsqueeze(-1)
    action = torch.arange(n) % 2
    told, divergence, starts = imagine_episode(policy, observation, action)
    assert starts == [5, 9]
    encoded = policy.code.encode(action)
    beliefs = observe_episode(model, observation, encoded)
    np.testing.assert_allclose(divergence, beliefs.divergence, rtol=1e-5)
    seen = read_states(model, beliefs.state)
    np.testing.assert_allclose(told["reconstructed"].numbers, seen.numbers, rtol=1e-5)
    numbers = told["dreamt"].numbers[:, 0]
    assert np.isnan(numbers[:5]).all()
    for k, length in ((5, 4), (9, 3)):
        start = State(*(part[k : k + 1] for part in beliefs.state))
        imagined = dream(model, start, repeat_actions(encoded[k:]), n_steps=length)
        expected = read_states(model, State(*(part[:, 0] for part in imagined.state)))
        dreamt = expected.numbers[1:, 0]
        np.testing.assert_allclose(numbers[k + 1 : k + 1 + length], dreamt, rtol=1e-5)


@pytest.mark.parametrize(
    "changes",
    [{}, PICTURES | {"env_kwargs": {"length": 8, "shape": (64, 64, 3)}}],
    ids=["numbers", "pictures"],
)
def test_the_film_has_a_frame_for_each_state(tmp_path, changes):
    config, policy = load(tmp_path, **changes)
    path = tmp_path / "dream.mp4"
    film_dreams(config, policy, path, seed=1, deterministic=True, max_steps=6)
    with av.open(str(path)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(frames) == 7
    assert frames[0].shape[1] == 960
    assert not np.array_equal(frames[0], frames[-1])  # the cursor has moved


def test_pictures_and_cursor_lie_where_they_belong():
    red = np.zeros((10, 20, 3), np.uint8)
    red[..., 0] = 255
    chart = DreamChart("x", {"real": np.arange(5.0)})
    canvas = DreamCanvas(["real", "dreamt"], [chart], starts=[2])
    blank = canvas.frame(0, [np.full_like(red, 255), red])
    later = canvas.frame(4, [np.full_like(red, 255), red])
    is_red = (blank == [255, 0, 0]).all(axis=-1)
    assert is_red[:, :480].sum() == 0
    rows, columns = np.nonzero(is_red)
    assert (np.ptp(columns) + 1) == 2 * (np.ptp(rows) + 1)  # in proportion
    moved = np.nonzero((blank != later).any(axis=(0, 2)))[0]
    assert len(moved) == 4  # two columns of each cursor
    assert moved[-1] - moved[0] > 300
