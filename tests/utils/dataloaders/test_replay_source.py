from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch

from tests.helpers.policies import build_linear_policy
from tests.helpers.vector_envs import CountingVectorEnv, encode
from utils.buffers import TransitionBuffer, TransitionLayout
from utils.dataloaders import ReplayPace, ReplayPlan, ReplaySource, Round
from utils.dataloaders.replay_source import STORED_MASK, join_mask, split_mask, stored_space
from utils.errors import CheckpointError
from utils.phases import PhaseScheduler, PhaseSpec, UpdateBudget
from utils.rollouts.epsilon_greedy import EpsilonGreedy
from utils.rollouts.experience_collector import ExperienceCollector

LEARN = PhaseSpec(name="learn", type="online", hooks=("collect", "update"))


def build(env: CountingVectorEnv, **changes) -> ReplaySource:
    explorer = EpsilonGreedy(
        lambda observation, mask: np.zeros(len(observation), np.int64),
        epsilon=lambda timesteps: 1.0,
        n_actions=1000,
        seed=1,
    )
    collector = ExperienceCollector(
        env, build_linear_policy(env), explorer, device=torch.device("cpu")
    )
    layout = TransitionLayout(
        capacity=40,
        n_envs=env.num_envs,
        observation_space=env.single_observation_space,
        action_space=env.single_action_space,
    )
    buffer = TransitionBuffer(layout, n_step=1, gamma=0.5)
    pace = ReplayPace(
        n_envs=env.num_envs,
        max_timesteps=1000,
        steps_per_epoch=10,
        train_every_vec_steps=2,
        random_timesteps=4,
        timesteps_before_updates=4,
        batch_size=3,
    )
    plan = ReplayPlan(
        pace,
        PhaseScheduler([LEARN]),
        UpdateBudget(0.5),
        timesteps=lambda: collector.timesteps,
        n_stored=lambda: len(buffer),
    )
    return ReplaySource(collector, buffer, plan, seed=5, **changes)


def epoch(source: ReplaySource) -> list[list[int]]:
    """Carry out an epoch; return what was drawn for each update."""
    drawn = []
    for due in source.plan.rounds():
        source.collect(due)
        drawn += [source.sample().index.tolist() for _ in range(due.n_updates)]
    return drawn


def test_iterating_the_loader_steps_nothing() -> None:
    source = build(CountingVectorEnv([3, 4]))
    source.reset(seed=1)
    for _ in range(3):
        (batch,) = source.loader
        assert batch.hook == "epoch"
    assert source.collector.timesteps == len(source.buffer) == 0


def test_what_was_stored_is_what_happened() -> None:
    env = CountingVectorEnv(
        [3, 4], ends=["terminated", "truncated"], reward=lambda *at: encode(*at)
    )
    source = build(env, reward_scale=2.0)
    source.reset(seed=1)
    source.collect(Round(10))
    batch = source.buffer.gather(torch.arange(20))
    shown = [int(encode(*row)) for row in batch.observation.int().tolist()]
    reached = [int(encode(*row)) for row in batch.next_observation.int().tolist()]
    assert sorted(shown)[:6] == [0, 1, 2, 10, 11, 12]
    # A step leads to the next number, the last one of an episode to its end.
    assert [b - a for a, b in zip(shown, reached, strict=True)] == [1] * 20
    assert batch.reward.tolist() == [2.0 * number for number in shown]
    ends = [number % 10 == 2 and number < 100 for number in shown]
    assert batch.terminated.tolist() == ends
    assert batch.discount.tolist() == [0.0 if end else 0.5 for end in ends]


def test_the_index_table_of_several_updates_is_their_batches_in_order() -> None:
    sources = [build(CountingVectorEnv([3, 4])) for _ in range(2)]
    for source in sources:
        source.reset(seed=1)
        source.collect(Round(10))
    table = sources[0].draw(4)
    assert table.shape == (4, 3)
    one_by_one = [sources[1].draw(1).tolist()[0] for _ in range(4)]
    # One draw of twelve and four of three are the same stream.
    assert table.tolist() == one_by_one


