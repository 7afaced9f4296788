"""The compiled vector environment: seeds, threads, autoreset, states, actions, copies."""

import os
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from gym_envs.physics import list_classic_specs
from gym_envs.simd import SimdVectorEnv
from gym_envs.simd.compilation import most_threads
from utils.errors import CheckpointError

ROOT = Path(__file__).resolve().parents[3]
SPECS = list_classic_specs()
ids = [spec.env_id for spec in SPECS]
each_spec = pytest.mark.parametrize("spec", SPECS, ids=ids)


def make_actions(env, n_steps, seed=0):
    env.action_space.seed(seed)
    return [env.action_space.sample() for _ in range(n_steps)]


def play(env, actions):
    """Return everything that a fixed row of actions leads to, stacked over time."""
    rows = []
    for action in actions:
        observation, reward, terminated, truncated, infos = env.step(action)
        final = np.zeros_like(observation)
        if infos:
            final[infos["_final_obs"]] = infos["final_obs"][infos["_final_obs"]]
        rows.append(
            [np.array(part) for part in (observation, reward, terminated, truncated, final)]
        )
    return [np.stack(parts) for parts in zip(*rows, strict=True)]


def assert_same(left, right):
    for a, b in zip(left, right, strict=True):
        assert a.tobytes() == b.tobytes()


@each_spec
def test_same_seed_same_episodes_other_seed_others(spec):
    actions = make_actions(SimdVectorEnv(spec.env_id, 4), 1_000)
    observations = []
    for seed in (0, 0, 1):
        env = SimdVectorEnv(spec.env_id, 4, max_episode_steps=50)
        np.random.seed(seed + 17)  # noqa: NPY002 - must not matter
        first, _ = env.reset(seed=seed)
        observations.append((first, play(env, actions)))
    assert_same(observations[0][1], observations[1][1])
    assert not (observations[0][0] == observations[2][0]).all(axis=1).any()


@each_spec
@pytest.mark.parametrize("n_envs", [1, 2, 7, 15, 16, 17, 33, 100, 257])
def test_an_environment_does_not_depend_on_how_many_there_are(spec, n_envs):
    widest = SimdVectorEnv(spec.env_id, 257, max_episode_steps=40)
    actions = make_actions(widest, 100)
    widest.reset(seed=5)
    expected = play(widest, actions)
    env = SimdVectorEnv(spec.env_id, n_envs, max_episode_steps=40)
    env.reset(seed=5)
    seen = play(env, [np.ascontiguousarray(action[:n_envs]) for action in actions])
    assert_same(seen, [np.ascontiguousarray(part[:, :n_envs]) for part in expected])


@pytest.mark.skipif(most_threads() < 2, reason="needs two cores")
@pytest.mark.parametrize("n_envs", [1, 63, 1_000])
def test_threads_change_nothing(n_envs):
    results = []
    for n_threads in (1, 2):
        env = SimdVectorEnv("CartPole-v1", n_envs, n_threads=n_threads, max_episode_steps=30)
        env.reset(seed=1)
        results.append(play(env, make_actions(env, 200)))
    assert_same(*results)


def test_more_threads_than_there_are_is_refused():
    with pytest.raises(ValueError, match=r"n_threads must be 1 to .*: this machine has \d+ cores"):
        SimdVectorEnv("CartPole-v1", 2, n_threads=most_threads() + 1)


@each_spec
def test_first_states_differ_between_episodes_and_environments(spec):
    env = SimdVectorEnv(spec.env_id, 5, max_episode_steps=1)
    states = [env.reset(seed=0)[0]] + [play(env, make_actions(env, 1))[0][0] for _ in range(4)]
    assert len(np.unique(np.concatenate(states), axis=0)) == 25
    low, high = np.array(spec.initial_low), np.array(spec.initial_high)
    many = SimdVectorEnv(spec.env_id, 20_000, copy=False)
    many.reset(seed=0)
    state = many.arrays.state
    assert (state.min(axis=1) >= low - 1e-6).all()
    assert (state.max(axis=1) <= high + 1e-6).all()
    np.testing.assert_allclose(state.mean(axis=1), (low + high) / 2, atol=0.02 * (high - low).max())
    np.testing.assert_allclose(state.std(axis=1), (high - low) / np.sqrt(12), rtol=0.02)


