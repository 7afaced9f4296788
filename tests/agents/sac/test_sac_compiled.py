"""Compiled updates against those of torch."""

from __future__ import annotations

import pytest
import torch

from agents import build_agent
from agents.sac import sac_compiled
from utils.config import load_config

PARTS = ("policy", "critic", "target", "temperature")


def build(*overrides: str, compiled: bool = True):
    with pytest.MonkeyPatch.context() as patch:
        if not compiled:
            patch.setattr(sac_compiled, "why_not_compiled", lambda *_: "it is the reference")
        agent = build_agent(
            load_config(
                "Pendulum-v1:sac",
                [
                    "buffer_transitions=2000",
                    "vectorization=sync",
                    "batch_size=70",
                    'policy_kwargs={"hidden_dims":[24,70]}',
                    *overrides,
                ],
            )
        )
    assert (agent.compiled is not None) == compiled
    agent.source.reset(seed=3)
    agent.source.collector.collect(150, is_random=True, write=agent.source._write)
    return agent


def assert_alike(agents) -> None:
    ours, theirs = agents
    for name in PARTS:
        wanted = getattr(theirs, name).state_dict()
        for key, value in getattr(ours, name).state_dict().items():
            torch.testing.assert_close(value, wanted[key], rtol=2e-4, atol=4e-6)
    for name, optimizer in theirs.optimizers.items():
        wanted = optimizer.state_dict()["state"]
        for k, state in ours.optimizers[name].state_dict()["state"].items():
            assert float(state["step"]) == float(wanted[k]["step"])
            torch.testing.assert_close(state["exp_avg"], wanted[k]["exp_avg"], rtol=1e-2, atol=1e-5)


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("policy_kwargs.activation=tanh",),
        ("ent_coef=0.2", "optimizer=AdamW", "optimizer_kwargs={weight_decay: 0.1}"),
        ("max_grad_norm=0.05", "n_critics=3"),
        ("prioritized_replay=true", "n_step=3"),
        ("policy_kwargs.hidden_dims=[]",),
        ("normalize_obs=rolling",),
    ],
    ids=str,
)
def test_updates_leave_what_torch_would_have_left(overrides) -> None:
    agents = build(*overrides), build(*overrides, compiled=False)
    for agent in agents:
        agent.make_updates(8)
    assert_alike(agents)
    (ours, _), (theirs, _) = (agent.log.flush() for agent in agents)
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        assert ours[key] == pytest.approx(value, rel=1e-3, abs=1e-5), key
    for agent in agents:
        agent.close()


def test_an_update_can_be_made_one_way_and_the_next_one_the_other() -> None:
    agents = build(), build(compiled=False)
    mixed, reference = agents
    for make in (mixed.make_updates, mixed.make_updates_one_by_one, mixed.make_updates):
        make(2)
    reference.make_updates(6)
    assert_alike(agents)


def test_the_warm_up_leaves_no_trace() -> None:
    warm, cold = build(), build()
    warm.warm_up()
    for agent in (warm, cold):
        agent.make_updates(3)
    for name in PARTS:
        wanted = getattr(cold, name).state_dict()
        for key, value in getattr(warm, name).state_dict().items():
            assert torch.equal(value, wanted[key]), key


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        (("policy_kwargs.activation=gelu",), "the activation is gelu"),
        (("policy_kwargs.critic_layer_norm=true",), "critic_layer_norm is set"),
        (("optimizer=RMSprop",), "the optimiser is RMSprop"),
        (("optimizer_kwargs={amsgrad: true}",), "option"),
        (("optimizer_kwargs={eps: 0.0}",), "eps is 0"),
    ],
)
def test_what_the_compiled_functions_do_not_know_is_left_to_torch(overrides, reason) -> None:
    settings = ["buffer_transitions=2000", "vectorization=sync", *overrides]
    agent = build_agent(load_config("Pendulum-v1:sac", settings))
    assert agent.compiled is None
    assert reason in agent.path
    agent.close()
