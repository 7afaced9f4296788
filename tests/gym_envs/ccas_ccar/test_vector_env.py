"""The cells behind Gymnasium's vector interface: what a step gives, saves and repeats."""

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("numba")

from gym_envs.ccas_ccar import CcasCcarEnv, CcasCcarVectorEnv
from utils.environment import build_env
from utils.errors import CheckpointError, ConfigError


def lights(n_steps, n_envs, seed=0):
    return np.random.default_rng(seed).integers(2, size=(n_steps, n_envs))


def play(env, actions, *, seed=None):
    """Return everything that the steps gave, as copies."""
    if seed is not None:
        env.reset(seed=seed)
    return [tuple(np.array(part) for part in env.step(a)[:4]) for a in actions]


def assert_same(these, those):
    for one, other in zip(these, those, strict=True):
        for part, counterpart in zip(one, other, strict=True):
            np.testing.assert_array_equal(part, counterpart)


def test_reward_observation_and_error_by_hand():
    env = CcasCcarVectorEnv(3, target="sine", n_horizon=2, max_episode_steps=3)
    observation, infos = env.reset(seed=0)
    # Targets at 0, 5, 10, 15 and 20 minutes: 30 + 20 sin(2 pi t / 600).
    targets = [30.0, 31.046719, 32.090569, 33.128689, 34.158234]
    np.testing.assert_allclose(observation[0] * 80, [0.0, *targets[:3]], rtol=1e-6)
    assert infos["F"].tolist() == [0, 0, 0]
    total = np.zeros(3)
    for t in range(3):
        observation, reward, terminated, truncated, infos = env.step(np.ones(3, np.int64))
        np.testing.assert_allclose(reward, -np.abs(infos["F"] - targets[t]), rtol=1e-6)
        np.testing.assert_allclose(infos["target"], targets[t], rtol=1e-6)
        total += reward
        assert not terminated.any()
        assert truncated.all() == (t == 2)
        if t < 2:
            np.testing.assert_allclose(observation[:, 0] * 80, infos["F"], rtol=1e-6)
            np.testing.assert_allclose(observation[1, 1:] * 80, targets[t + 1 : t + 4], rtol=1e-6)
    np.testing.assert_allclose(infos["final_obs"][:, 0] * 80, infos["F"], rtol=1e-6)
    np.testing.assert_allclose(observation[0] * 80, [0.0, *targets[:3]], rtol=1e-6)
    error = infos["episode_metrics"]["mean_absolute_error"]
    np.testing.assert_allclose(error, -total / 3, rtol=1e-12)
    assert infos["H"].max() > 0  # of the day that ended, not of the empty cell after it


def test_a_day_has_288_steps():
    env = CcasCcarVectorEnv(2)
    outcomes = play(env, lights(577, 2), seed=1)
    ends = [t + 1 for t, (_, _, _, truncated) in enumerate(outcomes) if truncated.any()]
    assert ends == [288, 576]


def test_a_seed_decides_and_another_one_differs():
    actions = lights(40, 5)
    first, again, other = (play(CcasCcarVectorEnv(5), actions, seed=s) for s in (7, 7, 8))
    assert_same(first, again)
    assert any((a[0] != b[0]).any() for a, b in zip(first, other, strict=True))
    assert len({tuple(step[0][i, 0] for step in first) for i in range(5)}) == 5


@pytest.mark.parametrize("kinetics_sigma", [0.0, 0.2])
def test_neither_the_number_of_cells_nor_of_threads_counts(kinetics_sigma):
    from gym_envs.ccas_ccar.cells import most_threads

    actions, settings = lights(30, 200), {"kinetics_sigma": kinetics_sigma, "max_episode_steps": 12}
    alone = play(CcasCcarVectorEnv(200, **settings), actions, seed=2)
    few = play(CcasCcarVectorEnv(3, **settings), actions[:, :3], seed=2)
    assert_same([tuple(part[:3] for part in step) for step in alone], few)
    if most_threads() > 1:
        shared = play(CcasCcarVectorEnv(200, n_threads=2, **settings), actions, seed=2)
        assert_same(alone, shared)


