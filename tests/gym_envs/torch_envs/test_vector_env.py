"""The torch environments against Gymnasium's, and their own promises."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode

from gym_envs.physics import list_classic_specs
from gym_envs.torch_envs import TorchVectorEnv
from utils.errors import CheckpointError

SPECS = list_classic_specs()
ids = [spec.env_id for spec in SPECS]
each_spec = pytest.mark.parametrize("spec", SPECS, ids=ids)
each_device = pytest.mark.parametrize(
    "device",
    [
        "cpu",
        pytest.param(
            "cuda",
            marks=[
                pytest.mark.gpu,
                pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
            ],
        ),
    ],
)
# Largest absolute value of each state variable that the test starts from. Beyond half its greatest
# speed one step of Acrobot enlarges the rounding of its state ten times and more.
REACH = {
    "CartPole-v1": (2.5, 3.0, 0.22, 3.0),
    "MountainCar-v0": (0.6, 0.07),
    "MountainCarContinuous-v0": (0.6, 0.07),
    "Acrobot-v1": (3.14, 3.14, 6.0, 9.0),
    "Pendulum-v1": (3.14, 8.0),
}


def make(env_id, n_envs=8, seed=0, **kwargs):
    env = TorchVectorEnv(env_id, n_envs, **kwargs)
    env.reset(seed=seed)
    return env


def place(env, states):
    """Put all environments into these states, (N, n_state), at the beginning of an episode."""
    env.state.copy_(torch.from_numpy(states.T.astype(np.float32)))
    env.elapsed.zero_()
    env.episode_return.zero_()


def random_actions(spec, n, generator):
    if spec.n_actions:
        return generator.integers(spec.n_actions, size=n)
    return generator.uniform(-1.2, 1.2, (n, 1)).astype(np.float32) * spec.action_limit


@each_device
@each_spec
def test_one_step_from_any_state_is_gymnasiums(spec, device):
    n = 1_000
    generator = np.random.default_rng(1)
    reach = np.array(REACH[spec.env_id])
    states = generator.uniform(-reach, reach, (n, spec.n_state)).astype(np.float32)
    actions = random_actions(spec, n, generator)
    env = make(spec.env_id, n, device=device)
    place(env, states)
    observation, reward, terminated, truncated, infos = env.step(actions)
    final = np.where(terminated[:, None], infos.get("final_obs", observation), observation)
    reference = gym.make(spec.env_id).unwrapped
    reference.reset(seed=0)
    expected = []
    for state, action in zip(states, actions, strict=True):
        reference.state = state.astype(np.float64)
        if hasattr(reference, "steps_beyond_terminated"):
            reference.steps_beyond_terminated = None
        expected.append(reference.step(action))
    # Velocities of Acrobot reach 28 rad/s: float32 has 7 digits, of what is largest.
    scale = np.maximum(np.abs(spec.observation_space().high), 1.0)
    scale = np.where(np.isfinite(scale), scale, 1.0)
    difference = np.abs(final - np.array([row[0] for row in expected])) / scale
    assert difference.max() < 2e-6
    rewards = np.array([row[1] for row in expected], dtype=np.float64)
    np.testing.assert_allclose(reward, rewards, rtol=1e-6, atol=1e-6)
    assert (terminated == [row[2] for row in expected]).all()
    assert not truncated.any()
    assert terminated.any() == (spec.env_id != "Pendulum-v1")


@each_device
@each_spec
def test_whole_episodes_follow_gymnasiums(spec, device):
    env = make(spec.env_id, 4, device=device)
    generator = np.random.default_rng(2)
    references = [gym.make(spec.env_id) for _ in range(4)]
    for i, reference in enumerate(references):
        reference.reset(seed=0)
        reference.unwrapped.state = env.state[:, i].cpu().numpy().astype(np.float64)
    is_running = np.ones(4, dtype=bool)
    for _ in range(30):
        actions = random_actions(spec, 4, generator)
        observation, reward, terminated, truncated, infos = env.step(actions)
        done = terminated | truncated
        for i in np.flatnonzero(is_running):
            expected = references[i].step(actions[i])
            seen = infos["final_obs"][i] if done[i] else observation[i]
            # Errors of float32 grow along an episode; Acrobot is chaotic.
            np.testing.assert_allclose(seen, expected[0], rtol=1e-4, atol=1e-4)
            assert reward[i] == pytest.approx(float(expected[1]), rel=1e-4, abs=1e-4)
            assert (terminated[i], truncated[i]) == expected[2:4]
        is_running &= ~done
    assert spec.env_id != "CartPole-v1" or not is_running.all()


@each_spec
def test_spaces_and_attributes(spec):
    env = make(spec.env_id, 3)
    assert env.single_observation_space == gym.make(spec.env_id).observation_space
    assert env.single_action_space == gym.make(spec.env_id).action_space
    assert env.observation_space.shape == (3, spec.n_observation)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert (env.num_envs, env.env_id, env.vectorization_name) == (3, spec.env_id, "torch")
    assert env.max_episode_steps == spec.max_episode_steps
    assert env.reward_threshold == spec.reward_threshold
    assert env.render_fps == spec.render_fps
    observation, infos = env.reset(seed=5)
    assert observation in env.observation_space
    assert infos == {}
    observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
    assert observation in env.observation_space
    assert [part.dtype for part in (reward, terminated, truncated)] == [float, bool, bool]


@each_device
def test_an_episode_that_ends_begins_anew_in_the_same_step(device):
    env = make("CartPole-v1", 3, device=device)
    states = np.zeros((3, 4))
    states[1] = [2.39, 5.0, 0.0, 0.0]
    place(env, states)
    before = env.episode.tolist()
    for _ in range(2):
        env.step(np.array([0, 1, 0]))
    assert before == [0, 0, 0]
    assert env.episode.tolist() == [0, 1, 0]
    assert env.elapsed.tolist() == [2, 1, 2]
    assert env.episode_return.tolist() == [2.0, 1.0, 2.0]
    place(env, states)
    observation, _, terminated, truncated, infos = env.step(np.array([0, 1, 0]))
    assert terminated.tolist() == infos["_final_obs"].tolist() == [False, True, False]
    assert not truncated.any()
    assert infos["final_obs"][1, 0] == pytest.approx(2.39 + 0.02 * 5.0)
    assert np.abs(observation[1]).max() <= 0.05
    assert (infos["final_obs"][[0, 2]] == observation[[0, 2]]).all()


@each_device
def test_time_limit_truncates_unless_the_step_terminated(device):
    env = make("CartPole-v1", 2, device=device, max_episode_steps=5)
    assert env.max_episode_steps == 5
    place(env, np.zeros((2, 4)))
    env.elapsed.fill_(4)
    env.state[0, 1], env.state[1, 1] = 2.39, 5.0
    _, _, terminated, truncated, infos = env.step(np.array([0, 1]))
    assert (terminated.tolist(), truncated.tolist()) == ([False, True], [True, False])
    assert infos["_final_obs"].all()
    assert env.elapsed.tolist() == [0, 0]


@each_device
def test_tensor_steps_tell_the_return_and_length_of_the_episode_that_ends(device):
    env = make("MountainCarContinuous-v0", 2, device=device, max_episode_steps=3)
    action = torch.tensor([[0.5], [1.0]], device=device)
    for _ in range(3):
        step = env.step_tensors(action)
    # The force costs 0.1 a^2 a step: 3 * 0.025 and 3 * 0.1.
    torch.testing.assert_close(step.episode_return.cpu(), torch.tensor([-0.075, -0.3]))
    assert step.episode_length.tolist() == [3, 3]
    assert env.episode_return.tolist() == [0.0, 0.0]
    assert all(part.device.type == device for part in step)
    assert step.reward.shape == step.truncated.shape == (2,)


@each_spec
def test_first_states_are_uniform_in_the_range_of_the_environment(spec):
    env = make(spec.env_id, 2_000, seed=3)
    state = env.state.double()
    low, high = (
        torch.tensor(bound, dtype=torch.float64)[:, None]
        for bound in (spec.initial_low, spec.initial_high)
    )
    assert bool(((state >= low - 1e-6) & (state <= high + 1e-6)).all())
    mean_error = (state.mean(1) - ((low + high) / 2).squeeze(1)) / (high - low).squeeze(1)
    # Fixed variables have no range to compare with: 0 / 0.
    assert bool((mean_error.nan_to_num(0.0).abs() < 0.03).all())


def test_episodes_depend_on_seed_index_and_number_alone():
    few, many = make("CartPole-v1", 3, seed=11), make("CartPole-v1", 7, seed=11)
    other = make("CartPole-v1", 3, seed=12)
    assert few.state.equal(many.state[:, :3])
    assert not few.state.equal(other.state)
    assert len(set(many.state.flatten().tolist())) == many.state.numel()
    first = few.state.clone()
    few.reset()
    many.reset()
    assert few.state.equal(many.state[:, :3])
    assert not few.state.equal(first)
    few.reset(seed=11)
    assert few.state.equal(first)
    assert few.episode.tolist() == [0, 0, 0]


def test_both_ways_to_begin_episodes_are_the_same():
    rows, everywhere = make("CartPole-v1", 64), make("CartPole-v1", 64)
    everywhere._begin_episodes = everywhere._begin_everywhere
    generator = np.random.default_rng(0)
    for _ in range(100):
        actions = generator.integers(2, size=64)
        left, right = rows.step(actions), everywhere.step(actions)
        for a, b in zip(left[:4], right[:4], strict=True):
            np.testing.assert_array_equal(a, b)
    assert rows.episode.equal(everywhere.episode)
    assert rows.elapsed.equal(everywhere.elapsed)
    assert rows.episode_return.equal(everywhere.episode_return)
    assert int(rows.episode.min()) > 0


def test_state_tensors_stay_where_they_are():
    env = make("CartPole-v1", 4)
    names = ("state", "elapsed", "episode_return", "episode", "keys", "seed_tensor")
    before = [getattr(env, name).data_ptr() for name in names]
    for _ in range(30):
        env.step(env.action_space.sample())
    env.reset()
    env.reset(seed=2**63 + 1)
    env.set_state(env.get_state())
    assert [getattr(env, name).data_ptr() for name in names] == before
    assert env.seed_tensor.item() == 2**63 + 1 - 2**64


def test_what_a_step_returned_is_not_changed_by_the_next():
    env = make("CartPole-v1", 4)
    kept = env.step(np.array([0, 1, 0, 1]))[:4]
    copies = [part.copy() for part in kept]
    env.step(np.array([1, 1, 1, 1]))
    for part, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(part, copy)


@each_device
@each_spec
def test_a_restored_environment_goes_on_bit_for_bit(spec, device):
    env = make(spec.env_id, 5, device=device, max_episode_steps=20)
    generator = np.random.default_rng(4)
    for _ in range(33):
        env.step(random_actions(spec, 5, generator))
    saved = env.get_state()
    plan = [random_actions(spec, 5, generator) for _ in range(40)]
    expected = [env.step(actions) for actions in plan]
    sampled = env.action_space.sample()
    other = make(spec.env_id, 5, seed=99, device=device, max_episode_steps=20)
    observation, restored = other.set_state(saved)
    assert restored.all()
    assert observation.dtype == np.float32
    for actions, row in zip(plan, expected, strict=True):
        for a, b in zip(other.step(actions)[:4], row[:4], strict=True):
            np.testing.assert_array_equal(a, b)
    assert (other.action_space.sample() == sampled).all()


def test_a_state_of_another_number_of_environments_is_refused():
    with pytest.raises(CheckpointError, match="of 3 environments of CartPole-v1, not of 4"):
        make("CartPole-v1", 4).set_state(make("CartPole-v1", 3).get_state())


def test_seeds_reach_the_action_spaces():
    samples = []
    for _ in range(2):
        env = make("Pendulum-v1", 4, seed=8)
        samples.append((env.action_space.sample(), env.single_action_space.sample()))
    np.testing.assert_array_equal(samples[0][0], samples[1][0])
    np.testing.assert_array_equal(samples[0][1], samples[1][1])


def test_reset_without_a_seed_draws_one():
    one, two = TorchVectorEnv("CartPole-v1", 2), TorchVectorEnv("CartPole-v1", 2)
    assert (one.reset()[0] != two.reset()[0]).any()


@pytest.mark.parametrize(
    "actions", [np.array([0, 2]), np.array([-1, 0]), np.array([0]), np.array([0.0, 1.0])]
)
def test_actions_outside_the_space_are_refused(actions):
    env = make("CartPole-v1", 2)
    with pytest.raises(ValueError, match="actions must"):
        env.step(actions)


def test_stepping_before_the_first_reset_is_refused():
    env = TorchVectorEnv("CartPole-v1", 2)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(np.array([0, 1]))