def test_a_saved_source_goes_on_bit_for_bit(tmp_path: Path) -> None:
    env = CountingVectorEnv([3, 4])
    source = build(env)
    source.reset(seed=1)
    epoch(source)
    source.save_buffer(tmp_path / "buffer")
    state = {k: v for k, v in source.state_dict().items() if k != "collector"}
    assert state["n_added"] == 20

    straight = epoch(source)
    assert len(straight) == 10
    resumed = build(env)
    resumed.load_buffer(tmp_path / "buffer")
    assert len(resumed.buffer) == 20


class _Fixed(CountingVectorEnv):
    """Counts on from wherever it is, and says that it was restored."""

    def get_state(self):
        return {}

    def set_state(self, state):
        observation, _ = self.reset()
        return observation, np.array(self.restored)

    restored = (True, True)


@pytest.mark.parametrize("keeps_buffer", [True, False])
def test_without_its_buffer_a_run_fills_a_new_one_by_its_policy(
    tmp_path: Path, keeps_buffer: bool
) -> None:
    source = build(_Fixed([3, 4]))
    source.reset(seed=1)
    drawn = epoch(source)
    assert len(drawn) == 8  # two vector steps of warm-up, then half of 16 timesteps
    source.save_buffer(tmp_path / "buffer")
    state = source.state_dict()

    resumed = build(_Fixed([3, 4]))
    if keeps_buffer:
        resumed.load_buffer(tmp_path / "buffer")
    assert resumed.load_state_dict(state) == 0
    first, *rest = _rounds(resumed)
    assert not first.is_random
    if keeps_buffer:
        assert (first.n_vec_steps, first.n_updates) == (2, 2)
        assert sum(due.n_updates for due in rest) == 8
    else:
        assert (first.n_vec_steps, first.n_updates) == (2, 0)
        assert sum(due.n_updates for due in rest) == 8


def _rounds(source: ReplaySource) -> list[Round]:
    done = []
    for due in source.plan.rounds():
        source.collect(due)
        done.append(due)
    return done


def test_an_environment_that_was_lost_is_cut_off_in_the_buffer(tmp_path: Path) -> None:
    source = build(_Fixed([9, 9]))
    source.reset(seed=1)
    source.collect(Round(4))
    source.save_buffer(tmp_path / "buffer")
    state = source.state_dict()
    env = _Fixed([9, 9])
    env.restored = (True, False)
    resumed = build(env)
    resumed.load_buffer(tmp_path / "buffer")
    assert resumed.load_state_dict(state) == 1
    batch = resumed.buffer.gather(torch.arange(8))
    # The newest transition of environment 1 counts as truncated, no other does.
    assert batch.truncated.tolist() == [False] * 7 + [True]


def test_a_buffer_of_another_moment_is_refused(tmp_path: Path) -> None:
    source = build(_Fixed([3, 4]))
    source.reset(seed=1)
    source.collect(Round(4))
    state = source.state_dict()
    source.collect(Round(2))
    source.save_buffer(tmp_path / "buffer")
    resumed = build(_Fixed([3, 4]))
    resumed.load_buffer(tmp_path / "buffer")
    with pytest.raises(CheckpointError, match="12 transitions and the checkpoint 8"):
        resumed.load_state_dict(state)


def test_masks_travel_with_observations() -> None:
    box = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)
    space = stored_space(box, mask_width=2)
    assert set(space.spaces) == {"observation", STORED_MASK}
    assert stored_space(box, mask_width=0) is box
    nested = stored_space(gym.spaces.Dict(a=box), mask_width=2)
    assert set(nested.spaces) == {"a", STORED_MASK}
    observation, mask = torch.rand(4, 3), torch.tensor([[1, 0]] * 4, dtype=torch.uint8)
    again, allowed = split_mask(join_mask(observation, mask), is_dict=False)
    assert again is observation
    assert allowed.tolist() == [[True, False]] * 4
    parts, _ = split_mask(join_mask({"a": observation}, mask), is_dict=True)
    assert parts["a"] is observation


def test_a_mask_beside_one_that_is_observed_leaves_that_alone() -> None:
    seen = gym.spaces.Dict(action_mask=gym.spaces.MultiBinary(2))
    assert set(stored_space(seen, mask_width=2).spaces) == {"action_mask", STORED_MASK}
    observation, mask = {"action_mask": torch.tensor([[1, 1]])}, torch.tensor([[1, 0]])
    again, allowed = split_mask(join_mask(observation, mask), is_dict=True)
    assert again == observation
    assert allowed.tolist() == [[True, False]]