def test_a_saved_state_goes_on_bit_for_bit():
    settings = {"kinetics_sigma": 0.1, "frame_stack": 4, "max_episode_steps": 20}
    env = CcasCcarVectorEnv(4, **settings)
    play(env, lights(13, 4), seed=3)
    state = env.get_state()
    rest = lights(30, 4, seed=1)
    expected = play(env, rest)
    other = CcasCcarVectorEnv(4, **settings)
    observation, restored = other.set_state(state)
    assert restored.all()
    np.testing.assert_array_equal(observation, state["arrays"]["observation"])
    assert_same(expected, play(other, rest))
    with pytest.raises(CheckpointError, match="resume with n_envs: 4"):
        CcasCcarVectorEnv(5, **settings).set_state(state)


def test_kinetics_are_log_normal_and_new_in_each_episode():
    env = CcasCcarVectorEnv(5_000, kinetics_sigma=0.2)
    env.reset(seed=0)
    logs = np.log(env.cells.kinetics)
    logs[:, [3, 5]] = env.cells.kinetics[:, [3, 5]]  # kept as logarithms
    nominal = np.log([1.0, 0.01, 1.0, 90.0, 3.6, 30.0, 3.6])
    np.testing.assert_allclose(logs.mean(axis=0), nominal, atol=4.5 * 0.2 / np.sqrt(5_000))
    np.testing.assert_allclose(logs.std(axis=0), 0.2, rtol=4.5 / np.sqrt(2 * 5_000))
    correlation = np.corrcoef(logs.T) - np.eye(7)
    assert np.abs(correlation).max() < 5 / np.sqrt(5_000)
    before = env.cells.kinetics.copy()
    env.reset()
    assert (before != env.cells.kinetics).all()


def test_stacked_frames_are_those_of_the_single_environment_in_a_loop():
    arguments = {"frame_stack": 4, "env_kwargs": {"target": "sine", "n_horizon": 1}}
    loop = build_env("CcasCcar-v0", n_envs=2, vectorization="sync", **arguments)
    native = build_env("CcasCcar-v0", n_envs=2, **arguments)
    assert native.vectorization_name == "native"
    assert native.single_observation_space == loop.single_observation_space
    start, _ = loop.reset(seed=5)
    native.reset(seed=5)
    words = [env.unwrapped.cells.random[:, 0] for env in loop.envs]
    native.cells.random[:] = np.array(words).T
    first = native.cells.outputs.observation
    np.testing.assert_array_equal(first, start)
    for action in lights(288, 2):
        there, here = loop.step(action), native.step(action)
        np.testing.assert_array_equal(here[1], there[1])
        np.testing.assert_array_equal(here[3], there[3])
        if not here[3].any():
            np.testing.assert_array_equal(here[0], there[0])
    np.testing.assert_array_equal(here[4]["final_obs"], there[4]["final_obs"])
    name = "mean_absolute_error"
    np.testing.assert_allclose(
        here[4]["episode_metrics"][name], there[4]["episode_metrics"][name], rtol=1e-12
    )
    assert loop.max_episode_steps == native.max_episode_steps == 288


def test_a_masked_reset_leaves_the_others_alone():
    env = CcasCcarVectorEnv(3)
    play(env, np.ones((30, 3), np.int64), seed=0)
    before = env.cells.count.copy()
    env.reset(options={"reset_mask": np.array([False, True, False])})
    assert env.cells.count[:, 1].tolist() == [0, 0]
    np.testing.assert_array_equal(env.cells.count[:, [0, 2]], before[:, [0, 2]])


def test_mistakes_are_told():
    env = CcasCcarVectorEnv(2)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(np.zeros(2, np.int64))
    env.reset(seed=0)
    with pytest.raises(ValueError, match="0 to 1, got 0 to 2"):
        env.step(np.array([0, 2]))
    with pytest.raises(ValueError, match="shape"):
        env.step(np.zeros(3, np.int64))
    for kwargs in ({"target": "square"}, {"n_horizon": -1}, {"kinetics_sigma": 2.0}):
        with pytest.raises(ValueError, match=next(iter(kwargs))):
            CcasCcarEnv(**kwargs)
        for vectorization in ("auto", "sync"):
            with pytest.raises(ConfigError, match=next(iter(kwargs))):
                build_env("CcasCcar-v0", n_envs=1, vectorization=vectorization, env_kwargs=kwargs)
    with pytest.raises(ConfigError, match="takes no 'sigma'; did you mean kinetics_sigma"):
        build_env("CcasCcar-v0", n_envs=2, env_kwargs={"sigma": 0.1})
    with pytest.raises(ConfigError, match="takes no grayscale_obs"):
        build_env("CcasCcar-v0", n_envs=2, vectorization="native", grayscale_obs=True)
