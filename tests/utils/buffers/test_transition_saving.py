"""A buffer that was saved goes on as if nothing had been."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.helpers.slow_replay import RandomEpisodes
from tests.helpers.transition_buffers import N_ENVS, WHERE, all_names, build_buffer, fill_randomly
from utils.buffers import (
    Place,
    Priorities,
    TransitionBuffer,
)
from utils.errors import CheckpointError


def same(one: Any, two: Any) -> bool:
    """Whether two batches are equal, bit for bit."""
    if isinstance(one, dict):
        return all(torch.equal(one[key], two[key]) for key in one)
    return one is two or torch.equal(one, two)


@pytest.mark.parametrize("priorities", [None, Priorities()])
@pytest.mark.parametrize("n_steps", [4, 25])
@pytest.mark.parametrize("frame_stack", [1, 3])
@pytest.mark.parametrize("where", ["cpu", *WHERE[2:]])
def test_a_saved_buffer_goes_on_as_if_nothing_had_been(
    tmp_path: Path, priorities: Priorities | None, n_steps: int, frame_stack: int, place: Place
) -> None:
    def make() -> TransitionBuffer:
        return build_buffer(episodes, priorities=priorities, n_step=3, place=place)

    episodes = RandomEpisodes(N_ENVS, seed=1, frame_stack=frame_stack, as_dict=True)
    buffer = make()
    fill_randomly(buffer, episodes, n_steps)
    beta = None if priorities is None else 0.5
    if priorities is not None:
        buffer.update_priorities(all_names(buffer), torch.arange(len(buffer)) / 3)
    buffer.save(tmp_path / "replay")
    other = make()
    other.load(tmp_path / "replay")
    if priorities is not None:
        assert torch.equal(other.priorities.tree.nodes, buffer.priorities.tree.nodes)
    for step in episodes.steps(13):
        buffer.add(**step._asdict())
        other.add(**step._asdict())
    one, two = (
        b.sample(64, generator=torch.Generator().manual_seed(3), beta=beta) for b in (buffer, other)
    )
    assert all(same(a, b) for a, b in zip(one, two, strict=True))


def test_a_buffer_of_another_kind_is_refused_by_name(tmp_path: Path) -> None:
    episodes = RandomEpisodes(N_ENVS, seed=1)
    buffer = build_buffer(episodes)
    fill_randomly(buffer, episodes, 3)
    buffer.save(tmp_path / "replay")
    with pytest.raises(CheckpointError, match="n_steps 10, and it is 11 now"):
        build_buffer(episodes, capacity=31).load(tmp_path / "replay")
    with pytest.raises(CheckpointError, match=r"cannot read .*No such file"):
        build_buffer(episodes).load(tmp_path / "nothing")
