from __future__ import annotations

import json

import pytest

from tests.helpers.played_runs import make_config, make_run
from utils.config import load_config
from utils.config.cli import parse_train_args
from utils.errors import ConfigError
from utils.run.plan import plan_training

YAML = """\
ppo:
  algo_id: ppo
  env_id: CartPole-v1
  max_timesteps: 100
  n_envs: 1
  n_steps: 10
  batch_size: 10
  policy_lr: 0.1
  env_wrappers:
    - {id: ClipReward}
    - {id: ClipRewrd}
    - {id: ClipReward, lo: 1}
"""


def problems(*argv: str) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        plan_training(parse_train_args(argv))
    return str(refused.value).splitlines()


def test_a_mistake_in_a_wrapper_is_told_with_its_place(tmp_path, monkeypatch):
    (tmp_path / "Toy.yaml").write_text(YAML)
    monkeypatch.setattr("utils.config.loader.CONFIG_DIR", tmp_path)
    unknown, argument = problems("Toy:ppo")
    place = f"{tmp_path}/Toy.yaml"
    assert unknown.startswith(f"{place}:11: variant 'ppo': env_wrappers: unknown wrapper")
    assert "did you mean ClipReward?" in unknown
    assert argument.startswith(f"{place}:12: variant 'ppo': env_wrappers: ClipReward takes no 'lo'")
    (line, _) = problems("Toy:ppo", "--set", "env_wrappers.0.id=Nope")[:2]
    assert line.startswith("--set env_wrappers.0.id=Nope: env_wrappers: unknown wrapper 'Nope'")


def test_threads_beyond_the_machine_are_told_with_their_place():
    (line,) = problems(
        "CartPole-v1:ppo",
        "--set",
        "n_envs=4096",
        "--set",
        "vectorization=simd",
        "--set",
        "n_workers=4096",
    )
    assert line.startswith("--set n_workers=4096: 'n_workers' must be 1 to ")
    assert "this machine has " in line


def test_a_new_run_takes_the_settings_of_another(tmp_path):
    config = make_config(seed=4, policy_kwargs={"hidden_dims": [8, 8]})
    run = make_run(tmp_path, config)
    words = ["--like", run.id, "--runs-dir", str(tmp_path), "--seed", "9", "--group", "study"]
    plan = plan_training(parse_train_args([*words, "--set", "policy_kwargs.activation=relu"]))
    assert plan.group == "study"
    assert plan.resumed_run is None
    expected = config.to_dict() | {"seed": 9}
    expected["policy_kwargs"] |= {"activation": "relu"}
    assert plan.config.to_dict() == expected
    # The file of a config will do, too.
    again = plan_training(parse_train_args(["--like", str(run.config_path)]))
    assert again.config == config


def test_settings_that_do_not_fit_a_run_are_told(tmp_path):
    run = make_run(tmp_path, make_config())
    words = ["--like", str(run.path), "--set", "n_step=3"]
    assert problems(*words) == [
        f"--like {run.path}: unknown key 'n_step': did you mean 'n_steps'?",
    ]


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ("clip_obs=5", "'clip_obs' has no effect: only normalize_obs: rolling clips"),
        (
            "policy_kwargs.size=1M",
            "'policy_kwargs.size' has no effect: a run gives every width "
            "(deter, hidden, classes, depth, units)",
        ),
    ],
)
def test_what_has_no_effect_over_a_run_is_told(tmp_path, setting, text):
    config = load_config("CartPole-v1:dreamer" if "size" in setting else "CartPole-v1:ppo")
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config.to_dict()))
    assert problems("--like", str(path), "--set", setting) == [f"--like {path}: {text}"]


def test_what_is_laid_over_a_run_counts_as_written(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(load_config("CartPole-v1:dreamer").to_dict()))
    words = ["--like", str(path), "--set", "policy_kwargs.depth=3", "--seed", "3"]
    config = plan_training(parse_train_args(words)).config
    assert config.policy_kwargs.model_fields_set == {"depth"}
