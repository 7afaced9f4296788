"""What each process has of a minibatch; a pair of processes stands in for two real ones."""

from types import SimpleNamespace

import gymnasium as gym
import pytest
import torch

from agents.shared_rollouts import SharedRollouts
from agents.shared_update import average_gradients
from utils.dataloaders.index_collate import UpdateBatch
from utils.distributed import Share
from utils.distributions import Categorical
from utils.returns import standardize
from utils.rollouts import RolloutBuffer

T, N = 3, 4
ADVANTAGE = torch.arange(T * N, dtype=torch.float32).view(T, N) ** 2


class Pair:
    """Answers for two processes that have two environments each."""

    size = 2

    def __init__(self, rank):
        self.rank = rank

    def gather(self, value):
        del value
        return [T * 2, T * 2]  # samples of each


def finished_share(rank):
    space = gym.spaces.Box(-1, 1, (1,))
    buffer = RolloutBuffer(
        n_steps=T, n_envs=2, observation_space=space, distribution=Categorical(2)
    )
    buffer.begin(T)
    share = Share.of_rank(N, rank=rank, size=2)
    shared = SharedRollouts(Pair(rank), share)
    own = shared.own(ADVANTAGE).contiguous()
    buffer.finish(advantage=own, returns=own, device=torch.device("cpu"))
    shared.finish(SimpleNamespace(is_valid=torch.ones(T, N, dtype=torch.bool)), ADVANTAGE, buffer)
    return shared, buffer


def test_the_parts_of_a_minibatch_are_the_minibatch_of_one_process():
    flat = ADVANTAGE.T.reshape(-1)  # environment by environment
    table = torch.tensor([[0, 7, 11, 3], [6, 8, 9, 10]])  # the second is of the second rank alone
    seen = []
    for rank in range(2):
        shared, buffer = finished_share(rank)
        parts = list(shared.parts(UpdateBatch("update", table, buffer)))
        assert [part.n_all for part in parts] == [4, 4]
        for part, index in zip(parts, table, strict=True):
            assert torch.equal(part.minibatch.whole_advantage, flat[index])
        seen.append(parts)
    first, second = seen
    assert [part.n_own for part in first] == [2, 0]
    assert [part.n_own for part in second] == [2, 4]
    assert torch.equal(first[0].minibatch.advantage, flat[[0, 3]])
    assert torch.equal(second[0].minibatch.advantage, flat[[7, 11]])
    assert torch.equal(second[1].minibatch.advantage, flat[[6, 8, 9, 10]])
    assert len(first[1].minibatch.advantage) == 1  # it stands for none, and weighs nothing


def test_a_part_is_standardised_as_in_the_whole():
    flat = ADVANTAGE.T.reshape(-1)
    index = torch.tensor([0, 7, 11, 3])
    shared, buffer = finished_share(1)
    (part,) = shared.parts(UpdateBatch("update", index[None], buffer))
    ours = standardize(part.minibatch.advantage, over=part.minibatch.whole_advantage)
    assert torch.equal(ours, standardize(flat[index])[[1, 2]])


def test_gradients_are_weighted_by_samples():
    # Three samples here with mean gradient 2, one there with 6: (3 * 2 + 1 * 6) / 4 = 3.
    class Other:
        def sum_(self, flat):
            flat += 0.25 * 6.0

    parameters = [torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(1, 1))]
    for parameter in parameters:
        parameter.grad = torch.full_like(parameter, 2.0)
    average_gradients(parameters, Other(), weight=0.75)
    for parameter in parameters:
        assert torch.equal(parameter.grad, torch.full_like(parameter, 3.0))


def test_a_parameter_without_a_gradient_counts_as_zero():
    class Other:
        def sum_(self, flat):
            flat += 1.0

    parameter = torch.nn.Parameter(torch.zeros(2))
    average_gradients([parameter], Other(), weight=0.5)
    assert parameter.grad.tolist() == pytest.approx([1.0, 1.0])


def test_averaged_gradients_lie_in_memory_as_their_parameters():
    class Nobody:
        def sum_(self, flat):
            pass

    numbers = torch.arange(24.0).view(1, 6, 2, 2)
    parameter = torch.nn.Parameter(torch.zeros_like(numbers).to(memory_format=torch.channels_last))
    parameter.grad = numbers.to(memory_format=torch.channels_last)
    average_gradients([parameter], Nobody(), weight=0.5)
    assert parameter.grad.stride() == parameter.stride() != numbers.stride()
    assert torch.equal(parameter.grad, 0.5 * numbers)
