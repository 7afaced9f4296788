import json

import pytest

from tests.helpers.config_files import load_ppo, load_reinforce
from utils.config import config_from_dict, load_config_json
from utils.errors import ConfigError


def test_a_saved_config_rebuilds_an_equal_one(tmp_path):
    extra = (
        "ent_coef: lin_0.01\nclip_range: {start: 0.2, end: 0.1, to: 500}\nresize_obs: [84, 84]\n"
        "env_wrappers: [{id: A, scale: 2}]\nenv_kwargs: {g: 9.8}\n"
    )
    for config in (load_ppo(tmp_path, extra), load_reinforce(tmp_path)):
        text = json.dumps(config.to_dict())
        path = tmp_path / "config.json"
        path.write_text(text)
        assert load_config_json(path) == config
        assert json.dumps(load_config_json(path).to_dict()) == text


def test_nothing_counts_as_written_in_a_saved_config(tmp_path):
    config = load_ppo(tmp_path, "policy_kwargs: {log_std_init: -1.0}\n")
    assert config.policy_kwargs.model_fields_set == {"log_std_init"}
    saved = config_from_dict(config.to_dict())
    assert saved.policy_kwargs.model_fields_set == set()
    assert saved == config


def test_the_saved_form_names_its_version_first(tmp_path):
    saved = load_ppo(tmp_path).to_dict()
    assert next(iter(saved.items())) == ("schema_version", 2)


def test_saving_and_loading_many_times_derives_nothing_twice(tmp_path):
    saved = load_ppo(tmp_path, "", "batch_size=0.5").to_dict()
    for _ in range(4):
        config = config_from_dict(saved)
        assert config.resolved_batch_size == 16
        assert config.to_dict() == saved
        saved = config.to_dict()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"schema_version": 3}, "written by a newer program"),
        ({"schema_version": None}, "'schema_version' must be a whole number >= 1, got None"),
        ({"algo_id": "dqm"}, "unknown algo_id 'dqm' (known: ppo, reinforce, dqn"),
        ({"n_envs": "4"}, "'n_envs' must be a whole number, got '4'"),
        ({"n_env": 4}, "unknown key 'n_env': did you mean 'n_envs'?"),
        ({"n_steps": 7}, "does not divide"),
    ],
)
def test_a_faulty_saved_config_is_refused(tmp_path, change, expected):
    saved = {**load_ppo(tmp_path).to_dict(), **change}
    with pytest.raises(ConfigError) as caught:
        config_from_dict(saved, source="runs/x/config.json")
    (line,) = str(caught.value).splitlines()
    assert line.startswith("runs/x/config.json: ")
    assert expected in line


@pytest.mark.parametrize(
    ("text", "expected"),
    [("{", r"config\.json:1:2: not valid JSON"), ("[]", "must hold a JSON object")],
)
def test_a_file_that_is_no_config(tmp_path, text, expected):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=expected):
        load_config_json(path)


def test_a_file_that_is_absent(tmp_path):
    with pytest.raises(ConfigError, match=r"config\.json: cannot be read: No such file"):
        load_config_json(tmp_path / "config.json")
