"""Rows that wait on the host before a device is given them; here the device is the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.helpers.slow_replay import RandomEpisodes
from tests.helpers.transition_buffers import N_ENVS, build_buffer
from utils.buffers import Place, Priorities, row_writes
from utils.buffers.row_writes import RowWriter


@pytest.fixture
def few_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_writes, "_MOST_WAITING", 3)


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch, few_wait: None) -> tuple[RowWriter, torch.Tensor]:
    del few_wait
    monkeypatch.setattr(Place, "is_ordinary", False)
    rows = torch.zeros((5, 2))
    return RowWriter(rows, Place()), rows


def test_rows_wait_until_there_are_enough_or_somebody_reads(writer) -> None:
    write, rows = writer[0].write, writer[1]
    for row in range(4):
        write(row, np.full(2, row + 1.0))
    assert rows[:, 0].tolist() == [1, 2, 3, 0, 0]
    writer[0].flush()
    assert rows[:, 0].tolist() == [1, 2, 3, 4, 0]


def test_what_comes_later_is_what_stays(writer) -> None:
    write, rows = writer[0].write, writer[1]
    write(4, 1.0)
    write(0, torch.tensor([2.0, 3.0]))  # the ring has gone round
    write(0, np.array([4.0, 5.0]))
    write((0, np.array([1])), np.array([6.0]))
    write(1, 7)
    write(np.array([1, 2]), torch.full((2, 2), 8.0))
    writer[0].flush()
    assert rows.tolist() == [[4, 6], [8, 8], [8, 8], [0, 0], [1, 1]]


def test_what_a_device_may_still_have_to_read_is_not_written_again(
    writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, flush = writer[0].write, writer[0].flush
    sources = []

    def read_later(target: torch.Tensor, source: torch.Tensor, **kwargs: Any) -> None:
        del target, kwargs
        sources.append(source)

    monkeypatch.setattr(torch.Tensor, "copy_", read_later)
    for row in (0, 1):
        write(row, row + 1.0)
        flush()
    flush()  # nothing waits
    for row in (2, 3, 4, 0, 1):
        write(row, row + 1.0)
    flush()
    # Three fit into a block, and a copy is of rows that follow on each other.
    assert [source[:, 0].tolist() for source in sources] == [[1], [2], [3], [4, 5], [1], [2]]


def test_rows_of_an_index_wait_as_well_and_may_go_round_the_ring(writer) -> None:
    write, rows = writer[0].write, writer[1]
    write(np.array([3, 4]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert not rows.any()
    write(np.array([0, 1]), torch.tensor([[5.0, 6.0], [7.0, 8.0]]))
    assert rows.tolist() == [[5, 6], [0, 0], [0, 0], [1, 2], [3, 4]]
    writer[0].flush()
    assert rows.tolist() == [[5, 6], [7, 8], [0, 0], [1, 2], [3, 4]]


def test_ends_of_episodes_wait_with_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Place, "is_ordinary", False)
    episodes = RandomEpisodes(N_ENVS, seed=1, mean_length=2)
    buffer = build_buffer(episodes, capacity=60)
    buffer.begin(episodes.begin(range(N_ENVS)))
    before = buffer.frames[""].flat.clone()
    steps = list(episodes.steps(10))
    n_ends = sum(int((step.terminated | step.truncated).sum()) for step in steps)
    assert n_ends > 5
    for step in steps:
        buffer.add(**step._asdict())
    assert buffer.frames[""].flat.equal(before)
    assert not buffer.ending.any()
    buffer.flush()
    places = buffer.ending[buffer.ending != 0].abs()
    assert places.tolist() == list(range(1, n_ends + 1))
    ended = torch.stack([torch.as_tensor(s.terminated | s.truncated) for s in steps])
    finals = torch.cat(
        [
            torch.as_tensor(step.final_observation)[one]
            for step, one in zip(steps, ended, strict=True)
            if one.any()
        ]
    )
    assert buffer.frames[""].finals[:n_ends].equal(finals)


def same(one: Any, two: Any) -> bool:
    if isinstance(one, dict):
        return all(same(one[key], two[key]) for key in one)
    if one is None or two is None:
        return one is two
    return torch.allclose(one.double(), two.double(), rtol=1e-6)


class Pair:
    """Buffers of the same steps, in ordinary memory and as another device has them."""

    def __init__(self, patch: pytest.MonkeyPatch, *, seed: int) -> None:
        self.episodes = RandomEpisodes(
            N_ENVS, seed=seed, frame_stack=[1, 3][seed % 2], as_dict=seed > 2
        )
        self.priorities = Priorities() if seed % 3 else None
        self._n_drawn = 0
        self.buffers = []
        for is_ordinary in (True, False):
            with patch.context() as changes:
                changes.setattr(Place, "is_ordinary", is_ordinary)
                buffer = build_buffer(
                    self.episodes, capacity=24, n_step=[1, 3][seed % 2], priorities=self.priorities
                )
            self.buffers.append(buffer)
        self._tell("begin", self.episodes.begin(range(N_ENVS)))
        self.add()
        self.compare()

    def _tell(self, method: str, *args: Any, **kwargs: Any) -> None:
        for buffer in self.buffers:
            getattr(buffer, method)(*args, **kwargs)

    def add(self) -> None:
        (step,) = self.episodes.steps(1)
        self._tell("add", **step._asdict())

    def cut(self) -> None:
        self._tell("cut", self.episodes.begin([1]), [1])

    def compare(self) -> None:
        self._n_drawn += 1
        beta = None if self.priorities is None else 0.5
        batches = [
            buffer.sample(
                16, generator=torch.Generator().manual_seed(self._n_drawn), beta=beta
            )._asdict()
            for buffer in self.buffers
        ]
        self._index = batches[0]["index"]
        assert same(*batches)

    def learn(self) -> None:
        """Take in errors of what was drawn lately, of which some may have gone."""
        if self.priorities is not None:
            errors = torch.linspace(0, 2, len(self._index))
            self._tell("update_priorities", self._index.clone(), errors)

    def save_and_load(self, folder: Path) -> None:
        """Go back to what was, after a step that was to be forgotten."""
        for k, buffer in enumerate(self.buffers):
            buffer.save(folder / f"{k}")
        self.add()
        for k, buffer in enumerate(self.buffers):
            buffer.load(folder / f"{k}")


@pytest.mark.usefixtures("few_wait")
@pytest.mark.parametrize("seed", range(6))
def test_in_whatever_order_all_that_is_read_is_what_ordinary_memory_holds(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair(monkeypatch, seed=seed)
    kinds = {
        pair.add: 0.7,
        pair.cut: 0.05,
        pair.compare: 0.1,
        pair.learn: 0.1,
        lambda: pair.save_and_load(tmp_path): 0.05,
    }
    order = np.random.default_rng(seed).choice(len(kinds), 200, p=list(kinds.values()))
    for kind in order:
        list(kinds)[kind]()
    pair.compare()