@each_spec
def test_the_time_limit_truncates_and_termination_wins(spec):
    env = SimdVectorEnv(spec.env_id, 64, max_episode_steps=30)
    env.reset(seed=0)
    _, _, terminated, truncated, _ = play(env, make_actions(env, 300))
    assert truncated.any()
    assert not (terminated & truncated).any()
    done = terminated | truncated
    for i in range(64):
        ends = np.flatnonzero(done[:, i])
        lengths = np.diff(np.concatenate([[-1], ends]))
        assert lengths.max() <= 30
        assert truncated[ends, i].tolist() == [
            bool(length == 30 and not terminated[end, i])
            for length, end in zip(lengths, ends, strict=True)
        ]


def test_an_end_in_the_last_step_allowed_is_a_termination():
    env = SimdVectorEnv("CartPole-v1", 2, max_episode_steps=1, copy=False)
    env.reset(seed=0)
    env.arrays.state[0, 0] = 2.399
    env.arrays.state[1, 0] = 3.0
    _, _, terminated, truncated, _ = env.step(np.array([1, 1]))
    assert (terminated.tolist(), truncated.tolist()) == ([True, False], [False, True])


def test_reset_seeds_the_action_spaces_and_no_seed_goes_on():
    env = SimdVectorEnv("CartPole-v1", 3)
    env.reset(seed=9)
    drawn = [env.action_space.sample().tolist(), int(env.single_action_space.sample())]
    env.reset(seed=9)
    assert [env.action_space.sample().tolist(), int(env.single_action_space.sample())] == drawn
    first, _ = env.reset(seed=9)
    second, _ = env.reset()
    third, _ = env.reset(seed=9)
    assert (first == third).all()
    assert (first != second).any()


def test_without_a_seed_every_environment_begins_elsewhere():
    observations = [SimdVectorEnv("CartPole-v1", 2).reset()[0] for _ in range(2)]
    assert (observations[0] != observations[1]).any()


def test_a_negative_seed_is_refused():
    with pytest.raises(gym.error.Error, match="seed must be a whole number >= 0"):
        SimdVectorEnv("CartPole-v1", 2).reset(seed=-1)


def test_a_mask_resets_some_environments_only():
    env = SimdVectorEnv("CartPole-v1", 4)
    env.reset(seed=0)
    before, *_ = env.step(np.array([0, 1, 0, 1]))
    mask = np.array([True, False, True, False])
    after, infos = env.reset(options={"reset_mask": mask})
    assert infos == {}
    assert (after == before).all(axis=1).tolist() == [False, True, False, True]
    env.step(np.array([0, 0, 0, 0]))
    assert env.episode_lengths.tolist() == [1, 2, 1, 2]
    with pytest.raises(TypeError, match="bool array"):
        env.reset(options={"reset_mask": [True] * 4})
    for wrong in (np.zeros(4, bool), np.ones(3, bool)):
        with pytest.raises(ValueError, match="reset_mask"):
            env.reset(options={"reset_mask": wrong})


@each_spec
def test_a_saved_state_goes_on_bit_for_bit(spec):
    env = SimdVectorEnv(spec.env_id, 9, max_episode_steps=25)
    env.reset(seed=2)
    play(env, make_actions(env, 40))
    saved = env.get_state()
    current = env.arrays.observation.copy()
    actions = [env.action_space.sample() for _ in range(60)]
    expected = play(env, actions)
    totals = env.episode_returns, env.episode_lengths
    other = SimdVectorEnv(spec.env_id, 9, max_episode_steps=25)
    observation, restored = other.set_state(saved)
    assert restored.all()
    assert observation.tobytes() == current.tobytes()
    assert [other.action_space.sample().tolist() for _ in range(60)] == [
        action.tolist() for action in actions
    ]
    assert_same(play(other, actions), expected)
    assert_same((other.episode_returns, other.episode_lengths), totals)


