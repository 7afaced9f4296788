"""A whole update of Dreamer by kernels against the same without, of sequences as a buffer gives."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.helpers.fused_steps import fused_steps
from tests.helpers.sequence_agents import fill, make_dreamer
from tests.helpers.triton_device import DEVICE


def update(**changes: object) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, Tensor]]:
    """Return what one update of an agent says, its gradients, and what it remembers."""
    torch.manual_seed(0)
    agent = make_dreamer(
        "Pendulum-v1",
        max_episode_steps=9,
        batch_size=6,
        sequence_length=16,
        imagination_horizon=5,
        seed=3,
        device=DEVICE,
        precision="float32",
        **changes,
    )
    noise = torch.Generator().manual_seed(5)
    with torch.no_grad():  # heads that begin with zeros say nothing of what they read
        for network in (agent.policy, agent.slow_critic):
            for p in network.parameters():
                p += 0.1 * torch.randn(p.shape, generator=noise).to(p.device)
    fill(agent, 60, is_random=False)
    agent.set_rates()
    batch = agent.source.sample()
    # Episodes begin amid sequences, each somewhere else.
    assert len({tuple(row) for row in batch.is_first.tolist()}) > 2
    learned = agent.learn_from_sequences(agent.prepare(batch))
    gradients = {k: p.grad for k, p in agent.policy.named_parameters() if p.grad is not None}
    return learned.metrics, gradients, learned.memory


@pytest.mark.parametrize("changes", [{}, {"actor_gradient": "dynamics"}], ids=["reinforce", "dyn"])
def test_an_update_by_kernels_is_the_one_without(changes: dict) -> None:
    with fused_steps(are_used=True):
        mine = update(**changes)
    with fused_steps(are_used=False):
        theirs = update(**changes)
    for ours, reference in zip(mine, theirs, strict=True):
        assert ours.keys() == reference.keys()
        for key, value in reference.items():
            size = value.abs().max().float().clamp_min(1e-6)
            error = (ours[key].float() - value.float()).abs().max() / size
            assert error < 1e-3, (key, error)
