"""Stable-Baselines3 steps, judges and trains with the compiled environments."""

import functools

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from gym_envs.sb3 import SimdVecEnv
from gym_envs.simd import SimdVectorEnv


def test_it_steps_as_the_vector_environment_does():
    env = SimdVecEnv("CartPole-v1", 3, seed=4, max_episode_steps=5)
    plain = SimdVectorEnv("CartPole-v1", 3, max_episode_steps=5)
    np.testing.assert_array_equal(env.reset(), plain.reset(seed=4)[0])
    n_ends = 0
    for _ in range(12):
        actions = plain.action_space.sample()
        observation, reward, done, infos = env.step(actions)
        expected, paid, terminated, truncated, expected_infos = plain.step(actions)
        np.testing.assert_array_equal(observation, expected)
        np.testing.assert_array_equal(reward, paid)
        np.testing.assert_array_equal(done, terminated | truncated)
        for i in range(3):
            assert bool(infos[i]) == done[i]
            if done[i]:
                final = expected_infos["final_obs"][i]
                np.testing.assert_array_equal(infos[i]["terminal_observation"], final)
                assert infos[i]["TimeLimit.truncated"] == truncated[i]
                assert infos[i]["episode"] == {"r": 5.0, "l": 5}
        n_ends += int(done.sum())
    assert n_ends == 6


def test_a_seed_counts_for_one_reset():
    env = SimdVecEnv("Pendulum-v1", 2)
    env.seed(1)
    first, second = env.reset(), env.reset()
    env.seed(1)
    np.testing.assert_array_equal(env.reset(), first)
    assert (first != second).any()


def set_states(env, dummy):
    """Put the environments of a `DummyVecEnv` into the states of ours."""
    for state, single in zip(env.env.arrays.state.T, dummy.envs, strict=True):
        single.unwrapped.state = state.astype(np.float64).copy()


@pytest.mark.parametrize(("env_id", "limit"), [("CartPole-v1", 12), ("Acrobot-v1", 9)])
def test_it_says_what_a_dummy_vec_env_says_of_the_same_steps(env_id, limit):
    n_envs = 4
    env = SimdVecEnv(env_id, n_envs, seed=3, max_episode_steps=limit)
    make = functools.partial(gym.make, env_id, max_episode_steps=limit)
    dummy = DummyVecEnv([lambda: Monitor(make())] * n_envs)
    observation = env.reset()
    assert observation.shape == dummy.reset().shape
    assert env.observation_space == dummy.observation_space
    assert env.action_space == dummy.action_space
    assert env.reset_infos == dummy.reset_infos == [{}] * n_envs
    set_states(env, dummy)
    env.action_space.seed(5)
    n_truncated = n_terminated = 0
    for _ in range(40):
        actions = np.array([env.action_space.sample() for _ in range(n_envs)])
        ours, theirs = env.step(actions), dummy.step(actions)
        going = ~ours[2]
        np.testing.assert_allclose(ours[0][going], theirs[0][going], rtol=1e-3, atol=1e-4)
        np.testing.assert_array_equal(ours[1], theirs[1])
        np.testing.assert_array_equal(ours[2], theirs[2])
        for i in np.flatnonzero(ours[2]):
            info, expected = ours[3][i], theirs[3][i]
            np.testing.assert_allclose(
                info["terminal_observation"], expected["terminal_observation"], rtol=1e-3, atol=1e-4
            )
            assert info["TimeLimit.truncated"] == expected["TimeLimit.truncated"]
            assert info["episode"]["l"] == expected["episode"]["l"]
            assert info["episode"]["r"] == pytest.approx(expected["episode"]["r"])
            n_truncated += info["TimeLimit.truncated"]
            n_terminated += not info["TimeLimit.truncated"]
        set_states(env, dummy)  # what an episode begins with is each one's own
    assert n_truncated > 0
    assert n_terminated > 0 or env_id != "CartPole-v1"


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_ppo_trains_a_little(env_id):
    env = SimdVecEnv(env_id, 4, max_episode_steps=40)
    model = PPO("MlpPolicy", env, n_steps=64, batch_size=64, n_epochs=1, seed=0)
    model.learn(512)
    assert len(model.ep_info_buffer) >= 4
    assert all(0 < episode["l"] <= 40 for episode in model.ep_info_buffer)


def test_off_policy_and_normalised_training_and_evaluation():
    env = VecNormalize(SimdVecEnv("Pendulum-v1", 2, max_episode_steps=20))
    model = SAC("MlpPolicy", env, learning_starts=50, train_freq=10, seed=0)
    model.learn(100)
    mean, _ = evaluate_policy(model, SimdVecEnv("Pendulum-v1", 2, max_episode_steps=20), 4)
    assert -20 * 17 < mean < 0


@pytest.mark.slow
def test_ppo_learns_to_balance():
    env = SimdVecEnv("CartPole-v1", 8, seed=0)
    model = PPO(
        "MlpPolicy", env, n_steps=32, batch_size=256, n_epochs=20, gae_lambda=0.8, gamma=0.98,
        learning_rate=1e-3, seed=0, device="cpu",
    )  # fmt: skip
    model.learn(40_000)
    assert evaluate_policy(model, SimdVecEnv("CartPole-v1", 8, seed=1), 16)[0] > 300


def test_what_single_environments_would_do_is_refused():
    env = SimdVecEnv("CartPole-v1", 2)
    assert env.get_attr("env_id", [0]) == ["CartPole-v1"]
    with pytest.raises(NotImplementedError, match="share one 'gravity'"):
        env.set_attr("gravity", 1.0)
    with pytest.raises(NotImplementedError, match="no 'seed' of their own"):
        env.env_method("seed")