def test_a_saved_state_is_plain_and_of_its_own():
    import torch

    env = SimdVectorEnv("CartPole-v1", 3)
    env.reset(seed=2)
    saved = env.get_state()
    before = saved["arrays"]["state"].copy()
    play(env, make_actions(env, 5))
    assert (saved["arrays"]["state"] == before).all()
    assert isinstance(saved["generators"]["action_space"], dict)
    assert torch.from_numpy(saved["arrays"]["state"]).shape == (4, 3)


def test_states_of_other_environments():
    env = SimdVectorEnv("CartPole-v1", 3)
    env.reset(seed=0)
    with pytest.raises(
        CheckpointError, match=r"of 3 environments .*, not of 4: resume with n_envs"
    ):
        SimdVectorEnv("CartPole-v1", 4).set_state(env.get_state())
    observation, restored = env.set_state({"environments": [], "generators": {}})
    assert not restored.any()
    assert observation.shape == (3, 4)


def test_copies_stay_what_they_were():
    env = SimdVectorEnv("CartPole-v1", 6, max_episode_steps=4)
    kept = [env.reset(seed=0)[0]]
    frozen = [kept[0].copy()]
    for action in make_actions(env, 12):
        observation, reward, terminated, truncated, infos = env.step(action)
        parts = [observation, reward, terminated, truncated, *infos.values()]
        kept += parts
        frozen += [part.copy() for part in parts]
    assert_same(kept, frozen)


def test_without_copies_results_last_until_the_next_step_has_returned():
    env = SimdVectorEnv("CartPole-v1", 6, copy=False, max_episode_steps=4)
    previous, _ = env.reset(seed=0)
    seen = previous.copy()
    for action in make_actions(env, 9):
        observation, *_ = env.step(action)
        assert (previous == seen).all()
        assert not np.shares_memory(previous, observation)
        previous, seen = observation, observation.copy()


def test_results_share_memory_with_torch():
    import torch

    env = SimdVectorEnv("CartPole-v1", 6, copy=False)
    env.reset(seed=0)
    observation, *_ = env.step(np.zeros(6, np.int64))
    tensor = torch.from_numpy(observation)
    assert tensor.data_ptr() == env.arrays.observation.ctypes.data
    assert env.arrays.observation.ctypes.data % 64 == 0


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8, np.uint8, object])
def test_actions_of_any_whole_dtype(dtype):
    env, other = (SimdVectorEnv("Acrobot-v1", 5) for _ in range(2))
    env.reset(seed=0)
    other.reset(seed=0)
    actions = np.array([0, 1, 2, 1, 0])
    given = actions.tolist() if dtype is object else actions.astype(dtype)
    assert_same(env.step(given)[:4], other.step(actions)[:4])


def test_actions_need_not_be_contiguous():
    env, other = (SimdVectorEnv("Pendulum-v1", 5) for _ in range(2))
    env.reset(seed=0)
    other.reset(seed=0)
    actions = np.linspace(-2, 2, 10, dtype=np.float64).reshape(5, 2)[:, :1]
    assert_same(env.step(actions)[:4], other.step(actions.astype(np.float32).copy())[:4])


@pytest.mark.parametrize(
    ("env_id", "actions"),
    [
        ("CartPole-v1", np.array([0, 1, 2])),
        ("CartPole-v1", np.array([0, -1, 1])),
        ("CartPole-v1", np.array([0, 1])),
        ("CartPole-v1", np.array([0.0, 1.0, 1.0])),
        ("Pendulum-v1", np.zeros(3, np.float32)),
        ("Pendulum-v1", np.zeros((4, 1), np.float32)),
    ],
)
@pytest.mark.parametrize("n_threads", [1, min(2, most_threads())])
def test_actions_that_do_not_fit_are_refused_and_nothing_moves(env_id, actions, n_threads):
    env = SimdVectorEnv(env_id, 3, n_threads=n_threads)
    env.reset(seed=0)
    before = env.get_state()["arrays"]
    with pytest.raises(ValueError, match="actions must"):
        env.step(actions)
    assert_same(env.get_state()["arrays"].values(), before.values())


def test_a_step_before_the_first_reset_is_refused():
    with pytest.raises(gym.error.ResetNeeded):
        SimdVectorEnv("CartPole-v1", 3).step(np.zeros(3, np.int64))


