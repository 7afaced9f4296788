"""Sampled transitions against a replay of plain lists, and by numbers worked out by hand."""

from __future__ import annotations

import warnings
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch

from tests.helpers.counting_policy import CountingPolicy, encode_rows
from tests.helpers.slow_replay import RandomEpisodes, SlowReplay, assert_same_observation
from tests.helpers.transition_buffers import N_ENVS, WHERE, all_names, build_buffer, fill_randomly
from tests.helpers.vector_envs import CountingVectorEnv, encode
from utils.buffers import (
    Place,
    Priorities,
    TransitionBatch,
    TransitionBuffer,
    TransitionLayout,
)
from utils.buffers.transition_gather import gather_on_device
from utils.environment import build_env
from utils.errors import ConfigError
from utils.rollouts.stepper import Stepper


def to_cpu(batch: TransitionBatch) -> TransitionBatch:
    fields = {
        key: {k: v.cpu() for k, v in value.items()} if isinstance(value, dict) else value.cpu()
        for key, value in batch._asdict().items()
        if value is not None
    }
    return TransitionBatch(**fields)


def compare(buffer: TransitionBuffer, slow: SlowReplay, *, n_step: int, gamma: float) -> None:
    """Compare everything that is held with what the lists say."""
    names = all_names(buffer)
    first = buffer.head - len(slow.steps[0])
    # As it is where compiled code is out of reach:
    buffer.geometry.set_held(int(names[0]), buffer.head * buffer.layout.n_envs)
    for batch in (buffer.gather(names), gather_on_device(buffer, names.to(buffer.place.device))):
        batch = to_cpu(batch)
        assert batch.index.tolist() == names.tolist()
        for b, name in enumerate(names.tolist()):
            step, i = divmod(name, buffer.layout.n_envs)
            expected, discount = slow.n_step(step - first, i, n=n_step, gamma=gamma)
            pick = {
                key: {k: v[b] for k, v in value.items()} if isinstance(value, dict) else value[b]
                for key, value in batch._asdict().items()
                if value is not None
            }
            assert_same_observation(pick["observation"], expected.observation)
            assert_same_observation(pick["next_observation"], expected.next_observation)
            assert torch.equal(pick["action"], torch.as_tensor(expected.action))
            assert pick["reward"].item() == np.float32(expected.reward)
            assert pick["discount"].item() == np.float32(discount)
            assert bool(pick["terminated"]) == expected.terminated
            assert bool(pick["truncated"]) == expected.truncated


@pytest.mark.parametrize("n_step", [1, 3])
@pytest.mark.parametrize("frame_stack", [1, 4])
@pytest.mark.parametrize("as_dict", [False, True])
@pytest.mark.parametrize("where", WHERE)
def test_everything_held_is_what_happened(
    n_step: int, frame_stack: int, as_dict: bool, place: Place, tmp_path: Path
) -> None:
    episodes = RandomEpisodes(N_ENVS, seed=n_step, frame_stack=frame_stack, as_dict=as_dict)
    buffer = build_buffer(episodes, n_step=n_step, place=place)
    slow = SlowReplay(N_ENVS)
    observation = episodes.begin(range(N_ENVS))
    buffer.begin(observation)
    slow.begin(observation)
    assert len(buffer) == 0
    for t, step in enumerate(episodes.steps(47)):  # more than four times around
        buffer.add(**step._asdict())
        slow.add(step)
        assert len(buffer) == N_ENVS * min(t + 1, 10)
        if t % 5 == 0 or t == 46:
            compare(buffer, slow, n_step=n_step, gamma=0.9)
    assert buffer.n_added == 47 * N_ENVS
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("frame_stack", [1, 3])
@pytest.mark.parametrize("where", WHERE)
def test_a_cut_is_a_truncation_where_the_episode_was(frame_stack: int, place: Place) -> None:
    episodes = RandomEpisodes(N_ENVS, seed=5, frame_stack=frame_stack, mean_length=6)
    buffer, slow = build_buffer(episodes, n_step=2, capacity=60, place=place), SlowReplay(N_ENVS)
    observation = episodes.begin(range(N_ENVS))
    buffer.begin(observation)
    slow.begin(observation)
    observation = episodes.begin([1])  # before any step: only the first observation changes
    buffer.cut(observation, [1])
    slow.cut(observation, [1])
    for t, step in enumerate(episodes.steps(30)):
        buffer.add(**step._asdict())
        slow.add(step)
        if t % 7 == 3:
            cut = [[0], [1, 2], [0, 1, 2]][t % 3]
            observation = episodes.begin(cut)
            buffer.cut(observation, cut)
            slow.cut(observation, cut)
        compare(buffer, slow, n_step=2, gamma=0.9)


