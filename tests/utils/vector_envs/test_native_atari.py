"""ALE's vector environment is held against one environment at a time: nothing may differ."""

import numpy as np
import pytest

pytest.importorskip("ale_py")
pytest.importorskip("cv2")

from utils.environment import build_env
from utils.errors import CheckpointError, EnvironmentFailedError

LIVES, CLIPPED = {"id": "EpisodicLife"}, {"id": "ClipReward"}
STANDARD = {
    "obs_type": "grayscale",
    "screen_size": [84, 84],
    "maxpool": True,
    "noop_max": 30,
    "repeat_action_probability": 0.0,
}


def build(vectorization, env_id="ALE/Breakout-v5", n_envs=2, **options):
    env_kwargs = {**STANDARD, **options.pop("env_kwargs", {})}
    settings = {"frame_stack": 4, "env_wrappers": [LIVES, CLIPPED], **options}
    return build_env(
        env_id, n_envs=n_envs, vectorization=vectorization, env_kwargs=env_kwargs, **settings
    )


def assert_same_step(got, wanted):
    for column, other in zip(got[:4], wanted[:4], strict=True):
        assert column.dtype == other.dtype
        np.testing.assert_array_equal(column, other)
    assert got[4].keys() == wanted[4].keys()
    done = got[2] | got[3]
    for key, value in got[4].items():
        rows = done if key == "final_obs" else slice(None)
        np.testing.assert_array_equal(value[rows], wanted[4][key][rows])


def compare(n_steps, *, n_parts=None, **options):
    """Step both with the same actions; return how many episodes ended and how often for time."""
    reference, native = build("sync", **options), build("native", **options)
    try:
        assert native.single_observation_space == reference.single_observation_space
        assert native.single_action_space == reference.single_action_space
        assert native.render_fps == reference.render_fps
        if n_parts is not None:
            native.split(n_parts)
        np.testing.assert_array_equal(native.reset(seed=7)[0], reference.reset(seed=7)[0])
        rng, n_ended, n_truncated = np.random.default_rng(0), 0, 0
        for _ in range(n_steps):
            actions = rng.integers(native.single_action_space.n, size=native.num_envs)
            got = native.step(actions)
            assert_same_step(got, reference.step(actions))
            n_ended += int((got[2] | got[3]).sum())
            n_truncated += int(got[3].sum())
        return n_ended, n_truncated
    finally:
        reference.close()
        native.close()


def test_lives_and_clipped_rewards_of_whole_games():
    n_ended, n_truncated = compare(300)
    assert n_ended > 10
    assert n_truncated == 0


def test_sticky_actions_and_fire_at_the_beginning():
    kwargs = {"repeat_action_probability": 0.25, "fire_reset": True}
    assert compare(300, env_kwargs=kwargs)[0] > 10


def test_points_that_are_clipped_and_all_actions():
    # Points of Qbert are 25 and more.
    compare(150, env_id="ALE/Qbert-v5", env_kwargs={"full_action_space": True})


def test_without_wrappers_there_is_no_word_of_them():
    native = build("native", env_wrappers=[])
    native.reset(seed=0)
    assert native.step(np.ones(2, np.int64))[4] == {}
    native.close()
    compare(60, env_wrappers=[])


def test_coloured_pictures_of_the_screen_as_it_is():
    options = {"obs_type": "rgb", "screen_size": None, "maxpool": False, "frameskip": 3}
    compare(60, env_id="ALE/MsPacman-v5", env_kwargs=options, frame_stack=2)


def test_a_limit_in_steps_truncates_games_of_each_part():
    n_ended, n_truncated = compare(150, max_episode_steps=37, n_parts=2)
    assert 0 < n_truncated < n_ended


def test_a_limit_in_frames_truncates_games():
    assert compare(60, env_kwargs={"max_num_frames_per_episode": 42})[1] > 5


def test_a_single_frame_is_no_stack():
    compare(60, frame_stack=1)


def test_the_first_stack_of_an_episode_holds_one_frame_only():
    env = build("native")
    observation, _ = env.reset(seed=0)
    assert (observation == observation[:, :1]).all()
    assert observation.std() > 0
    n_ended = 0
    while n_ended < 6:
        observation, _, terminated, _, infos = env.step(np.ones(2, np.int64))
        for i in np.flatnonzero(terminated):
            n_ended += 1
            assert (observation[i] == observation[i, 0]).all()
            if not infos["episode_over"][i]:  # the game goes on with what was seen last
                np.testing.assert_array_equal(observation[i, 0], infos["final_obs"][i, 3])
    env.close()


