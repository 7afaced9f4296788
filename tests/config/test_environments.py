"""Every config file of the project loads, and tells the truth about its environment."""

import gymnasium
import pytest

from gym_wrappers import EnvWrapperRegistry
from utils.config import CONFIG_DIR, config_from_dict, load_config
from utils.config.catalog import environment_files
from utils.environment.families.standard import find_spec, make_env
from utils.environment.families.table import family_of
from utils.errors import ConfigError, MissingAssetError, MissingDependencyError

CONFIG_IDS = [i for file in environment_files(CONFIG_DIR) for i in file.config_ids]
FIRST_OF_EACH_FILE = [file.config_ids[0] for file in environment_files(CONFIG_DIR)]


def test_the_tasks_of_the_first_stage_are_there():
    tasks = (
        "CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1",
        "LunarLander-v3", "LunarLanderContinuous-v3", "FrozenLake-v1", "Taxi-v4",
    )  # fmt: skip
    assert {f"{task}:ppo" for task in tasks} <= set(CONFIG_IDS)
    assert "CartPole-v1:reinforce" in CONFIG_IDS


@pytest.mark.parametrize("config_id", CONFIG_IDS)
def test_every_variant_loads_and_survives_saving(config_id):
    config = load_config(config_id)
    assert config.config_id == config_id
    assert config.spec.summary
    assert config.spec.source.startswith("https://")
    assert config_from_dict(config.to_dict()) == config


def _learns_later(config_id: str) -> bool:
    """Say whether a variant's phases learn from what those before them have collected."""
    return config_id.partition(":")[2].startswith("world_models")


@pytest.mark.parametrize("config_id", [name for name in CONFIG_IDS if not _learns_later(name)])
def test_every_variant_can_be_cut_to_a_few_steps(config_id):
    assert load_config(config_id, ["max_timesteps=50"]).max_timesteps == 50


@pytest.mark.parametrize("config_id", filter(_learns_later, CONFIG_IDS))
def test_phases_that_learn_later_name_too_few_steps(config_id):
    with pytest.raises(ConfigError, match=", all that max_timesteps 50 allows, and needs "):
        load_config(config_id, ["max_timesteps=50"])


@pytest.mark.parametrize("config_id", FIRST_OF_EACH_FILE)
def test_the_spec_agrees_with_the_environment(config_id):
    config = load_config(config_id)
    try:
        family_of(config.env_id).make_known(config.env_id)
    except (MissingDependencyError, MissingAssetError) as error:
        pytest.skip(str(error))
    env = make_env(
        find_spec(config.env_id),
        max_episode_steps=config.max_episode_steps,
        kwargs=config.env_kwargs,
    )
    for entry in config.env_wrappers:
        wrapper, arguments = EnvWrapperRegistry.resolve(entry)
        env = wrapper(env, **arguments)
    try:
        assert env.spec.reward_threshold in (None, config.spec.solved_threshold)
        assert config.spec.render_fps == env.metadata["render_fps"]
        assert_labels_fit(config.spec.observation.labels, env.observation_space)
        assert_labels_fit(config.spec.action.labels, env.action_space)
        assert_rewards_fit(config.spec, env)
    finally:
        env.close()


def assert_labels_fit(labels, space):
    if isinstance(space, gymnasium.spaces.Discrete):
        # A Discrete of hundreds of states is described in words.
        assert len(labels) in (0, space.n)
    elif isinstance(space, gymnasium.spaces.Tuple):
        assert len(labels) in (0, len(space))
    elif isinstance(space, gymnasium.spaces.MultiDiscrete):
        assert len(labels) in (0, len(space.nvec))
    elif space.shape is not None and len(space.shape) == 1:
        assert len(labels) in (0, space.shape[0])
    else:
        assert not labels  # a picture, or several things at once


def assert_rewards_fit(spec, env):
    env.action_space.seed(0)
    env.reset(seed=0)
    low, high = (
        bound if bound is not None else sign * float("inf")
        for bound, sign in zip(spec.reward.range, (-1, 1), strict=True)
    )
    total, is_over = 0.0, False
    while not is_over:
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        assert low - 1e-9 <= reward <= high + 1e-9
        total += float(reward)
        is_over = terminated or truncated
    for bound, sign in zip(spec.returns.range, (-1, 1), strict=True):
        assert bound is None or sign * total <= sign * bound + 1e-9
