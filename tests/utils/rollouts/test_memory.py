"""What a policy with a memory stores and values, held to a loop over single environments."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import tests.helpers.space_envs  # noqa: F401 - registers Drawn-v0
from agents.rollout_setup import build_rollout_buffer
from tests.helpers.policies import build_linear_policy
from utils.environment import build_env
from utils.policy_factory import ActorCritic
from utils.rollouts import Collector, RolloutBuffer

N_ENVS, N_STEPS = 2, 16
CPU = torch.device("cpu")


class Recorded:
    """A vector environment that keeps the final observations it gave."""

    def __init__(self, env: Any) -> None:
        self._env = env
        self.finals: list[Tensor | None] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def step(self, action: Any) -> Any:
        result = self._env.step(action)
        final = result[-1].get("final_obs")
        self.finals.append(None if final is None else torch.from_numpy(final.copy()))
        return result


def build(kind: str, **settings: Any) -> tuple[Collector, Recorded, RolloutBuffer]:
    env = Recorded(build_env("Drawn-v0", n_envs=N_ENVS, vectorization="sync"))
    policy = build_linear_policy(env, memory=kind, memory_dim=5, **settings)
    for parameter in policy.parameters():  # no value may hide behind small numbers
        torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(parameter.numel()))
    generator = torch.Generator().manual_seed(3)
    collector = Collector(env, policy, device=CPU, generator=generator)
    collector.reset(seed=0)
    buffer = build_rollout_buffer(env, policy, n_steps=N_STEPS, sequence_length=8)
    return collector, env, buffer


def replay(
    policy: ActorCritic, buffer: RolloutBuffer, finals: list[Tensor | None], state: Tensor
) -> tuple[dict[str, Tensor], Tensor]:
    """Go through a stored rollout one environment and one step at a time."""
    found = {name: torch.zeros(N_STEPS, N_ENVS) for name in ("logprob", "value", "next_value")}
    states = []
    for i in range(N_ENVS):
        own = state[i : i + 1]
        for t in range(N_STEPS):
            observation, action = buffer.observation[t, i][None], buffer.action[t, i][None]
            if t > 0:
                before = policy.predict_value(observation, state=own)
                if not buffer.truncated[t - 1, i]:
                    found["next_value"][t - 1, i] = before
            parameters, value, own = look(policy, observation, own)
            found["value"][t, i] = value
            found["logprob"][t, i] = policy.distribution.logprob(parameters, action)
            if buffer.truncated[t, i]:
                final = finals[t][i][None]
                found["next_value"][t, i] = policy.predict_value(final, state=own)
                own = torch.zeros_like(own)
        states.append(own)
    return found, torch.cat(states)


def look(policy: ActorCritic, observation: Tensor, state: Tensor) -> tuple[Any, Tensor, Tensor]:
    streams = policy.trunk.streams(policy.encoder(observation))
    outputs, state = policy.memory.step(streams, state)
    parameters = (policy.actor_head(outputs[0]),)
    return parameters, policy.critic_head(outputs[-1]).squeeze(-1), state


@pytest.mark.parametrize("kind", ["gru", "lstm"])
@pytest.mark.parametrize("share_trunk", [False, True])
@torch.no_grad()
def test_rollouts_hold_what_single_environments_would(kind: str, share_trunk: bool) -> None:
    collector, env, buffer = build(kind, share_trunk=share_trunk)
    state = collector.policy.initial_state(N_ENVS)
    for _ in range(3):  # episodes of 7 steps run over the ends of rollouts of 16
        env.finals.clear()
        collector.collect(buffer, n_steps=N_STEPS)
        found, state = replay(collector.policy, buffer, env.finals, state)
        torch.testing.assert_close(buffer.logprob, found["logprob"])
        torch.testing.assert_close(buffer.value, found["value"])
        last = collector.policy.predict_value(collector.stepper.observation, state=state)
        is_cut = buffer.truncated[-1]
        found["next_value"][-1][~is_cut] = last[~is_cut]
        torch.testing.assert_close(buffer.next_value, found["next_value"])
        # Valuing the running episodes has not made anybody remember more.
        torch.testing.assert_close(collector.stepper.state, state)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
@torch.no_grad()
def test_sequences_give_what_was_said_while_acting(kind: str) -> None:
    collector, _, buffer = build(kind)
    for _ in range(2):
        collector.collect(buffer, n_steps=N_STEPS)
    zeros = torch.zeros(N_STEPS, N_ENVS)
    buffer.finish(advantage=zeros, returns=zeros, device=CPU)
    assert buffer.n_units == 4
    for picked in (buffer.samples, buffer.gather(torch.tensor([2, 1]))):
        new = collector.policy.evaluate_actions(
            picked.observation, picked.action, sequences=picked.sequences
        )
        torch.testing.assert_close(new.logprob, picked.old_logprob)
        torch.testing.assert_close(new.value, picked.old_value)


@torch.no_grad()
def test_a_memory_changes_what_is_said() -> None:
    collector, _, buffer = build("gru")
    collector.collect(buffer, n_steps=N_STEPS)
    fresh = collector.policy.act(
        buffer.observation[3], state=collector.policy.initial_state(N_ENVS), deterministic=True
    )
    assert (fresh.value - buffer.value[3]).abs().min() > 1e-3


def test_a_restored_collector_remembers() -> None:
    collector, env, buffer = build("lstm")
    collector.collect(buffer, n_steps=10)
    state = collector.state_dict()
    assert state["memory"].abs().min() > 0
    collector.collect(buffer, n_steps=8)
    expected = buffer.value[:8].clone(), buffer.action[:8].clone()
    other, _, again = build("lstm")
    assert other.load_state_dict(state) == 0
    other.collect(again, n_steps=8)
    assert torch.equal(again.value[:8], expected[0])
    assert torch.equal(again.action[:8], expected[1])
    env.close()


def test_whole_episodes_begin_with_nothing_remembered() -> None:
    collector, env, _ = build("gru")
    buffer = build_rollout_buffer(env, collector.policy, n_steps=14)
    collector.collect_episodes(buffer, n_episodes=2)
    zeros = torch.zeros(14, N_ENVS)
    buffer.finish(advantage=zeros, returns=zeros, device=CPU)
    assert buffer.n_units == 4
    samples = buffer.samples
    with torch.no_grad():
        new = collector.policy.evaluate_actions(
            samples.observation, samples.action, sequences=samples.sequences
        )
    torch.testing.assert_close(new.logprob, samples.old_logprob)