def test_n_step_returns_by_hand() -> None:
    # gamma 0.9, rewards 1: 1 + 0.9 + 0.81 = 2.71, discount 0.729. The target with V(s3) = 10 is
    # 2.71 + 7.29 = 10. With termination at the second step 1.9 and nothing to bootstrap from; with
    # truncation there 1.9 and 0.81 of the final observation.
    for ends, reward, discount in (
        ("none", 2.71, 0.729),
        ("terminated", 1.9, 0.0),
        ("truncated", 1.9, 0.81),
    ):
        lengths = (None,) if ends == "none" else (2,)
        env = CountingVectorEnv(lengths, ends=None if ends == "none" else (ends,))
        buffer = fill_from(env, n_steps=4, n_step=3)
        batch = buffer.gather(torch.tensor([0]))
        assert batch.reward.item() == pytest.approx(reward, rel=1e-6)
        assert batch.discount.item() == pytest.approx(discount, rel=1e-6)
        target = batch.reward + batch.discount * 10
        assert target.item() == pytest.approx(reward + 10 * discount, rel=1e-6)
        n = 3 if ends == "none" else 2
        assert encode_rows(batch.next_observation).tolist() == [encode(0, 0, n)]


def test_no_window_crosses_the_write_head() -> None:
    # The newest transitions have fewer than n steps before the head: they bootstrap from there.
    buffer = fill_from(CountingVectorEnv((None, None)), n_steps=25, n_step=3, capacity=20)
    assert len(buffer) == 20
    batch = buffer.gather(all_names(buffer)[-6:])
    assert batch.reward.tolist() == pytest.approx([2.71, 2.71, 1.9, 1.9, 1.0, 1.0])
    assert batch.discount.tolist() == pytest.approx([0.729, 0.729, 0.81, 0.81, 0.9, 0.9])


def fill_from(
    env: CountingVectorEnv, *, n_steps: int, n_step: int = 1, capacity: int = 1000
) -> TransitionBuffer:
    """Step an environment with a policy and put all into a buffer, as a data source does."""
    policy = CountingPolicy()
    stepper = Stepper(env, policy, device=torch.device("cpu"))
    stepper.reset(seed=0)
    buffer = TransitionBuffer(
        TransitionLayout(
            capacity=capacity,
            n_envs=env.num_envs,
            observation_space=env.single_observation_space,
            action_space=env.single_action_space,
        ),
        n_step=n_step,
        gamma=0.9,
    )
    buffer.begin(stepper.observation)
    for _ in range(n_steps):
        decision = stepper.decide(policy.normalize(stepper.observation), generator=None)
        outcome = stepper.step(decision.action)
        buffer.add(
            action=decision.action,
            reward=outcome.reward,
            terminated=outcome.terminated,
            truncated=outcome.truncated,
            next_observation=stepper.observation,
            final_observation=outcome.infos.get("final_obs"),
        )
    return buffer


