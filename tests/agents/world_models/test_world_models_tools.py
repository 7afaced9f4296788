"""What looks at a finished run knows World Models: dreams, films, programs of their own."""

from __future__ import annotations

import base64
import io

import av
import numpy as np
import pytest
import torch
from PIL import Image

from agents.loading import load_policy
from tests.helpers.dreamer_runs import make_dreamer_run
from tests.helpers.world_models_2018 import SMALL
from tests.utils.inspection.test_studio import request_of
from utils.config import config_from_dict
from utils.inspection.dream_wish import DreamWish, dream_options
from utils.inspection.studio import Studio
from utils.playback.dream_film import film_dreams
from utils.playback.environment import build_playback_env
from utils.world_models.dreaming import dream, observe_episode, read_states, repeat_actions
from utils.world_models.rssm import State

LENGTH = 8


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run of a small agent whose weights say something, and its policy."""
    config = config_from_dict(
        {
            **SMALL,
            "schema_version": 2,
            "config_id": "Spotlight-v0:world_models",
            "algo_id": "world_models",
            "env_id": "Spotlight-v0",
            "n_envs": 2,
            "max_episode_steps": LENGTH,
        }
    )
    run = make_dreamer_run(tmp_path_factory.mktemp("runs"), config)
    env = build_playback_env(config, render_mode=None)
    policy = load_policy(config, run.checkpoint("epoch=00"), env=env).policy
    env.close()
    return run, config, policy


def decode(array):
    return np.frombuffer(base64.b64decode(array["data"]), "<f4")


def sheet(told, kind):
    """Return the pictures of a kind, (n, height, width, 3)."""
    made = told["sheets"][kind]
    data = base64.b64decode(made["image"].partition(",")[2])
    whole = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    h, w, per_row = made["height"], made["width"], made["per_row"]
    cells = [
        whole[i // per_row * h : (i // per_row + 1) * h, i % per_row * w : (i % per_row + 1) * w]
        for i in range(made["n"])
    ]
    return np.stack(cells)


def test_a_dream_is_shown_beside_what_was_there(made) -> None:
    run, config, policy = made
    assert dream_options(config)["most"] > 0
    studio = Studio(load_policy)
    try:
        stored = studio.record(run, config, request_of(run))
        n = stored.record.length
        wish = DreamWish(step=2, horizon=4, actions="recorded", draw=None)
        told = studio.dream(run, config, stored, wish)
        own = studio.dream(run, config, stored, DreamWish(step=2, horizon=3, actions="own", draw=1))
    finally:
        studio.close()
    env = build_playback_env(config, render_mode=None)
    seen = [env.reset(seed=stored.record.request.seed)[0].copy()]
    rows = stored.record.traces["action"][:-1].astype(np.float32).reshape(-1, 1, 1)
    seen += [env.step(row)[0].copy() for row in rows]
    env.close()
    real = sheet(told, "real")
    for shown, was in zip(real[: len(seen)], seen, strict=False):
        assert np.array_equal(shown, was[0].transpose(1, 2, 0))
    # The same by the parts that the panel is made of.
    observation = torch.from_numpy(np.concatenate(seen))
    action = torch.from_numpy(stored.record.traces["action"][: n - 1]).view(-1, 1)
    beliefs = observe_episode(policy.world_model, observation, action)
    start = State(*(part[2:3] for part in beliefs.state))
    imagined = dream(policy.world_model, start, repeat_actions(action[2:]), n_steps=4)
    reading = read_states(policy.world_model, State(*(p[:, 0] for p in imagined.state)))
    np.testing.assert_allclose(decode(told["dreamt"]["reward"]), reading.reward[1:], rtol=1e-4)
    divergence = decode(told["seen"]["divergence"])[:n]
    np.testing.assert_allclose(divergence, beliefs.divergence, rtol=1e-3, atol=1e-4)
    assert (divergence >= 0.0).all()
    assert own["is_own"]
    assert np.abs(decode(own["dreamt"]["action"])).max() <= 1.0


def test_dreams_are_filmed(made, tmp_path) -> None:
    _, config, policy = made
    path = tmp_path / "dream.mp4"
    film_dreams(config, policy, path, seed=1, deterministic=True, max_steps=6)
    with av.open(str(path)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(frames) == 7
    assert frames[0].std() > 5.0


def test_it_is_exported_with_its_memory(made) -> None:
    pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    pytest.importorskip("onnxscript", reason="needs the extra onnx")
    from utils.export.export import export_policy

    _, config, policy = made
    env = build_playback_env(config, render_mode=None)
    try:
        # It raises where the program does not act as the policy does.
        export = export_policy(config, policy, env, format="onnx", timesteps=0, n_observations=8)
    finally:
        env.close()
    assert export.content
