from __future__ import annotations

from collections import Counter

import gymnasium as gym
import torch

from utils.dataloaders import build_update_loader
from utils.distributions import Categorical
from utils.rollouts import RolloutBuffer


def build_buffer(n_steps: int, n_envs: int) -> RolloutBuffer:
    """Build a buffer whose every field says which sample it belongs to."""
    buffer = RolloutBuffer(
        n_steps=n_steps,
        n_envs=n_envs,
        observation_space=gym.spaces.Discrete(1000),
        distribution=Categorical(1000),
    )
    buffer.begin(n_steps)
    number = torch.arange(n_steps * n_envs).reshape(n_steps, n_envs)
    for field in (buffer.observation, buffer.action, buffer.logprob, buffer.value):
        field.copy_(number)
    buffer.finish(advantage=number.float(), returns=number.float(), device=torch.device("cpu"))
    return buffer


def build_loader(buffer: RolloutBuffer, *, batch_size: int, n_passes: int, seed: int = 0):
    return build_update_loader(
        buffer,
        hook="update",
        batch_size=lambda: batch_size,
        n_passes=n_passes,
        generator=torch.Generator().manual_seed(seed),
    )


def test_one_batch_is_one_update_in_which_every_sample_comes_once_a_pass() -> None:
    buffer = build_buffer(4, 3)
    (batch,) = list(build_loader(buffer, batch_size=4, n_passes=5))
    assert batch.hook == "update"
    minibatches = list(batch.minibatches())
    assert len(minibatches) == 15
    for minibatch in minibatches:
        for field in minibatch[:6]:
            assert torch.equal(field.long(), minibatch.action)
            assert field.shape == (4,)
    counts = Counter(n for minibatch in minibatches for n in minibatch.action.tolist())
    assert counts == {n: 5 for n in range(12)}


def test_minibatches_come_in_the_order_of_the_table() -> None:
    buffer = build_buffer(4, 3)
    (batch,) = list(build_loader(buffer, batch_size=6, n_passes=1))
    for row, minibatch in zip(batch.index_table, batch.minibatches(), strict=True):
        assert torch.equal(minibatch.action, buffer.samples.action[row])


def test_every_iteration_is_a_new_order_from_the_given_generator() -> None:
    def tables(seed: int) -> list[torch.Tensor]:
        loader = build_loader(build_buffer(8, 8), batch_size=16, n_passes=1, seed=seed)
        return [batch.index_table for _ in range(2) for batch in loader]

    first, second = tables(0)
    assert not torch.equal(first, second)
    assert all(torch.equal(a, b) for a, b in zip(tables(0), (first, second), strict=True))
    assert not torch.equal(tables(1)[0], first)


def test_iterating_leaves_the_global_generator_alone() -> None:
    loader = build_loader(build_buffer(4, 3), batch_size=4, n_passes=1)
    before = torch.get_rng_state()
    assert len(list(loader)) == len(loader) == 1
    assert torch.equal(torch.get_rng_state(), before)
