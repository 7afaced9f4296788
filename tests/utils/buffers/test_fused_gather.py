"""Transitions picked by one kernel against the same by tensor operations."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from tests.helpers.slow_replay import RandomEpisodes
from tests.helpers.transition_buffers import N_ENVS, all_names, build_buffer, fill_randomly
from tests.helpers.triton_device import DEVICE
from utils.buffers import Place, TransitionBuffer, TransitionLayout, transition_gather
from utils.buffers.fused_gather import gather_fused
from utils.buffers.transition_gather import gather_by_operations, runs_fused
from utils.models.captured_call import CapturedCall

DEVICE_PLACE = Place(device=torch.device(DEVICE))


@pytest.fixture(autouse=True)
def _tensors_do_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Place, "is_ordinary", False)


def assert_same(buffer: TransitionBuffer, index: torch.Tensor) -> None:
    buffer.flush()
    index = index.to(DEVICE)
    fused, plain = gather_fused(buffer, index), gather_by_operations(buffer, index)
    for key, expected in plain._asdict().items():
        found = getattr(fused, key)
        if expected is None:
            assert found is None
            continue
        assert found.dtype == expected.dtype, key
        assert torch.equal(found, expected), key


@pytest.mark.parametrize("n_step", [1, 2, 5])
def test_everything_that_is_held_is_the_same(n_step: int) -> None:
    episodes = RandomEpisodes(N_ENVS, seed=n_step)
    buffer = build_buffer(episodes, n_step=n_step, place=DEVICE_PLACE)
    buffer.begin(episodes.begin(range(N_ENVS)))
    for t, step in enumerate(episodes.steps(47)):  # more than four times around
        buffer.add(**step._asdict())
        if t % 6 == 0:
            assert_same(buffer, all_names(buffer))
    assert (buffer.gather(all_names(buffer)).discount == 0.0).any(), "some terminated"
    assert buffer.gather(all_names(buffer)).truncated.any()


@pytest.mark.parametrize("n_rows", [1, 7, 700])
@pytest.mark.parametrize(
    ("observation", "action"),
    [
        (gym.spaces.Box(-9, 9, (33,), np.float32), gym.spaces.Discrete(5)),
        (gym.spaces.Discrete(7), gym.spaces.Discrete(5)),
        (gym.spaces.Box(0, 255, (2, 3, 5), np.uint8), gym.spaces.Box(-1, 1, (2, 3), np.float32)),
        (gym.spaces.MultiBinary(6), gym.spaces.MultiDiscrete([2, 3, 4])),
        (gym.spaces.Box(-9, 9, (4,), np.float64), gym.spaces.MultiBinary(9)),
        (gym.spaces.Box(0, 1, (3,), np.bool_), gym.spaces.Discrete(2)),
    ],
    ids=str,
)
def test_any_space_and_any_number_of_rows(
    observation: gym.Space, action: gym.Space, n_rows: int
) -> None:
    layout = TransitionLayout(
        capacity=40, n_envs=2, observation_space=observation, action_space=action
    )
    buffer = TransitionBuffer(layout, n_step=3, gamma=0.9, place=DEVICE_PLACE)
    observation.seed(0)
    action.seed(0)
    shown = np.stack([observation.sample() for _ in range(2)])
    buffer.begin(shown)
    for t in range(25):
        ended = np.array([t % 4 == 3, False])
        buffer.add(
            action=np.stack([action.sample() for _ in range(2)]),
            reward=np.array([1.0, t]),
            terminated=ended & (t % 8 == 3),
            truncated=ended & (t % 8 == 7),
            next_observation=np.stack([observation.sample() for _ in range(2)]),
            final_observation=np.stack([observation.sample() for _ in range(2)]),
        )
    names = all_names(buffer)
    assert_same(buffer, names[torch.randint(len(names), (n_rows,))])


def test_three_steps_by_hand() -> None:
    # Rewards 1, 10, 100, gamma 0.5: 1 + 5 + 25 = 31 and discount 0.125 from the first step; from
    # the second 10 + 50 = 60 and 0.25, for the experience ends there.
    layout = TransitionLayout(
        capacity=8, n_envs=1, observation_space=gym.spaces.Box(-9, 9, (1,), np.float32),
        action_space=gym.spaces.Discrete(2),
    )  # fmt: skip
    buffer = TransitionBuffer(layout, n_step=3, gamma=0.5, place=DEVICE_PLACE)
    no = np.zeros(1, bool)
    buffer.begin(np.zeros((1, 1), np.float32))
    for t, reward in enumerate((1.0, 10.0, 100.0)):
        buffer.add(
            action=[1], reward=[reward], terminated=no, truncated=no,
            next_observation=np.full((1, 1), t + 1, np.float32),
        )  # fmt: skip
    buffer.flush()
    batch = gather_fused(buffer, torch.tensor([0, 1], device=DEVICE))
    assert batch.reward.tolist() == [31.0, 60.0]
    assert batch.discount.tolist() == [0.125, 0.25]
    assert batch.observation.tolist() == [[0.0], [1.0]]
    assert batch.next_observation.tolist() == [[3.0], [3.0]]


def test_what_one_kernel_does_not_pick_is_picked_by_operations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transition_gather, "why_no_triton", lambda: None)
    a_gpu = Place(device=torch.device("cuda"))

    def runs(n_step: int = 1, **episodes: Any) -> bool:
        buffer = build_buffer(RandomEpisodes(2, seed=0, **episodes), place=DEVICE_PLACE)
        buffer.n_step, buffer.place = n_step, a_gpu
        return runs_fused(buffer)

    assert runs()
    assert runs(n_step=16, channels=1024)
    assert not runs(n_step=17)
    assert not runs(channels=1025)
    assert not runs(frame_stack=2)
    assert not runs(as_dict=True)
    a_gpu = Place()
    assert not runs()
    a_gpu = Place(device=torch.device("cuda"))
    monkeypatch.setattr(transition_gather, "why_no_triton", lambda: "there is none")
    assert not runs()


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE != "cuda", reason="needs a GPU")
def test_a_graph_holds_it() -> None:
    episodes = RandomEpisodes(N_ENVS, seed=3)
    buffer = build_buffer(episodes, n_step=2, place=DEVICE_PLACE)
    fill_randomly(buffer, episodes, 20)
    buffer.flush()
    call = CapturedCall(lambda index: (gather_fused(buffer, index).next_observation,))
    names = all_names(buffer).to(DEVICE)
    call(names)
    for step in episodes.steps(7):
        buffer.add(**step._asdict())
    buffer.flush()
    names = all_names(buffer).to(DEVICE)
    (found,) = call(names)
    assert torch.equal(found, gather_by_operations(buffer, names).next_observation)
