"""A family whose environments cannot share a process: who lives where, and what is refused."""

import os

import pytest

from tests.helpers.agents import begin, make_agent, train_epochs
from tests.helpers.one_per_process import ENV_ID, OnePerProcess
from utils.config import config_from_dict
from utils.environment import build_env, build_env_from_config, build_evaluation_env
from utils.environment.families import table
from utils.environment.families.family import Family
from utils.errors import ConfigError
from utils.playback.environment import build_playback_env
from utils.vector_envs import InProcessVectorEnv


@pytest.fixture(autouse=True)
def family(monkeypatch):
    emulators = Family(name="Mock", prefixes=("OnePerProcess-",), one_per_process=True)
    monkeypatch.setattr(table, "FAMILIES", (*table.FAMILIES, emulators))
    OnePerProcess.n_built = OnePerProcess.n_open = 0


@pytest.fixture
def agent():
    agent = make_agent(ENV_ID, eval_n_envs=None)
    yield agent
    agent.close()


def test_training_and_evaluation_live_in_processes_of_their_own(agent):
    begin(agent)
    train_epochs(agent, 1)
    result = agent.evaluate()
    assert len(result.returns) == 4
    train_epochs(agent, 1)
    judge = agent._eval_env
    assert judge.num_envs == 1
    pids = [*agent.train_env.worker_pids, *judge.worker_pids]
    assert len(set(pids)) == 3  # two in training, one that judges
    assert os.getpid() not in pids
    assert OnePerProcess.n_built == 0  # none here


def test_playing_takes_the_one_of_this_process(agent):
    env = build_playback_env(agent.config, render_mode=None)
    assert OnePerProcess.n_open == 1
    env.close()


def test_more_judges_are_there_where_they_are_asked_for(agent):
    config = config_from_dict(agent.config.to_dict() | {"eval_n_envs": 2})
    env = build_evaluation_env(config)
    assert len(env.worker_pids) == 2
    env.close()


def test_training_in_this_process_is_refused_before_anything_is_built(agent):
    config = config_from_dict(agent.config.to_dict() | {"vectorization": "sync", "n_envs": 1})
    with pytest.raises(ConfigError, match="sync: Mock runs one environment in a process, and tr"):
        build_env_from_config(config)
    with pytest.raises(ConfigError, match="and n_envs is 2; use vectorization: auto"):
        build_env(ENV_ID, n_envs=2, vectorization="sync")
    assert OnePerProcess.n_built == 0


def test_the_mock_does_refuse_a_second_one():
    with pytest.raises(RuntimeError, match="multiple emulator"):
        InProcessVectorEnv([OnePerProcess] * 2, env_id=ENV_ID)


def test_other_families_are_judged_in_as_many_as_the_config_says():
    agent = make_agent("CartPole-v1", eval_n_envs=None, eval_episodes=3)
    env = build_evaluation_env(agent.config)
    assert env.num_envs == 3
    env.close()
    agent.close()


def test_a_wrapper_that_refuses_leaves_no_emulator_behind():
    wrappers = [{"id": "EpisodicLife"}, {"id": "ActionRemap", "actions": [77, 78]}]
    with pytest.raises(ConfigError, match="77 is no action"):
        build_env(ENV_ID, n_envs=1, vectorization="sync", env_wrappers=wrappers)
    assert (OnePerProcess.n_built, OnePerProcess.n_open) == (1, 0)
