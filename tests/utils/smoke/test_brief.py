import pytest

from utils.config import load_config
from utils.smoke.brief import brief_overrides


def cut(config_id, *written, timesteps=None):
    overrides = brief_overrides(load_config(config_id, list(written)), timesteps=timesteps)
    return load_config(config_id, [*written, *overrides])


def test_one_rollout_of_a_hundred_steps_is_one_epoch_with_an_evaluation():
    config = cut("CartPole-v1:ppo_gpu")
    assert (config.n_envs, config.n_steps, config.max_timesteps) == (2, 50, 100)
    assert (config.n_epochs, config.resolved_batch_size, config.rollouts_per_epoch) == (1, 50, 1)
    assert (config.eval_freq_epochs, config.eval_episodes, config.test_episodes) == (1, 2, 2)
    assert config.eval_max_episode_steps == 50
    assert not config.early_stop_on_eval_reward


def test_other_lengths_and_other_algorithms():
    assert cut("CartPole-v1:ppo", timesteps=31).n_steps == 15
    assert cut("CartPole-v1:ppo", timesteps=1).n_steps == 1
    assert cut("CartPole-v1:reinforce").episodes_per_env == 1


@pytest.mark.parametrize("written", ["n_workers=4", "eval_freq_timesteps=5000"])
def test_what_would_not_fit_is_taken_back(written):
    config = cut("LunarLander-v3:ppo", written)
    assert config.n_workers in (None, 1)
    assert config.eval_freq_timesteps is None


def test_agents_of_a_buffer_learn_in_the_second_half():
    config = cut("CartPole-v1:dqn")
    assert (config.n_envs, config.steps_per_epoch, config.max_timesteps) == (2, 50, 100)
    assert config.timesteps_before_updates == config.learning_starts_timesteps == 50
    assert cut("FrozenLake-v1:q_learning", timesteps=31).steps_per_epoch == 15


def test_planners_in_a_latent_space_plan_little_and_learn_in_the_second_half():
    config = cut("dm_control/walker-walk:tdmpc")
    assert config.policy_kwargs.named_size == "tiny"
    assert (config.n_candidates, config.n_iterations, config.horizon) == (16, 2, 2)
    assert config.timesteps_before_updates == 50
    assert [phase.duration for phase in config.phase_specs] == [50, 1, None]
