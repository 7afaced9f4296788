from __future__ import annotations

import pytest
import torch

from agents import build_agent
from utils.config import load_config


def build(*overrides: str):
    agent = build_agent(
        load_config(
            "Pendulum-v1:sac",
            [
                "buffer_transitions=2000",
                "vectorization=sync",
                "batch_size=32",
                'policy_kwargs={"hidden_dims":[24,16]}',
                *overrides,
            ],
        )
    )
    agent.source.reset(seed=3)
    agent.source.collector.collect(100, is_random=True, write=agent.source._write)
    return agent


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("policy_kwargs.activation=tanh",),
        ("ent_coef=0.2",),
        ("max_grad_norm=0.05", "n_critics=3"),
        ("prioritized_replay=true",),
    ],
)
def test_written_out_updates_are_those_of_the_graph(overrides) -> None:
    written, reference = build(*overrides), build(*overrides)
    assert written.dense is not None
    reference.dense = None
    written.make_updates(8)
    reference.make_updates(8)
    for name in ("policy", "critic", "target", "temperature"):
        ours, theirs = getattr(written, name), getattr(reference, name)
        for key, value in theirs.state_dict().items():
            torch.testing.assert_close(ours.state_dict()[key], value, rtol=2e-4, atol=2e-6)
    (ours, _), (theirs, _) = written.log.flush(), reference.log.flush()
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        assert ours[key] == pytest.approx(value, rel=1e-3, abs=1e-5), key
    written.close()
    reference.close()