def test_compiled_callers_step_in_the_same_arrays():
    import numba

    env, other = (SimdVectorEnv("CartPole-v1", 20, copy=False) for _ in range(2))
    env.reset(seed=0)
    other.reset(seed=0)
    kernel = env.step_kernel

    @numba.njit
    def step_often(n, action, arrays):
        for _ in range(n):
            arrays.action[:] = action
            kernel(*arrays)

    step_often(30, np.int32(1), env.arrays)
    for _ in range(30):
        expected = other.step(np.ones(20, np.int64))
    assert env.arrays.observation.tobytes() == expected[0].tobytes()
    assert_same(env.get_state()["arrays"].values(), other.get_state()["arrays"].values())
    assert_same(env.step(np.zeros(20, np.int64))[:4], other.step(np.zeros(20, np.int64))[:4])


@each_spec
def test_it_is_an_ordinary_vector_environment(spec):
    env = gym.make_vec(f"gym_envs:simd/{spec.env_id}", num_envs=3)
    assert isinstance(env.unwrapped, SimdVectorEnv)
    assert env.max_episode_steps == spec.max_episode_steps
    assert env.metadata["autoreset_mode"] is gym.vector.AutoresetMode.SAME_STEP
    recorded = gym.wrappers.vector.RecordEpisodeStatistics(env)
    observation, _ = recorded.reset(seed=0)
    assert observation in recorded.observation_space
    for _ in range(5):
        observation, *_ = recorded.step(recorded.action_space.sample())
        assert observation in recorded.observation_space
    env.close()


def test_pictures_are_gymnasiums():
    env = SimdVectorEnv("CartPole-v1", 2, render_mode="rgb_array")
    env.reset(seed=0)
    frames = env.render()
    theirs = gym.make("CartPole-v1", render_mode="rgb_array")
    theirs.reset(seed=0)
    theirs.unwrapped.state = env.arrays.state[:, 1].astype(np.float64)
    np.testing.assert_array_equal(frames[1], theirs.render())
    assert (frames[0] != frames[1]).any()
    env.close()
    theirs.close()


CACHED_START = """
import sys, time
started = time.perf_counter()
from gym_envs.simd import SimdVectorEnv
assert "numba" not in sys.modules
env = SimdVectorEnv("CartPole-v1", 8)
env.reset(seed=0)
env.step(env.action_space.sample())
stats = env._kernels.step_at.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""

WIDE_REGISTERS = """
import sys
from gym_envs.simd.compilation import compile_kernels
for code in compile_kernels(sys.argv[1]).step_at.inspect_asm().values():
    print(code.count("%zmm"))
"""


def run_with_cache(folder, code, *arguments):
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    environment.pop("NUMBA_CACHE_DIR", None)
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.slow
@each_spec
def test_the_loop_uses_the_widest_registers(spec, tmp_path):
    from gym_envs.numba_settings import HAS_AVX512

    if not HAS_AVX512:
        pytest.skip("the processor has no registers of 512 bits")
    counts = [int(n) for n in run_with_cache(tmp_path, WIDE_REGISTERS, spec.env_id).stdout.split()]
    # The copying of actions alone takes some dozens, the loop with the physics hundreds.
    assert len(counts) == (2 if spec.n_actions else 1)
    assert min(counts) > 200


def test_a_second_process_compiles_nothing_and_says_nothing(tmp_path):
    first, second = (run_with_cache(tmp_path, CACHED_START) for _ in range(2))
    assert first.stdout.split() == ["0", "2"]
    assert first.stderr.count("compiling for this machine") == 1
    assert second.stdout.split() == ["2", "0"]
    assert second.stderr == ""


def test_new_episodes_in_place_of_a_state_of_another_kind_follow_from_the_runs_seed():
    def observation_after(seed):
        spaces = SimdVectorEnv("CartPole-v1", 3)
        spaces.reset(seed=seed)  # seeds the action spaces, as every vector env does
        foreign = {"environments": [], "generators": spaces.get_state()["generators"]}
        observation, restored = SimdVectorEnv("CartPole-v1", 3).set_state(foreign)
        assert not restored.any()
        return observation

    assert np.array_equal(observation_after(1), observation_after(1))
    assert not np.array_equal(observation_after(1), observation_after(2))
