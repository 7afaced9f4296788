"""What of a file of Stable-Baselines3 is refused, and that nothing in it is run."""

import base64
import io
import json
import pickle
import zipfile

import gymnasium as gym
import pytest
import torch

from utils.errors import UserError
from utils.sb3_policies.importing import import_model

sb3 = pytest.importorskip("stable_baselines3")

from stable_baselines3.common.vec_env import DummyVecEnv  # noqa: E402

from tests.helpers.sb3_models import VECTOR, Drawn, env_of, make, small  # noqa: E402


class Evil:
    """Runs something where it is unpickled."""

    def __reduce__(self):
        return (exec, ("raise SystemExit('run')",))


class OwnPolicy(sb3.common.policies.ActorCriticPolicy):
    pass


class OwnExtractor(sb3.common.torch_layers.FlattenExtractor):
    pass


def rewritten(path, **changes):
    """Replace parts of a model's file."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    parts |= changes
    with zipfile.ZipFile(path, "w") as file:
        for name, content in parts.items():
            if content is not None:
                file.writestr(name, content)
    return path


@pytest.fixture
def saved(tmp_path):
    model = make("PPO", "MlpPolicy", env_of("vector-discrete"), policy_kwargs=small())
    model.save(tmp_path / "model.zip")
    return tmp_path / "model.zip"


def refusal(path, *, env_id="Drawn-vector-discrete-v0", **changes):
    runs = path.parent / "runs"
    settings = {"env_id": env_id, "vec_normalize": None, "runs_dir": runs} | changes
    with pytest.raises(UserError) as caught:
        import_model(path, **settings)
    assert not runs.exists() or not list(runs.iterdir())
    (line,) = str(caught.value).splitlines()
    return line


def test_nothing_in_a_file_is_run(saved):
    with zipfile.ZipFile(saved) as file:
        facts = json.loads(file.read("data"))
    facts["policy_class"][":serialized:"] = base64.b64encode(pickle.dumps(Evil())).decode()
    facts["lr_schedule"][":serialized:"] = facts["policy_class"][":serialized:"]
    rewritten(saved, data=json.dumps(facts))
    settings = {"env_id": "Drawn-vector-discrete-v0", "vec_normalize": None}
    imported = import_model(saved, **settings, runs_dir=saved.parent / "runs")
    assert imported.config.policy_kwargs.actor_dims == (8, 7)


def test_weights_that_are_a_program_are_refused(saved):
    content = io.BytesIO()
    torch.save({"x": Evil()}, content)
    rewritten(saved, **{"policy.pth": content.getvalue()})
    assert "would have to be run: refused" in refusal(saved)


def test_statistics_that_are_a_program_are_refused(saved):
    path = saved.parent / "vn.pkl"
    path.write_bytes(pickle.dumps({"x": Evil()}))
    line = refusal(saved, vec_normalize=path)
    assert "(builtins.exec): refused, for a pickle runs whatever its author wrote" in line
    path.write_bytes(pickle.dumps([1]))
    assert "no pickle of a VecNormalize" in refusal(saved, vec_normalize=path)
    path.write_bytes(b"nonsense")
    assert "vn.pkl" in refusal(saved, vec_normalize=path)
    assert "no file" in refusal(saved, vec_normalize=path.with_name("none.pkl"))


@pytest.mark.parametrize(
    ("policy", "kwargs", "text"),
    [
        (OwnPolicy, {}, "the policy is a "),
        ("MlpPolicy", {"features_extractor_class": OwnExtractor}, "reads observations is a Own"),
    ],
)
def test_classes_of_somebodys_own_are_refused_with_the_reason(tmp_path, policy, kwargs, text):
    model = make("PPO", policy, env_of("vector-discrete"), policy_kwargs=kwargs)
    model.save(tmp_path / "model.zip")
    line = refusal(tmp_path / "model.zip")
    assert text in line
    assert "whoever made the file could run anything by that: refused" in line


@pytest.mark.parametrize(
    ("env_id", "text"),
    [
        ("Nope-v7", "there is no environment 'Nope-v7'"),
        ("CartPole-v1", "another observation space than this environment has: shape (5,) there"),
        ("Drawn-vector-multi-v0", "another action space"),
        ("Drawn-mixed-discrete-v0", "Box there and Dict here"),
    ],
)
def test_another_environment_is_refused(saved, env_id, text):
    assert text in refusal(saved, env_id=env_id)


def test_other_bounds_of_actions_are_refused(tmp_path):
    wide = gym.spaces.Box(-1.0, 1.0, (2,))
    make("SAC", "MlpPolicy", DummyVecEnv([lambda: Drawn(VECTOR, wide)])).save(tmp_path / "m.zip")
    line = refusal(tmp_path / "m.zip", env_id="Drawn-vector-box-v0")
    assert "other bounds of actions" in line


def test_files_that_are_no_models_are_refused(saved):
    text = saved.parent / "text.zip"
    text.write_text("nothing")
    assert "no model of Stable-Baselines3" in refusal(text)
    assert "there is no file" in refusal(saved.parent / "none.zip")
    rewritten(saved, data=None)
    with zipfile.ZipFile(saved, "w") as file:
        file.writestr("x", "y")
    assert "it holds no 'data' and 'policy.pth'" in refusal(saved)


def test_settings_without_sense_are_told(saved):
    line = refusal(saved, overrides=("frame_stak=2",))
    assert "frame_stak" in line
    assert "expected KEY=VALUE" in refusal(saved, overrides=("nonsense",))


def test_algorithms_that_cannot_be_rebuilt_are_named(saved):
    with zipfile.ZipFile(saved) as file:
        facts = json.loads(file.read("data"))
    facts["policy_class"]["__module__"] = "sb3_contrib.ppo_recurrent.policies"
    rewritten(saved, data=json.dumps(facts))
    assert "of 'sb3_contrib.ppo_recurrent.policies'" in refusal(saved)
