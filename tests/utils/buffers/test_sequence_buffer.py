"""Sequences against rows in plain lists: boundaries, wrap-around, write-back, order of service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.helpers.counting_policy import encode_rows
from tests.helpers.slow_replay import RandomEpisodes, SlowRows, assert_same_observation
from tests.helpers.vector_envs import CountingVectorEnv, encode
from utils.buffers import Place, Priorities, SequenceBuffer, SequenceLayout, StateField
from utils.errors import CheckpointError, ConfigError

N_ENVS = 3
DEVICES = [
    "cpu",
    "cpu with tensor operations",
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.gpu,
            pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
        ],
    ),
]


@pytest.fixture
def place(device: str, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Where rows lie; the operations of other devices can be tried without one."""
    if device.endswith("operations"):
        monkeypatch.setattr(Place, "is_ordinary", False)
    return Place(device=torch.device(device.split()[0]))


def build(
    episodes: RandomEpisodes,
    *,
    place: Place | None = None,
    newest_first: bool = False,
    n_context: int = 0,
    **layout: Any,
) -> SequenceBuffer:
    settings = {"capacity": 60, "sequence_length": 5, "crosses_episodes": True} | layout
    return SequenceBuffer(
        SequenceLayout(
            n_envs=episodes.n_envs,
            observation_space=episodes.observation_space,
            action_space=episodes.action_space,
            frame_stack=episodes.frame_stack,
            state={"memory": StateField((2,))},
            **settings,
        ),
        place=place,
        newest_first=newest_first,
        n_context=n_context,
    )


def run(
    episodes: RandomEpisodes, n: int, *buffers: Any, seed: int = 0, begins: bool = True
) -> None:
    """Give all buffers the same steps."""
    rng = np.random.default_rng(seed)
    if begins:
        observation = episodes.begin(range(episodes.n_envs))
        for buffer in buffers:
            buffer.begin(observation)
    for step in episodes.steps(n):
        state = rng.normal(size=(episodes.n_envs, 2)).astype(np.float32)
        for buffer in buffers:
            if isinstance(buffer, SlowRows):
                buffer.add(step, state)
            else:
                buffer.add(**step._asdict(), state={"memory": state})


