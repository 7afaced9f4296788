import re
import sys

import pytest

pytest.importorskip("ale_py")
pytest.importorskip("cv2")

from utils.environment import build_env
from utils.environment.families.atari import why_not_native
from utils.errors import ConfigError, MissingDependencyError

OPTIONS = {
    "env_kwargs": {"obs_type": "grayscale", "screen_size": [84, 84]},
    "env_wrappers": (),
    "grayscale_obs": False,
    "resize_obs": None,
    "frame_stack": 4,
    "channel_order": "auto",
}


def reason(**changes):
    kwargs = {**OPTIONS["env_kwargs"], **changes.pop("env_kwargs", {})}
    return why_not_native("ALE/Pong-v5", options={**OPTIONS, "env_kwargs": kwargs, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"env_kwargs": {"obs_type": "rgb", "frameskip": 2, "noop_max": 5, "fire_reset": True}},
        {"env_wrappers": ({"id": "EpisodicLife"}, {"id": "ClipReward", "low": -2.0})},
        {"frame_stack": 1},
        {"env_kwargs": {"screen_size": None}},
    ],
)
def test_native_takes_what_both_do_alike(changes):
    assert reason(**changes) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"env_kwargs": {"obs_type": "ram", "screen_size": None}}, "no obs_type: ram"),
        ({"env_kwargs": {"obs_type": "objects", "screen_size": None}}, "no obs_type: objects"),
        ({"env_kwargs": {"obs_type": "pixels"}}, "must be one of rgb, grayscale, ram, objects"),
        ({"env_kwargs": {"mode": 1}}, "no env_kwargs.mode"),
        ({"env_kwargs": {"frameskips": 4}}, "takes no 'frameskips'.*did you mean 'frameskip'"),
        ({"env_kwargs": {"screen_size": [12, 84]}}, "at least 16 pixels, not .12, 84."),
        ({"grayscale_obs": True}, "instead of grayscale_obs.*env_kwargs.obs_type"),
        ({"resize_obs": (84, 84)}, "instead of resize_obs.*env_kwargs.screen_size"),
        ({"channel_order": "none"}, "no channel_order: none"),
        ({"env_wrappers": ({"id": "PongShaping", "gamma": 0.9},)}, "no wrapper PongShaping"),
        ({"env_wrappers": ({"id": "ClipReward"}, {"id": "ClipReward"})}, "a wrapper once"),
    ],
)
def test_native_says_what_it_cannot_do(changes, words):
    assert re.search(words, reason(**changes) or "")


def test_auto_takes_native_where_it_fits_and_processes_where_not():
    settings = {"env_id": "ALE/Pong-v5", "n_envs": 2, "frame_stack": 4}
    env = build_env(**settings, env_kwargs=OPTIONS["env_kwargs"])
    assert env.vectorization_name == "native"
    assert env.single_observation_space.shape == (4, 84, 84)
    assert env.env_id == "ALE/Pong-v5"
    env.close()
    env = build_env(**settings, env_kwargs={"obs_type": "ram"}, n_workers=1)
    assert env.vectorization_name == "async"
    assert env.single_observation_space.shape == (512,)
    env.close()
    env = build_env(**settings, env_kwargs=OPTIONS["env_kwargs"], render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render()[0].shape == (210, 160, 3)
    env.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"env_id": "ALE/Pongo-v5"}, "no environment 'ALE/Pongo-v5'; did you mean ALE/Pong-v5"),
        ({"env_kwargs": {"obs_typ": "ram"}}, "takes no 'obs_typ'; did you mean obs_type"),
        ({"env_kwargs": {"obs_type": "pixels"}}, "not one of rgb, grayscale, ram, objects"),
        ({"env_wrappers": [{"id": "ClipReward", "low": 2}]}, "ClipReward needs low < high"),
        (
            {"vectorization": "native", "env_kwargs": {"obs_type": "ram"}},
            "vectorization: native: .* no obs_type: ram; use vectorization: auto",
        ),
    ],
)
def test_mistakes_are_told_in_a_line(options, message):
    settings = {"env_id": "ALE/Pong-v5", "n_envs": 1, **options}
    with pytest.raises(ConfigError, match=message) as caught:
        build_env(**settings)
    assert "\n" not in str(caught.value)


def test_a_skip_on_top_of_the_skip_is_refused_without_a_config_too():
    with pytest.raises(ConfigError, match=r"skips already.*set env_kwargs\.frameskip"):
        build_env(
            "ALE/Pong-v5",
            n_envs=1,
            vectorization="sync",
            env_wrappers=[{"id": "FrameSkip", "skip": 4}],
        )


def test_a_missing_package_is_told_with_what_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(MissingDependencyError, match=r"ALE/Pong-v5 needs .*ale_py.*\[atari\]"):
        build_env("ALE/Pong-v5", n_envs=1)
