import inspect
import json

import pytest

from utils.config import config_from_dict, load_config
from utils.config.atari import ATARI_DEFAULTS, is_atari, spell_out_env_kwargs
from utils.errors import ConfigError
from utils.spaces import space_to_dict, spaces_differ

PONG = "ALE/Pong-v5:ppo"


def problems(*overrides, config_id=PONG):
    with pytest.raises(ConfigError) as caught:
        load_config(config_id, overrides)
    return str(caught.value).splitlines()


def write_silent_config(folder):
    (folder / "ALE-Pong-v5.yaml").write_text(
        "_base: {env_id: ALE/Pong-v5}\n"
        "ppo: {algo_id: ppo, max_timesteps: 100, n_envs: 2, n_steps: 8, batch_size: 8,"
        " policy_lr: 1e-3}\n"
    )


def test_a_silent_config_writes_what_holds_to_the_run(tmp_path):
    write_silent_config(tmp_path)
    config = load_config(PONG, config_dir=tmp_path)
    saved = json.loads(json.dumps(config.to_dict()))
    assert saved["env_kwargs"] == {
        "obs_type": "rgb",
        "frameskip": 4,
        "repeat_action_probability": 0.25,
        "full_action_space": False,
        "maxpool": False,
        "noop_max": 0,
        "fire_reset": False,
        "screen_size": None,
        "max_num_frames_per_episode": 108000,
        "mode": None,
        "difficulty": None,
    }
    assert config_from_dict(saved) == config


def test_what_a_config_says_is_kept(tmp_path):
    write_silent_config(tmp_path)
    overrides = ["env_kwargs.repeat_action_probability=0.0", "env_kwargs.full_action_space=true"]
    kwargs = load_config(PONG, overrides, config_dir=tmp_path).env_kwargs
    assert kwargs == {
        **ATARI_DEFAULTS, "repeat_action_probability": 0.0, "full_action_space": True,
    }  # fmt: skip


def test_the_environment_takes_what_the_table_holds():
    pytest.importorskip("ale_py")
    from gym_envs.atari import AtariEnv

    parameters = inspect.signature(AtariEnv).parameters
    assert set(parameters) == {*ATARI_DEFAULTS, "game", "render_mode"}
    assert all(parameters[key].default is inspect.Parameter.empty for key in ATARI_DEFAULTS)


def test_other_environments_are_left_alone():
    assert not is_atari("CartPole-v1")
    assert not is_atari(None)
    assert is_atari("ale_py:ALE/Pong-v5")
    assert spell_out_env_kwargs("CartPole-v1", {"a": 1}) == {"a": 1}
    assert spell_out_env_kwargs("ALE/Pong-v5", 3) == 3


def test_a_second_frame_skip_is_refused():
    skip = 'env_wrappers=[{"id": "FrameSkip", "skip": 4}]'
    (line,) = problems(skip)
    assert "FrameSkip would come on top of env_kwargs.frameskip: 4 of ALE/Pong-v5" in line
    assert "set env_kwargs.frameskip: 1" in line
    assert load_config(PONG, [skip, "env_kwargs.frameskip=1"]).env_kwargs["frameskip"] == 1


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("env_kwargs.obs_type=pixels", "one of rgb, grayscale, ram, objects, got 'pixels'"),
        (
            "env_kwargs.frameskips=3",
            "takes no 'frameskips' in env_kwargs: did you mean 'frameskip'",
        ),
        ("env_kwargs.colour=3", "(it takes obs_type, frameskip, "),
        ("env_kwargs.frameskip=0", "'env_kwargs.frameskip' must be a whole number of frames >= 1"),
        ("env_kwargs.frameskip=[2, 5]", "must be a whole number of frames >= 1, got [2, 5]"),
        ("env_kwargs.repeat_action_probability=25", "must be a probability in [0, 1], got 25"),
        ("env_kwargs.full_action_space=1", "must be true or false, got 1"),
        ("env_kwargs.screen_size=84", "must be [height, width] in pixels, or null, got 84"),
        ("env_kwargs.noop_max=-1", "must be a whole number of frames >= 0"),
        ("env_kwargs.mode=a", "must be a mode number, or null"),
    ],
)
def test_a_wrong_argument_is_told_in_a_line(override, words):
    (line,) = problems(override)
    assert words in line
    assert "command line" in line or "--set" in line or override.partition("=")[0] in line


def test_settings_of_pictures_have_no_effect_on_other_observations():
    lines = problems("env_kwargs.obs_type=ram")
    assert len(lines) == 2
    assert all("has no effect: obs_type: ram shows no picture" in line for line in lines)


def test_threads_of_the_native_vector_environment_may_be_chosen():
    assert load_config(PONG, ["vectorization=native", "n_workers=2"]).n_workers == 2
    (line,) = problems("vectorization=sync", "n_workers=2")
    assert "'n_workers' has no effect" in line


def test_a_policy_of_6_actions_does_not_fit_18():
    pytest.importorskip("ale_py")
    from gym_envs.atari import AtariEnv

    stored, now = (
        {
            "observation": space_to_dict(env.observation_space),
            "action": space_to_dict(env.action_space),
        }
        for env in (
            AtariEnv(**{**ATARI_DEFAULTS, "game": "pong", "full_action_space": is_full})
            for is_full in (False, True)
        )
    )
    differences = spaces_differ(stored, now)
    assert len(differences) == 1
    assert "6" in differences[0]
    assert "18" in differences[0]