def test_reported_returns_are_of_whole_games_and_not_clipped():
    env = build("native", env_id="ALE/SpaceInvaders-v5")
    env.reset(seed=0)
    rng, returns, n_terminated, paid = np.random.default_rng(0), [], 0, set()
    total = np.zeros(2)
    while len(returns) < 2:
        _, reward, terminated, _, infos = env.step(rng.integers(6, size=2))
        paid |= set(reward.tolist())
        total += infos["raw_reward"]
        n_terminated += int(terminated.sum())
        returns += total[infos["episode_over"]].tolist()
        total[infos["episode_over"]] = 0
    assert n_terminated >= 3 * len(returns)  # three lives
    assert paid == {0.0, 1.0}
    assert all(value >= 50 and value % 5 == 0 for value in returns)
    env.close()


def test_what_a_step_returned_is_never_written_to_again():
    env = build("native")
    env.reset(seed=0)
    kept = [env.step(np.full(2, 1)) for _ in range(6)]
    copies = [[column.copy() for column in step[:4]] for step in kept]
    for _ in range(6):
        env.step(np.full(2, 2))
    for step, copy in zip(kept, copies, strict=True):
        for column, wanted in zip(step[:4], copy, strict=True):
            np.testing.assert_array_equal(column, wanted)
    env.close()


def test_actions_may_be_overwritten_once_they_are_sent():
    env = build("native")
    env.reset(seed=0)
    actions = np.full(2, 1)
    env.send(actions)
    actions.fill(99)
    env.recv()
    with pytest.raises(AssertionError):
        env.step(actions)
    env.close()


def test_parts_play_by_themselves_what_they_play_together():
    whole, divided = build("native", n_envs=4), build("native", n_envs=4)
    first, second = divided.split(2)
    assert divided.parts == (first, second)
    assert (first.num_envs, second.num_envs) == (2, 2)
    whole.reset(seed=3)
    observation, _ = divided.reset(seed=3)
    assert len(observation) == 4
    rng = np.random.default_rng(0)
    for _ in range(80):
        actions = rng.integers(4, size=4)
        wanted = whole.step(actions)
        first.send(actions[:2])
        second.send(actions[2:])
        got = first.recv(), second.recv()
        for k in range(4):
            np.testing.assert_array_equal(np.concatenate([got[0][k], got[1][k]]), wanted[k])
    assert divided.get_state()["n_steps"] == whole.get_state()["n_steps"] == 80
    whole.close()
    divided.close()
    with pytest.raises(EnvironmentFailedError, match="have been closed"):
        first.step(np.zeros(2, np.int64))


def test_a_restored_state_begins_new_games_of_another_stretch():
    envs = [build("native", env_id="ALE/SpaceInvaders-v5") for _ in range(2)]
    envs[1].split(2)
    first, _ = envs[0].reset(seed=5)
    for _ in range(10):
        envs[0].step(np.ones(2, np.int64))
    state = envs[0].get_state()
    restored = [env.set_state(state) for env in envs]
    assert not restored[0][1].any()
    np.testing.assert_array_equal(restored[0][0], restored[1][0])
    assert (restored[0][0] != first).any()
    assert_same_step(*(env.step(np.ones(2, np.int64)) for env in envs))
    assert envs[1].get_state()["n_steps"] == 11
    for env in envs:
        env.close()


def test_foreign_states_are_refused_with_what_to_do():
    native, single = build("native"), build("sync", n_envs=1)
    native.reset(seed=0)
    single.reset(seed=0)
    with pytest.raises(CheckpointError, match=r"vectorization: sync.*leads to native"):
        native.set_state(single.get_state())
    with pytest.raises(CheckpointError, match=r"vectorization: native.*leads to sync"):
        single.set_state(native.get_state())
    other = build("native", n_envs=3)
    with pytest.raises(CheckpointError, match=r"of 2 environments.*resume with n_envs: 2"):
        other.set_state(native.get_state())
    for env in (native, single, other):
        env.close()


def test_single_environments_restore_their_games_bit_for_bit():
    env, other = build("sync"), build("sync")
    env.reset(seed=5)
    rng = np.random.default_rng(1)
    for _ in range(300):
        observation, *_ = env.step(rng.integers(4, size=2))
    restored, is_restored = other.set_state(env.get_state())
    assert is_restored.all()
    np.testing.assert_array_equal(restored, observation)
    for _ in range(100):
        actions = rng.integers(4, size=2)
        assert_same_step(other.step(actions), env.step(actions))
    env.close()
    other.close()


def test_seeds_go_on_from_game_to_game():
    first, second = build("native"), build("native", n_envs=1)
    pair, _ = first.reset(seed=8)
    single, _ = second.reset(seed=9)
    np.testing.assert_array_equal(pair[1], single[0])  # environment i has seed + i
    first.close()
    second.close()
