"""Memories and masks in agents: every combination builds, acts, learns and is restored."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

from agents.base_agent import BaseAgent
from tests.helpers.agents import begin, make_agent, train_epochs
from utils.errors import ConfigError, EnvironmentFailedError

MASKED = "tests.helpers.masked_envs:Masked-v0"
DRAWN = "tests.helpers.space_envs:Drawn-v0"


def memory_of(kind: str, **more: Any) -> dict[str, Any]:
    return {"policy_kwargs": {"hidden_dims": [8], "memory": kind, "memory_dim": 6, **more}}


def first_minibatch(agent: BaseAgent) -> Any:
    begin(agent)
    agent.collect_rollout()
    (batch,) = agent.source.loader
    return next(iter(batch.minibatches()))


def learns(agent: BaseAgent) -> None:
    before = {name: p.detach().clone() for name, p in agent.policy.named_parameters()}
    train_epochs(agent, 1)
    for name, parameter in agent.policy.named_parameters():
        assert parameter.isfinite().all(), name
        assert not parameter.equal(before[name]), name


COMBINATIONS = [
    (sees, acts, kind, algo_id, share)
    for sees, acts, kind, algo_id, share in itertools.product(
        ["box", "discrete", "dict", "picture"],
        ["discrete", "multi_discrete", "multi_binary", "box"],
        ["gru", "lstm"],
        ["ppo", "reinforce"],
        [False, True],
    )
    if share == (kind == "lstm") and (sees != "picture" or acts == "discrete")
]


@pytest.mark.parametrize(("sees", "acts", "kind", "algo_id", "share"), COMBINATIONS)
def test_every_space_with_a_memory(
    sees: str, acts: str, kind: str, algo_id: str, share: bool
) -> None:
    changes: dict[str, Any] = memory_of(kind)
    if algo_id == "reinforce":
        changes |= {"use_baseline": True, "max_episode_steps": 7}
    changes["policy_kwargs"]["share_trunk"] = share
    if sees in ("picture", "dict", "box"):
        changes["normalize_obs"] = "none" if sees == "picture" else "rolling"
    agent = make_agent(DRAWN, algo_id=algo_id, env_kwargs={"sees": sees, "acts": acts}, **changes)
    learns(agent)
    agent.evaluate()
    agent.close()


@pytest.mark.parametrize("acts", ["discrete", "multi_discrete", "multi_binary"])
@pytest.mark.parametrize("kind", ["none", "gru", "lstm"])
@pytest.mark.parametrize("algo_id", ["ppo", "reinforce"])
def test_no_forbidden_action_is_ever_taken(acts: str, kind: str, algo_id: str) -> None:
    agent = make_agent(
        MASKED,
        algo_id=algo_id,
        env_kwargs={"acts": acts, "as_parts": True},
        action_masks=True,
        max_timesteps=10_000,
        **memory_of(kind) if kind != "none" else {},
    )
    train_epochs(agent, 10)
    tracker = agent.source.collector.stepper.tracker
    assert set(tracker.window_lengths) == {10}
    assert min(tracker.window_returns) >= 0
    assert agent.evaluate(n_episodes=20).lengths == [10] * 20
    agent.config = agent.config.model_copy(update={"eval_deterministic": False})
    assert agent.evaluate(n_episodes=20).lengths == [10] * 20
    agent.close()


def test_without_masks_forbidden_actions_end_episodes() -> None:
    agent = make_agent(MASKED)
    assert min(agent.evaluate(n_episodes=20).lengths) < 10
    agent.close()


@pytest.mark.parametrize(
    ("kind", "vectorization"),
    [("none", "sync"), ("gru", "sync"), ("lstm", "sync"), ("gru", "async")],
)
def test_the_first_ratio_is_one(kind: str, vectorization: str) -> None:
    changes = memory_of(kind) | {"sequence_length": 4} if kind != "none" else {}
    agent = make_agent(
        MASKED, vectorization=vectorization, action_masks=True, normalize_obs="rolling", **changes
    )
    minibatch = first_minibatch(agent)
    assert (minibatch.sequences is not None) == (kind != "none")
    with torch.no_grad():
        new = agent.policy.evaluate_actions(
            minibatch.observation,
            minibatch.action,
            mask=minibatch.mask,
            sequences=minibatch.sequences,
        )
    torch.testing.assert_close(new.logprob, minibatch.old_logprob)
    torch.testing.assert_close(new.value, minibatch.old_value)
    agent.close()


def unroll_naively(policy: Any, minibatch: Any) -> tuple[Tensor, Tensor | None]:
    """Each sequence for itself, one step after the other, with a state of its own."""
    sequences = minibatch.sequences
    length, n_sequences = sequences.is_start.shape
    logprob: dict[int, Tensor] = {}
    value: dict[int, Tensor] = {}
    states = {s: sequences.state[s : s + 1] for s in range(n_sequences)}
    n = len(minibatch.returns)
    for i, cell in sorted(enumerate(sequences.cell_of_row.tolist()), key=lambda pair: pair[1]):
        t, s = divmod(cell, n_sequences)
        assert t < length
        state = torch.zeros_like(states[s]) if sequences.is_start[t, s] else states[s]
        streams = policy.trunk.streams(policy.encoder(minibatch.observation[i : i + 1]))
        outputs, states[s] = policy.memory.step(streams, state)
        parameters = (policy.actor_head(outputs[0]),)
        logprob[i] = policy.distribution.logprob(parameters, minibatch.action[i : i + 1])
        if policy.critic_head is not None:
            value[i] = policy.critic_head(outputs[-1])[0]
    ordered = torch.cat([logprob[i] for i in range(n)])
    return ordered, torch.cat([value[i] for i in range(n)]) if value else None


@pytest.mark.parametrize("kind", ["gru", "lstm"])
@pytest.mark.parametrize("algo_id", ["ppo", "reinforce"])
def test_gradients_are_those_of_a_naive_unroll(kind: str, algo_id: str) -> None:
    changes = {"normalize_advantages": "none", "batch_size": 16} if algo_id == "ppo" else {}
    agent = make_agent(
        DRAWN,
        algo_id=algo_id,
        **memory_of(kind),
        **changes,
        **({"max_episode_steps": 7, "episodes_per_env": 2} if algo_id == "reinforce" else {}),
    )
    minibatch = first_minibatch(agent)
    agent.write_gradients(minibatch)
    quick = [p.grad.clone() for p in agent.gradient_groups.parameters]
    logprob, value = unroll_naively(agent.policy, minibatch)
    for parameter in agent.gradient_groups.parameters:
        parameter.grad = None
    if algo_id == "ppo":
        # at the first step every ratio is 1: the surrogate's gradient is that of ratio * advantage
        ratio = (logprob - minibatch.old_logprob).exp()
        error = (value - minibatch.returns).square().mean()
        loss = -(ratio * minibatch.advantage).mean() + 0.5 * error
    else:
        target = minibatch.advantage
        target = (target - target.mean()) / (target.std() + 1e-8)
        loss = -(logprob * target).mean()
    loss.backward()
    for name_and_parameter, expected in zip(agent.policy.named_parameters(), quick, strict=True):
        name, parameter = name_and_parameter
        torch.testing.assert_close(parameter.grad, expected, rtol=1e-3, atol=1e-6, msg=name)
    agent.close()


@pytest.mark.parametrize(
    ("algo_id", "kind", "vectorization"),
    [
        ("ppo", "gru", "sync"),
        ("ppo", "lstm", "sync"),
        ("reinforce", "gru", "sync"),
        ("ppo", "gru", "async"),
    ],
)
def test_training_goes_on_bit_for_bit(algo_id: str, kind: str, vectorization: str) -> None:
    def build() -> BaseAgent:
        return make_agent(
            MASKED,
            algo_id=algo_id,
            action_masks=True,
            normalize_obs="rolling",
            vectorization=vectorization,
            **memory_of(kind),
        )

    straight = build()
    train_epochs(straight, 4)
    first = build()
    train_epochs(first, 2)  # 16 steps: in the middle of an episode of 10
    state = first.checkpoint_state()
    first.close()
    second = build()
    assert second.load_checkpoint_state(state) == 0
    train_epochs(second, 2)
    for ours, theirs in zip(
        second.policy.state_dict().values(), straight.policy.state_dict().values(), strict=True
    ):
        assert ours.equal(theirs)
    if vectorization == "sync":
        assert second.evaluate().returns == straight.evaluate().returns
    second.close()
    straight.close()


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_an_evaluation_leaves_the_memory_of_training_alone(kind: str) -> None:
    rows = []
    for is_evaluated in (False, True):
        agent = make_agent("Counting", **memory_of(kind))
        train_epochs(agent, 1)
        if is_evaluated:
            agent.evaluate()
        rows.append([*train_epochs(agent, 1), agent.source.collector.stepper.state.tolist()])
        agent.close()
    keys = ("train/loss/total", "train/policy/entropy")
    assert [rows[0][0][key] for key in keys] == [rows[1][0][key] for key in keys]
    assert rows[0][1] == rows[1][1]


def test_masks_that_are_not_there_are_named() -> None:
    agent = make_agent("CartPole-v1", action_masks=True)
    with pytest.raises(ConfigError, match=r"CartPole-v1 gives no info\['action_mask'\]") as error:
        begin(agent)
    assert "\n" not in str(error.value)
    agent.close()


def test_continuous_actions_cannot_be_masked() -> None:
    with pytest.raises(ConfigError, match="'action_masks' has no effect on the action space Box"):
        make_agent("Pendulum-v1", action_masks=True)


def test_arrays_have_no_masks() -> None:
    with pytest.raises(ConfigError, match="it takes no action_masks"):
        make_agent("CartPole-v1", action_masks=True, vectorization="simd")


@pytest.mark.parametrize("vectorization", ["sync", "async"])
def test_a_state_that_allows_nothing_is_named(vectorization: str) -> None:
    agent = make_agent(
        "tests.helpers.masked_envs:Blocked-v0", action_masks=True, vectorization=vectorization
    )
    with pytest.raises(EnvironmentFailedError, match=r"Blocked-v0 allows no action.*step 3"):
        train_epochs(agent, 1)
    agent.close()


def test_fast_paths_say_why_they_stand_back() -> None:
    memory = make_agent("CartPole-v1", vectorization="simd", **memory_of("gru"))
    assert memory.path.count("the policy has a memory") == 2
    masks = make_agent("Taxi-v4", action_masks=True)
    assert "actions are masked" in masks.path
    on_device = make_agent("CartPole-v1", vectorization="torch", **memory_of("gru"))
    assert "the policy has a memory" in on_device.path
    train_epochs(on_device, 2)
    on_device.evaluate()
    for agent in (memory, masks, on_device):
        agent.close()
