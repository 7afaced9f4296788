import numpy as np
import pytest

pytest.importorskip("dm_control")

from utils.environment import build_env
from utils.environment.families.mujoco import prepare_process
from utils.errors import ConfigError

prepare_process(renders=True)  # before a test imports the suite by itself


def build(task="cartpole-swingup", *, n_envs=1, max_episode_steps=None, render_mode=None, **kwargs):
    return build_env(
        f"dm_control/{task}",
        n_envs=n_envs,
        max_episode_steps=max_episode_steps,
        env_kwargs=kwargs,
        render_mode=render_mode,
    )


def rollout(env, n_steps, *, seed=0):
    observations = [env.reset(seed=seed)[0].copy()]
    rewards = []
    for _ in range(n_steps):
        observation, reward, *_ = env.step(env.action_space.sample())
        observations.append(observation.copy())
        rewards.append(reward.copy())
    return np.array(observations), np.array(rewards)


def test_the_observation_is_the_suites_in_sorted_order_of_names():
    from dm_control import suite

    env = build("walker-walk")
    env.reset(seed=0)
    core = env.envs[0].unwrapped
    parts = core._suite_env.task.get_observation(core.physics)
    assert sorted(parts) == ["height", "orientations", "velocity"]
    expected = np.concatenate([np.ravel(parts[name]) for name in sorted(parts)])
    observation = env.step(np.zeros((1, 6), np.float32))[0]
    parts = core._suite_env.task.get_observation(core.physics)
    expected = np.concatenate([[parts["height"]], parts["orientations"], parts["velocity"]])
    np.testing.assert_array_equal(observation[0], expected.astype(np.float32))
    bounds = suite.load("walker", "walk").action_spec()
    np.testing.assert_array_equal(env.single_action_space.low, bounds.minimum.astype(np.float32))
    env.close()


def test_a_step_is_the_suites_step():
    from dm_control import suite

    env = build("cartpole-swingup")
    env.reset(seed=0)
    core = env.envs[0].unwrapped
    other = suite.load("cartpole", "swingup", task_kwargs={"random": 0})
    other.reset()
    with other.physics.reset_context():
        other.physics.set_state(core.physics.get_state())
    for action in (0.5, -1.0, 0.25):
        observation, reward, *_ = env.step(np.full((1, 1), action, np.float32))
        expected = other.step([action])
        assert reward[0] == pytest.approx(expected.reward, abs=1e-9)
        np.testing.assert_allclose(
            observation[0],
            np.concatenate([expected.observation[k] for k in ("position", "velocity")]),
            rtol=1e-6,
        )
    env.close()


def test_repeated_actions_sum_their_rewards_and_shorten_the_episode():
    once, thrice = build(), build(action_repeat=3)
    assert (once.max_episode_steps, thrice.max_episode_steps) == (1000, 334)  # 1000 / 3, rounded up
    assert (once.render_fps, thrice.render_fps) == (100, 33)
    for env in (once, thrice):
        env.reset(seed=5)
    action = np.full((1, 1), 0.7, np.float32)
    rewards = [once.step(action)[1][0] for _ in range(6)]
    last = once.step(action)[0]
    for start in (0, 3):
        assert thrice.step(action)[1][0] == pytest.approx(sum(rewards[start : start + 3]))
    assert not np.array_equal(last, thrice.step(action)[0])  # step 7 is not step 9
    once.close()
    thrice.close()


@pytest.mark.parametrize(("limit", "repeat", "length"), [(None, 8, 125), (20, 1, 20), (20, 4, 20)])
def test_an_episode_is_truncated_at_its_limit_and_never_terminated(limit, repeat, length):
    env = build(max_episode_steps=limit, action_repeat=repeat)
    assert env.max_episode_steps == length
    env.reset(seed=0)
    for count in range(1, length + 1):
        _, _, terminated, truncated, infos = env.step(np.zeros((1, 1), np.float32))
        assert not terminated[0]
        assert truncated[0] == (count == length)
    assert infos["_final_obs"][0]
    env.close()


def test_a_limit_beyond_the_suites_own_is_kept():
    env = build("pendulum-swingup", max_episode_steps=1005)
    env.reset(seed=0)
    lengths = [env.step(np.zeros((1, 1), np.float32))[3][0] for _ in range(1005)].index(True) + 1
    assert lengths == 1005
    env.close()


def test_the_discount_0_of_a_task_terminates():
    env = build("ball_in_cup-catch")
    env.reset(seed=0)
    core = env.envs[0].unwrapped
    core._suite_env.task.get_termination = lambda physics: 0.0
    _, _, terminated, truncated, _ = env.step(np.zeros((1, 2), np.float32))
    assert (terminated[0], truncated[0]) == (True, False)
    env.reset(seed=0)
    core._suite_env.task.get_termination = lambda physics: 1.0
    _, _, terminated, truncated, _ = env.step(np.zeros((1, 2), np.float32))
    assert (terminated[0], truncated[0]) == (False, True)
    env.close()


def test_a_seed_repeats_and_another_does_not():
    def play(seed):
        env = build("walker-walk", n_envs=2)
        played = rollout(env, 12, seed=seed)
        env.close()
        return played

    first, again, other = play(1), play(1), play(2)
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0][0], other[0][0])
    assert not np.array_equal(first[0][0][0], first[0][0][1])  # two environments, two starts


def test_a_running_episode_is_restored_bit_for_bit():
    env, other = build("walker-walk", n_envs=2), build("walker-walk", n_envs=2)
    rollout(env, 15)
    state = env.get_state()
    _, restored = other.set_state(state)
    assert restored.all()
    action = np.full((2, 6), 0.3, np.float32)
    np.testing.assert_array_equal(env.step(action)[0], other.step(action)[0])
    env.close()
    other.close()


def test_pixels_are_pictures_and_a_frame_has_its_own_size():
    env = build(from_pixels=True, height=40, width=56, render_mode="rgb_array")
    assert env.single_observation_space.shape == (3, 40, 56)
    assert env.single_observation_space.dtype == np.uint8
    observation, _ = env.reset(seed=0)
    assert observation[0].std() > 0
    assert env.render()[0].shape == (240, 320, 3)
    env.close()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"action_repeat": 0}, "action_repeat must be a whole number >= 1, got 0"),
        ({"max_steps": 0}, "max_steps must be a whole number >= 1, got 0"),
        ({"render_height": "a"}, "render_height must be a whole number >= 1, got 'a'"),
        ({"from_pixels": True, "height": 4000}, "height must be at most 480 pixels, got 4000"),
        ({"render_width": 4000}, "render_width must be at most 640 pixels, got 4000"),
        ({"camera": 9}, "no camera 9: it is a number from -1 to 1"),
        ({"camera": "sid"}, "no camera 'sid'"),
        ({"pixels": True}, "takes no 'pixels'"),
    ],
)
def test_wrong_arguments_are_told_in_one_line(kwargs, message):
    with pytest.raises(ConfigError, match=message) as caught:
        build(**kwargs)
    assert len(str(caught.value).splitlines()) == 1


def test_a_task_without_a_limit_asks_for_one():
    with pytest.raises(ConfigError, match="lqr_2_1 has no time limit: set max_episode_steps"):
        build("lqr-lqr_2_1")
    env = build("lqr-lqr_2_1", max_episode_steps=5)
    assert env.max_episode_steps == 5
    env.close()


def test_an_unknown_task_is_told_with_near_ones():
    with pytest.raises(ConfigError, match=r"did you mean .*dm_control/walker-walk"):
        build("walker-wlk")
