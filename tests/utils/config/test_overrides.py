import pytest

from utils.config.layers import Layers
from utils.config.overrides import Override, apply_overrides, parse_override, sweep_overrides
from utils.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("n_envs=4", ("n_envs",), 4),
        ("policy_lr=1e-3", ("policy_lr",), 0.001),
        ("policy_kwargs.hidden_dims=[32, 32]", ("policy_kwargs", "hidden_dims"), [32, 32]),
        ("eval_freq_epochs=null", ("eval_freq_epochs",), None),
        ("env_kwargs.g=-9.8", ("env_kwargs", "g"), -9.8),
        ("description=a=b", ("description",), "a=b"),
    ],
)
def test_a_setting_of_the_command_line(text, path, value):
    assert parse_override(text) == Override(path, value, f"--set {text}")


@pytest.mark.parametrize("text", ["n_envs", "=4", ".a=1", "a..b=1", "a b=1", ""])
def test_what_is_no_setting(text):
    with pytest.raises(ConfigError, match=r"expected KEY=VALUE"):
        parse_override(text)


def test_a_trial_may_be_nested_or_dotted_and_its_text_is_read_as_yaml():
    trial = {"policy_lr": "1e-3", "net": {"dims": [8], "deep": {"x": 1}}, "net.activation": "relu"}
    assert [(o.path, o.value) for o in sweep_overrides(trial)[0]] == [
        (("policy_lr",), 0.001),
        (("net", "dims"), [8]),
        (("net", "deep", "x"), 1),
        (("net", "activation"), "relu"),
    ]


def test_every_faulty_text_of_a_trial_is_told():
    overrides, problems = sweep_overrides({"a": "[", "b": {"c": "{"}, "d": "1"})
    assert [override.path for override in overrides] == [("d",)]
    assert [problem.partition(": ")[0] for problem in problems] == ["sweep a=[", "sweep b.c={"]


def test_the_later_of_two_wins_and_faults_are_collected():
    layers = Layers(data={"list": []})
    overrides = [parse_override(text) for text in ("a=1", "list.0=1", "a=2", "list.x.y=1")]
    problems = apply_overrides(layers, overrides, layer=3)
    assert layers.data == {"list": [], "a": 2}
    assert problems == [
        "--set list.0=1: the list has 0 entries and no entry '0'",
        "--set list.x.y=1: the list has 0 entries and no entry 'x'",
    ]