@pytest.mark.parametrize("as_dict", [False, True])
def test_no_step_is_lost_or_reordered_on_the_way_from_the_environment(as_dict: bool) -> None:
    lengths, ends = (3, 4, None), ("terminated", "truncated", "terminated")
    env = CountingVectorEnv(lengths, ends=ends, as_dict=as_dict, reward=encode)
    buffer = fill_from(env, n_steps=9)
    batch = buffer.gather(all_names(buffer))
    at = [(t // n if n else 0, t % n if n else t) for t in range(9) for n in lengths]
    index = [i for _ in range(9) for i in range(3)]
    here = [encode(i, *when) for i, when in zip(index, at, strict=True)]
    assert encode_rows(batch.observation).tolist() == here
    assert batch.action.tolist() == here  # the policy acts with the number of what it sees
    assert batch.reward.tolist() == here
    assert encode_rows(batch.next_observation).tolist() == [number + 1 for number in here]
    over = [n is not None and t % n == n - 1 for t in range(9) for n in lengths]
    assert batch.terminated.tolist() == [o and i == 0 for o, i in zip(over, index, strict=True)]
    assert batch.truncated.tolist() == [o and i == 1 for o, i in zip(over, index, strict=True)]


def test_stacks_show_no_frame_of_another_episode() -> None:
    # Frames 1 to 5 with a truncation after the fifth; the next episode begins with frame 9.
    space = gym.spaces.Box(0, 255, (4,), np.float32)
    layout = TransitionLayout(
        capacity=20,
        n_envs=1,
        observation_space=space,
        action_space=gym.spaces.Discrete(2),
        frame_stack=4,
    )
    buffer = TransitionBuffer(layout)

    def stack(*frames: int) -> np.ndarray:
        return np.array([frames], np.float32)

    buffer.begin(stack(1, 1, 1, 1))
    shown = [stack(1, 1, 1, 2), stack(1, 1, 2, 3), stack(1, 2, 3, 4), stack(9, 9, 9, 9)]
    for t, observation in enumerate([*shown, stack(9, 9, 9, 10)]):
        buffer.add(
            action=np.zeros(1, np.int64),
            reward=np.zeros(1),
            terminated=np.zeros(1, bool),
            truncated=np.array([t == 3]),
            next_observation=observation,
            final_observation=stack(2, 3, 4, 5) if t == 3 else None,
        )
    batch = buffer.gather(all_names(buffer))
    assert batch.next_observation[3].tolist() == [2, 3, 4, 5]
    assert batch.observation[4].tolist() == [9, 9, 9, 9]
    assert batch.next_observation[4].tolist() == [9, 9, 9, 10]
    frames = buffer.frames[""].flat
    assert frames.shape[1] == 1, "a frame is stored once"


def test_a_mask_beside_stacked_vectors_is_no_stack() -> None:
    parts = {
        "observation": gym.spaces.Box(-1, 1, (6,), np.float32),
        "action_mask": gym.spaces.Box(0, 1, (4,), np.uint8),
    }
    layout = TransitionLayout(
        capacity=10,
        n_envs=1,
        observation_space=gym.spaces.Dict(parts),
        action_space=gym.spaces.Discrete(4),
        frame_stack=2,
        unstacked=("action_mask",),
    )
    assert {leaf.key: leaf.n_stacked for leaf in layout.leaves} == {
        "action_mask": 1,
        "observation": 2,
    }


def test_a_changed_discount_counts_at_once() -> None:
    buffer = fill_from(CountingVectorEnv((None,)), n_steps=6, n_step=3)
    index = torch.tensor([0])
    table = buffer.geometry.powers
    buffer.gamma = 0.5
    assert buffer.gather(index).reward.item() == 1.75
    assert buffer.geometry.powers is table, "in place, where a CUDA graph reads it"
    buffer.n_step = 2
    assert (buffer.gather(index).reward.item(), buffer.gather(index).discount.item()) == (1.5, 0.25)


def test_a_run_that_begins_amid_an_episode_keeps_its_older_frames() -> None:
    episodes = RandomEpisodes(2, seed=3, frame_stack=4, mean_length=1e9)
    episodes.begin(range(2))
    *_, step = episodes.steps(6)
    buffer = build_buffer(episodes)
    buffer.begin(step.next_observation)
    expected = step.next_observation.copy()
    (step,) = episodes.steps(1)
    buffer.add(**step._asdict())
    batch = buffer.gather(all_names(buffer))
    assert_same_observation(batch.observation, expected)
    assert_same_observation(batch.next_observation, step.next_observation)


def test_too_many_ends_shorten_what_is_held_and_a_warning_says_so() -> None:
    episodes = RandomEpisodes(N_ENVS, seed=2, mean_length=1.5)
    buffer, slow = build_buffer(episodes, capacity=60, n_finals=8, n_step=2), SlowReplay(N_ENVS)
    observation = episodes.begin(range(N_ENVS))
    buffer.begin(observation)
    slow.begin(observation)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for t, step in enumerate(episodes.steps(50)):
            buffer.add(**step._asdict())
            slow.add(step)
            if t % 3 == 2:
                observation = episodes.begin([1])
                buffer.cut(observation, [1])
                slow.cut(observation, [1])
            compare(buffer, slow, n_step=2, gamma=0.9)
            # Of all ends so far the last eight are known; the steps of the others are gone.
            ends = sorted(
                at
                for steps in slow.steps
                for at, one in enumerate(steps)
                if one.terminated or one.truncated
            )
            oldest = ends[-9] + 1 if len(ends) > 8 else 0
            assert len(buffer) == N_ENVS * (t + 1 - max(oldest, t + 1 - 20))
    assert len(told) == 1
    assert "n_finals makes room for more" in str(told[0].message)


def test_a_cut_gives_up_the_transition_whose_end_it_writes_over() -> None:
    space = gym.spaces.Box(-1.0, 99.0, (1,), np.float32)
    layout = TransitionLayout(
        capacity=4,
        n_envs=2,
        observation_space=space,
        action_space=gym.spaces.Discrete(2),
        n_finals=2,
    )
    buffer = TransitionBuffer(layout)
    buffer.begin(np.zeros((2, 1)))
    for t in range(2):  # environment t ends with step t, seeing 10 + t
        truncated = np.arange(2) == t
        buffer.add(
            action=np.zeros(2),
            reward=np.zeros(2),
            terminated=np.zeros(2, dtype=bool),
            truncated=truncated,
            next_observation=np.full((2, 1), t + 1.0),
            final_observation=np.where(truncated, 10.0 + t, 0.0)[:, None],
        )
    with pytest.warns(UserWarning, match="the oldest go early"):
        buffer.cut(np.full((2, 1), 5.0), [0])
    # There is room for two ends: those of step 1. Step 0 would show the wrong one.
    assert len(buffer) == 2
    batch = buffer.gather(all_names(buffer))
    assert batch.next_observation[:, 0].tolist() == [2.0, 11.0]
    assert batch.truncated.tolist() == [True, True]


def test_names_that_are_not_held_are_refused() -> None:
    buffer = fill_from(CountingVectorEnv((None, None)), n_steps=25, capacity=20)
    for name in (29, 50, -1):
        with pytest.raises(AssertionError, match="not all held"):
            buffer.gather(torch.tensor([40, name, 41]))


def test_by_default_short_episodes_shorten_nothing() -> None:
    episodes = RandomEpisodes(N_ENVS, seed=2, mean_length=1)
    buffer = build_buffer(episodes, capacity=60)
    buffer.begin(episodes.begin(range(N_ENVS)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in episodes.steps(50):
            buffer.add(**step._asdict())
    assert len(buffer) == 60


def test_sampling_draws_from_the_given_generator_alone() -> None:
    episodes = RandomEpisodes(N_ENVS, seed=1)
    buffer = build_buffer(episodes)
    fill_randomly(buffer, episodes, 20)
    before = torch.get_rng_state()
    batches = [
        buffer.sample(16, generator=torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)
    ]
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(batches[0].index, batches[1].index)
    assert not torch.equal(batches[0].index, batches[2].index)


def test_every_transition_is_drawn_equally_often() -> None:
    episodes = RandomEpisodes(N_ENVS, seed=1)
    buffer = build_buffer(episodes)
    fill_randomly(buffer, episodes, 25)
    names = all_names(buffer)
    drawn = buffer.draw(30_000, generator=torch.Generator().manual_seed(0))
    counts = torch.bincount(drawn - names[0], minlength=30)
    assert len(counts) == 30
    # Chi-square with 29 degrees of freedom: above 58.3 once in a thousand times.
    assert ((counts - 1000.0) ** 2 / 1000).sum() < 58.3


def test_what_does_not_fit_is_refused_before_it_is_allocated(tmp_path: Path) -> None:
    layout = TransitionLayout(
        capacity=10**12,
        n_envs=8,
        observation_space=gym.spaces.Box(-1, 1, (17,)),
        action_space=gym.spaces.Box(-1, 1, (6,)),
    )
    # (68 of the observation + 24 + 4 + 4) * 1e12 and a twentieth of (68 + 8): 96,671 GiB
    with pytest.raises(ConfigError, match=r"96,?671\..* GiB of memory, and .* are free"):
        TransitionBuffer(layout)
    with pytest.raises(ConfigError, match=r"on the disk of .* are free"):
        TransitionBuffer(layout, place=Place(folder=tmp_path))


def test_the_declared_size_is_that_of_the_arrays() -> None:
    episodes = RandomEpisodes(N_ENVS, seed=1, frame_stack=3, as_dict=True)
    buffer = build_buffer(episodes, capacity=300, priorities=Priorities())
    assert buffer.priorities is not None
    arrays = [store.flat for store in buffer.frames.values()]
    arrays += [buffer.action, buffer.reward, buffer.ending, buffer.priorities.tree.nodes]
    steps_of_finals = 8 * buffer.layout.n_final_slots
    assert buffer.nbytes_declared == sum(array.nbytes for array in arrays) + steps_of_finals


@pytest.mark.parametrize("where", WHERE)
def test_integers_stay_integers(place: Place) -> None:
    layout = TransitionLayout(
        capacity=10,
        n_envs=2,
        observation_space=gym.spaces.MultiDiscrete([4, 2]),
        action_space=gym.spaces.Discrete(3),
    )
    buffer = TransitionBuffer(layout, place=place)
    buffer.begin(np.array([[3, 1], [0, 0]]))
    buffer.add(
        action=torch.tensor([2, 0]),
        reward=np.zeros(2),
        terminated=np.zeros(2, bool),
        truncated=np.zeros(2, bool),
        next_observation=np.array([[1, 0], [2, 1]]),
    )
    batch = buffer.gather(all_names(buffer))
    assert batch.observation.tolist() == [[3, 1], [0, 0]]
    assert batch.next_observation.tolist() == [[1, 0], [2, 1]]
    assert batch.action.tolist() == [2, 0]
    assert batch.observation.dtype == batch.action.dtype == torch.int64


def test_stacks_are_those_of_our_vector_environments() -> None:
    env = build_env("CartPole-v1", n_envs=3, frame_stack=4, vectorization="sync")
    layout = TransitionLayout(
        capacity=300,
        n_envs=3,
        observation_space=env.single_observation_space,
        action_space=env.single_action_space,
        frame_stack=4,
    )
    buffer = TransitionBuffer(layout)
    observation, _ = env.reset(seed=3)
    buffer.begin(observation)
    shown, reached, n_ends = [], [], 0
    for t in range(100):
        shown.append(observation.copy())
        action = np.full(3, t // 3 % 2)
        observation, reward, terminated, truncated, infos = env.step(action)
        done = terminated | truncated
        n_ends += done.sum()
        after = np.where(done[:, None], infos.get("final_obs", observation), observation)
        reached.append(after.copy())
        buffer.add(
            action=action,
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            next_observation=observation,
            final_observation=infos.get("final_obs"),
        )
    env.close()
    batch = buffer.gather(all_names(buffer))
    assert n_ends > 10
    assert torch.equal(batch.observation, torch.from_numpy(np.concatenate(shown)))
    assert torch.equal(batch.next_observation, torch.from_numpy(np.concatenate(reached)))