def compare(buffer: SequenceBuffer, slow: SlowRows) -> None:
    """Compare all sequences that can be drawn with the lists."""
    layout, first = buffer.layout, buffer.layout.frame_stack - 1
    n, length = layout.n_envs, layout.sequence_length
    names = buffer.table.all_starts()
    expected = slow.starts(length, n_kept=layout.n_kept, crosses=layout.crosses_episodes)
    assert [(name // n - first, name % n) for name in names.tolist()] == expected
    assert buffer.n_sequences == len(expected)
    if not expected:
        return
    batch = buffer.gather(torch.from_numpy(names))
    for b, (start, i) in enumerate(expected):
        for j, row in enumerate(slow.rows[i][start : start + length]):
            assert_same_observation(pick(batch.observation, b, j), row.observation)
            assert torch.equal(batch.action[b, j].cpu(), torch.as_tensor(row.action))
            assert torch.equal(batch.state["memory"][b, j].cpu(), torch.as_tensor(row.state))
            found = [part[b, j].item() for part in batch[2:6]]
            assert found == [row.reward, row.is_first, row.terminated, row.truncated]
            assert batch.index[b, j] == (start + j + first) * n + i


def pick(observation: Any, b: int, j: int) -> Any:
    if isinstance(observation, dict):
        return {key: part[b, j].cpu() for key, part in observation.items()}
    return observation[b, j].cpu()


@pytest.mark.parametrize("crosses", [False, True])
@pytest.mark.parametrize("frame_stack", [1, 3])
@pytest.mark.parametrize(("as_dict", "mean_length"), [(False, 3.0), (True, 8.0)])
@pytest.mark.parametrize("device", DEVICES)
def test_every_sequence_is_what_happened(
    crosses: bool, frame_stack: int, as_dict: bool, mean_length: float, place: Place
) -> None:
    episodes = RandomEpisodes(
        N_ENVS, seed=4, frame_stack=frame_stack, as_dict=as_dict, mean_length=mean_length
    )
    buffer, slow = build(episodes, crosses_episodes=crosses, place=place), SlowRows(N_ENVS)
    run(episodes, 0, buffer, slow)
    for chunk in (1, 3, 1, 1, 9, 20, 21, 1, 1):  # rows come around three times and more
        run(episodes, chunk, buffer, slow, begins=False, seed=chunk)
        compare(buffer, slow)
    held = sum(min(len(rows) - 1, buffer.layout.n_kept) for rows in slow.rows)
    assert len(buffer) == held
    assert buffer.n_added == 58 * N_ENVS


def test_rows_on_a_disk_are_the_same(tmp_path: Path) -> None:
    episodes = RandomEpisodes(N_ENVS, seed=4, as_dict=True)
    buffer, slow = build(episodes, place=Place(folder=tmp_path)), SlowRows(N_ENVS)
    run(episodes, 50, buffer, slow)
    compare(buffer, slow)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("frame_stack", [1, 3])
@pytest.mark.parametrize("crosses", [False, True])
def test_a_cut_is_a_truncation_where_the_episode_was(frame_stack: int, crosses: bool) -> None:
    episodes = RandomEpisodes(N_ENVS, seed=5, frame_stack=frame_stack, mean_length=6)
    buffer, slow = build(episodes, crosses_episodes=crosses), SlowRows(N_ENVS)
    run(episodes, 0, buffer, slow)
    for chunk, cut in ((0, [1]), (3, [0]), (1, [1, 2]), (17, [0, 1, 2]), (0, [1]), (30, [2])):
        run(episodes, chunk, buffer, slow, begins=False, seed=chunk)
        observation = episodes.begin(cut)
        buffer.cut(observation, cut)
        slow.cut(observation, cut)
        compare(buffer, slow)


def test_a_run_that_begins_amid_an_episode_keeps_its_older_frames() -> None:
    episodes = RandomEpisodes(2, seed=3, frame_stack=4, mean_length=1e9)
    episodes.begin(range(2))
    *_, step = episodes.steps(6)
    buffer = build(episodes, sequence_length=1)
    buffer.begin(step.next_observation)
    expected = step.next_observation.copy()
    run(episodes, 1, buffer, begins=False)
    batch = buffer.gather(torch.from_numpy(buffer.table.all_starts()))
    assert_same_observation(batch.observation[:, 0], expected)


def test_rows_of_an_episode_by_hand() -> None:
    # Environment 0 terminates after two steps, 1 is truncated after three; a reward has the number
    # of the observation that it was paid for leaving.
    env = CountingVectorEnv((2, 3), ends=("terminated", "truncated"), reward=encode)
    layout = SequenceLayout(
        capacity=100,
        n_envs=2,
        observation_space=env.single_observation_space,
        action_space=env.single_action_space,
        sequence_length=4,
        crosses_episodes=True,
    )
    buffer = SequenceBuffer(layout)
    observation, _ = env.reset()
    buffer.begin(observation)
    for t in range(4):
        number = encode_rows(torch.from_numpy(observation)).to(torch.int64)
        observation, reward, terminated, truncated, infos = env.step(number.numpy())
        buffer.add(
            action=number,
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            next_observation=observation,
            final_observation=infos.get("final_obs"),
        )
        # Complete rows after each step: 1, 3, 4, 6 and 1, 2, 4, 5.
        assert buffer.n_sequences == (0, 0, 1 + 1, 3 + 2)[t]
    batch = buffer.gather(torch.tensor([0, 1]))
    assert encode_rows(batch.observation[0]).tolist() == [0, 1, 2, 10]
    assert batch.action[0].tolist() == [0, 1, 0, 10]
    assert batch.reward[0].tolist() == [0, 0, 1, 0]
    assert batch.is_first[0].tolist() == [True, False, False, True]
    assert batch.terminated[0].tolist() == [False, False, True, False]
    assert encode_rows(batch.observation[1]).tolist() == [100, 101, 102, 103]
    assert batch.action[1].tolist() == [100, 101, 102, 0]
    assert batch.reward[1].tolist() == [0, 100, 101, 102]
    assert batch.truncated[1].tolist() == [False, False, False, True]
    assert not batch.terminated[1].any()
    check_single_rows(buffer)


def check_single_rows(buffer: SequenceBuffer) -> None:
    """Compare rows of their own with what happened; names are row * 2 + environment."""
    names = buffer.all_rows()
    # Complete rows: observations 0, 1, 2 (end), 10, 11, 12 (end) and 100 to 103 (end), 110.
    assert names.tolist() == [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9]
    seen = encode_rows(buffer.gather_observations(names)).tolist()
    assert seen == [0, 1, 2, 10, 11, 12, 100, 101, 102, 103, 110]
    assert buffer.first_rows().tolist() == [0, 6, 1, 9]
    generator = torch.Generator().manual_seed(0)
    drawn = buffer.draw_rows(2200, generator=generator)
    counts = torch.bincount(drawn, minlength=11)
    assert counts.sum() == 2200
    assert set(drawn.tolist()) == set(names.tolist())
    assert 140 < counts[names].min() < counts[names].max() < 260  # 200 each, 4 deviations of 13.5
    batch = buffer.gather(torch.tensor([0, 1]), has_observation=False)
    assert batch.observation == {}
    assert batch.reward[1].tolist() == [0, 100, 101, 102]


def test_single_rows_are_those_that_are_still_held() -> None:
    episodes = RandomEpisodes(n_envs=2, mean_length=5.0, seed=0)
    buffer = build(episodes, capacity=20)
    run(episodes, 40, buffer)
    names = buffer.all_rows()
    assert len(names) == len(buffer) == 20
    assert (buffer.table.held(names.numpy()) >= 0).all()
    assert len(buffer.gather_state(names)["memory"]) == 20
    buffer.write_state(names, {"memory": torch.arange(40.0).view(20, 2)})
    assert torch.equal(buffer.gather_state(names)["memory"], torch.arange(40.0).view(20, 2))


@pytest.mark.parametrize("device", DEVICES)
def test_a_memory_is_written_back_to_the_rows_that_are_still_held(place: Place) -> None:
    episodes = RandomEpisodes(N_ENVS, seed=6)
    buffer, slow = build(episodes, capacity=24, place=place), SlowRows(N_ENVS)
    run(episodes, 6, buffer, slow)
    names = torch.from_numpy(buffer.table.all_starts())
    # Some overlap, so that rows are named more than once; the first ones will be gone.
    old = buffer.gather(names[[0, -1, -2, -3, -4, -5, -6]]).index
    run(episodes, 3, buffer, slow, begins=False, seed=2)
    values = torch.arange(old.numel() * 2.0).view(*old.shape, 2)
    buffer.write_state(old, {"memory": values.to(place.device)})
    for name, value in zip(old.reshape(-1).tolist(), values.view(-1, 2), strict=True):
        row, i = divmod(name, N_ENVS)
        slow.rows[i][row] = slow.rows[i][row]._replace(state=value.numpy())
    held = old[old // N_ENVS >= torch.from_numpy(buffer.table.tail)[old % N_ENVS]]
    assert len(held.unique()) < len(held)
    assert (old.numpy() // N_ENVS < buffer.table.tail[old.numpy() % N_ENVS]).any()
    compare(buffer, slow)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_memory_may_take_half_the_bytes(dtype: torch.dtype, tmp_path: Path) -> None:
    episodes = RandomEpisodes(2, seed=6)

    def make() -> SequenceBuffer:
        return SequenceBuffer(
            SequenceLayout(
                capacity=20,
                n_envs=2,
                observation_space=episodes.observation_space,
                action_space=episodes.action_space,
                sequence_length=3,
                crosses_episodes=True,
                state={"memory": StateField((2,), dtype)},
            )
        )

    buffer, other = make(), make()
    run(episodes, 8, buffer)
    index = buffer.sample(4, generator=torch.Generator().manual_seed(0)).index
    buffer.write_state(index, {"memory": torch.full((*index.shape, 2), 1.5, requires_grad=True)})
    buffer.save(tmp_path / "replay")
    other.load(tmp_path / "replay")
    batch = other.gather(index[:, 0])
    assert batch.state["memory"].dtype == dtype
    assert (batch.state["memory"] == 1.5).all()


def test_all_sequences_are_drawn_equally_often() -> None:
    episodes = RandomEpisodes(N_ENVS, seed=8)
    buffer = build(episodes, crosses_episodes=False, capacity=120, sequence_length=3)
    run(episodes, 60, buffer)
    counts = count_draws(buffer, 1000 * buffer.n_sequences)
    n = buffer.n_sequences
    assert n > 30
    # Chi-square: its mean is n - 1, its variance 2 (n - 1); four deviations.
    assert ((counts - 1000) ** 2 / 1000).sum() < n - 1 + 4 * (2 * (n - 1)) ** 0.5


def count_draws(buffer: SequenceBuffer, n: int) -> np.ndarray:
    names = buffer.draw(n, generator=torch.Generator().manual_seed(1)).numpy()
    starts = buffer.table.all_starts()
    found = np.searchsorted(starts, names)
    assert (starts[found] == names).all()
    return np.bincount(found, minlength=len(starts))


@pytest.mark.parametrize("device", DEVICES)
def test_sequences_are_drawn_by_their_priorities(place: Place) -> None:
    episodes = RandomEpisodes(N_ENVS, seed=8)
    settings = Priorities(alpha=1.0, epsilon=0.0)
    buffer = build(episodes, crosses_episodes=False, capacity=60, priorities=settings, place=place)
    run(episodes, 40, buffer)
    starts = buffer.table.all_starts()
    errors = torch.arange(len(starts)) % 4 + 1.0
    gone = torch.arange(5)
    buffer.update_priorities(gone, torch.full((5,), 1e9))  # no longer held: passed over
    buffer.update_priorities(torch.from_numpy(starts), -errors)
    share = (errors / errors.sum()).numpy()
    n = 300_000
    counts = count_draws(buffer, n)
    # Stratified draws vary less than independent ones, which stay below this bound.
    assert ((counts - n * share) ** 2 / (n * share)).sum() < 2 * len(starts)
    batch = buffer.sample(64, generator=torch.Generator().manual_seed(0), beta=1.0)
    drawn = errors[np.searchsorted(starts, batch.index[:, 0].cpu().numpy())]
    torch.testing.assert_close(batch.weight.cpu(), drawn.min() / drawn)
    run(episodes, 3, buffer, begins=False)
    fresh = np.setdiff1d(buffer.table.all_starts(), starts)
    weights = buffer.priorities.tree.leaves[torch.from_numpy(buffer.table.held(fresh))]
    assert (weights == 4.0).all(), "new ones have the highest priority so far"
    assert float(buffer.priorities.tree.total()) == pytest.approx(
        float(buffer.priorities.tree.leaves.sum())
    )
    assert int((buffer.priorities.tree.leaves > 0).sum()) == buffer.n_sequences


def test_new_experience_is_served_once_and_first() -> None:
    episodes = RandomEpisodes(2, seed=1, mean_length=1e9)
    buffer = build(episodes, newest_first=True, n_context=1, sequence_length=5, capacity=200)
    generator = torch.Generator().manual_seed(0)
    run(episodes, 5, buffer)

    def rows(names: Tensor) -> list[tuple[int, int]]:
        return [divmod(name, 2) for name in names.tolist()]

    # Rows 0 to 4 are complete: one stretch of each environment. The next ones are four rows on.
    assert rows(buffer.draw(2, generator=generator)) == [(0, 0), (0, 1)]
    assert len(rows(buffer.draw(6, generator=generator))) == 6
    run(episodes, 9, buffer, begins=False)
    assert rows(buffer.draw(3, generator=generator)) == [(4, 0), (4, 1), (8, 0)]
    drawn = rows(buffer.draw(50, generator=generator))
    assert drawn[0] == (8, 1)
    assert len(set(drawn)) > 5


def test_new_experience_that_is_gone_is_not_served() -> None:
    episodes = RandomEpisodes(2, seed=1, mean_length=1e9)
    buffer = build(episodes, newest_first=True, sequence_length=4, capacity=20)
    run(episodes, 60, buffer)
    names = buffer.draw(64, generator=torch.Generator().manual_seed(0))
    assert len(names) == 64
    assert (buffer.table.held(names.numpy()) >= 0).all()
    assert names[0].item() // 2 >= 50


@pytest.mark.parametrize("priorities", [None, Priorities()])
@pytest.mark.parametrize("n_steps", [5, 50])
def test_a_saved_buffer_goes_on_as_if_nothing_had_been(
    tmp_path: Path, priorities: Priorities | None, n_steps: int
) -> None:
    def make() -> SequenceBuffer:
        return build(episodes, priorities=priorities, newest_first=True, n_context=1)

    episodes = RandomEpisodes(N_ENVS, seed=9, frame_stack=2, as_dict=True)
    buffer, other = make(), make()
    run(episodes, n_steps, buffer)
    beta = None if priorities is None else 0.5
    if priorities is not None:
        starts = torch.from_numpy(buffer.table.all_starts())
        buffer.update_priorities(starts, torch.arange(len(starts)) / 3)
    buffer.save(tmp_path / "replay")
    other.load(tmp_path / "replay")
    run(episodes, 9, buffer, other, begins=False)
    one, two = (
        b.sample(32, generator=torch.Generator().manual_seed(3), beta=beta) for b in (buffer, other)
    )
    assert one.index.tolist() == two.index.tolist()
    assert torch.equal(one.observation["picture"], two.observation["picture"])
    assert torch.equal(one.state["memory"], two.state["memory"])
    assert torch.equal(one.is_first, two.is_first)
    assert (one.weight is two.weight) or torch.equal(one.weight, two.weight)
    with pytest.raises(CheckpointError, match="sequence_length 5, and it is 6 now"):
        build(episodes, sequence_length=6).load(tmp_path / "replay")


def test_the_declared_size_is_that_of_the_arrays(tmp_path: Path) -> None:
    episodes = RandomEpisodes(N_ENVS, seed=1, frame_stack=3, as_dict=True)
    buffer = build(episodes, priorities=Priorities())
    stores = (*buffer.frames.values(), buffer.action, buffer.reward, *buffer.state.values())
    tables = 9 * buffer.layout.n_slots  # flags 1, starts 4, positions 4 bytes
    assert buffer.nbytes_declared == (
        sum(store.flat.nbytes for store in stores) + tables + buffer.priorities.tree.nodes.nbytes
    )
    with pytest.raises(ConfigError, match=r"a buffer of 10,000,000,000,000 rows needs .* GiB"):
        build(episodes, capacity=10**13)
