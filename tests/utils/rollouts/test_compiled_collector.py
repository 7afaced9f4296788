"""The compiled collector stores what the ordinary one would have stored for the same actions."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from gym_envs.simd import SimdVectorEnv
from utils.errors import EnvironmentFailedError
from utils.policy_factory import PolicySettings, build_policy
from utils.rollouts import Collector, EpisodeTracker, RolloutBuffer
from utils.rollouts.compiled_collector import CompiledCollector, why_not_collected
from utils.spaces import ActionAdapter

CPU = torch.device("cpu")
SETTINGS = {
    "hidden_dims": (20, 36),
    "activation": "tanh",
    "orthogonal_init": True,
    "share_trunk": False,
    "log_std_init": 0.2,
    "feature_dim": 8,
    "normalize_obs": "none",
    "clip_obs": 10.0,
    "has_critic": True,
}


def make_parts(env_id, *, n_envs=5, n_steps=40, max_episode_steps=None, seed=3, **settings):
    env = SimdVectorEnv(env_id, n_envs, max_episode_steps=max_episode_steps)
    torch.manual_seed(0)
    policy = build_policy(
        env.single_observation_space,
        env.single_action_space,
        PolicySettings(**(SETTINGS | settings)),
    )
    with torch.no_grad():  # actions that depend on what is seen
        for parameter in policy.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    buffer = RolloutBuffer(
        n_steps=n_steps,
        n_envs=n_envs,
        observation_space=env.single_observation_space,
        distribution=policy.distribution,
    )
    collector = CompiledCollector(env, policy, device=CPU, generator=torch.Generator(), seed=seed)
    collector.reset(seed=11)
    return SimpleNamespace(env=env, policy=policy, buffer=buffer, collector=collector)


def copy_of(buffer):
    names = ("observation", "action", "logprob", "value", "next_value", "reward")
    return {name: getattr(buffer, name).clone() for name in (*names, "terminated", "truncated")}


def assert_same_rows(a, b):
    for name, tensor in a.items():
        assert torch.equal(tensor, b[name]), name


@pytest.mark.parametrize(
    ("env_id", "limit", "n_envs", "normalize_obs"),
    [
        ("CartPole-v1", 17, 5, "none"),
        ("CartPole-v1", None, 70, "none"),
        ("Pendulum-v1", 13, 3, "static"),
        ("MountainCarContinuous-v0", 9, 130, "static"),
        ("Acrobot-v1", 30, 2, "none"),
    ],
)
@torch.no_grad()
def test_rollouts_are_those_of_plain_steps_with_the_same_actions(
    env_id, limit, n_envs, normalize_obs
):
    parts = make_parts(env_id, n_envs=n_envs, max_episode_steps=limit, normalize_obs=normalize_obs)
    policy, buffer = parts.policy, parts.buffer
    env = SimdVectorEnv(env_id, n_envs, max_episode_steps=limit)
    adapter, tracker = ActionAdapter(env.single_action_space), EpisodeTracker(n_envs)
    observation, _ = env.reset(seed=11)
    for _ in range(2):  # episodes run over from one rollout into the next
        summary = parts.collector.collect(buffer, n_steps=40)
        returns: list[float] = []
        next_value = torch.empty_like(buffer.value)
        for t in range(40):
            seen = policy.normalize(torch.from_numpy(observation))
            assert torch.equal(buffer.observation[t], seen)
            expected = policy.evaluate_actions(seen, buffer.action[t])
            torch.testing.assert_close(buffer.logprob[t], expected.logprob, rtol=1e-5, atol=2e-6)
            torch.testing.assert_close(buffer.value[t], expected.value, rtol=1e-5, atol=2e-6)
            action = adapter.to_env(buffer.action[t].numpy())
            observation, reward, terminated, truncated, infos = env.step(action)
            assert np.array_equal(buffer.reward[t], reward)
            assert np.array_equal(buffer.terminated[t], terminated)
            assert np.array_equal(buffer.truncated[t], truncated)
            following = policy.normalize(torch.from_numpy(observation))
            next_value[t] = policy.predict_value(following)
            if truncated.any():
                finals = torch.from_numpy(np.ascontiguousarray(infos["final_obs"]))
                values = policy.predict_value(policy.normalize(finals))
                next_value[t] = torch.where(torch.from_numpy(truncated), values, next_value[t])
            finished = tracker.update(reward, terminated | truncated)
            returns += [] if finished is None else finished.returns.tolist()
        torch.testing.assert_close(buffer.next_value, next_value, rtol=1e-5, atol=2e-6)
        assert summary.last_returns == returns
        assert summary.episode_returns == list(tracker.window_returns)
        assert summary.episode_lengths == list(tracker.window_lengths)
        assert (summary.n_episodes, summary.n_vec_steps) == (len(returns), 40)
        assert summary.n_timesteps == 40 * n_envs
    assert buffer.is_valid.all()
    assert buffer.truncated.any() == (limit is not None), "the case that matters did not occur"


def test_a_rollout_does_not_depend_on_how_it_is_cut():
    whole, pieces = make_parts("CartPole-v1"), make_parts("CartPole-v1")
    whole.collector.collect(whole.buffer, n_steps=40)
    pieces.collector.collect(pieces.buffer, n_steps=15)
    first = {name: rows[:15] for name, rows in copy_of(pieces.buffer).items()}
    pieces.collector.collect(pieces.buffer, n_steps=25)
    second = {name: rows[:25] for name, rows in copy_of(pieces.buffer).items()}
    assert_same_rows(
        copy_of(whole.buffer), {name: torch.cat([first[name], second[name]]) for name in first}
    )


def test_a_restored_collector_goes_on_bit_for_bit():
    parts, other = make_parts("Pendulum-v1", seed=3), make_parts("Pendulum-v1", seed=99)
    parts.collector.collect(parts.buffer, n_steps=30)
    state = parts.collector.state_dict()
    expected = parts.collector.collect(parts.buffer, n_steps=40)
    other.collector.collect(other.buffer, n_steps=7)
    assert other.collector.load_state_dict(state) == 0
    assert other.collector.collect(other.buffer, n_steps=40) == expected
    assert_same_rows(copy_of(parts.buffer), copy_of(other.buffer))


def test_either_collector_goes_on_from_the_other_s_state():
    parts, other = make_parts("CartPole-v1"), make_parts("CartPole-v1")
    generator = torch.Generator()
    plain = Collector(other.env, other.policy, device=CPU, generator=generator)
    parts.collector.collect(parts.buffer, n_steps=30)
    assert plain.load_state_dict(parts.collector.state_dict()) == 0
    plain.collect(other.buffer, n_steps=4)
    parts.collector.collect(parts.buffer, n_steps=1)
    assert torch.equal(parts.buffer.observation[0], other.buffer.observation[0])
    assert parts.collector.load_state_dict(plain.state_dict()) == 0
    parts.collector.collect(parts.buffer, n_steps=1)
    assert parts.collector.stepper.n_vec_steps == 35
    assert plain.stepper.tracker.state_dict() != parts.collector.stepper.tracker.state_dict()


def test_whole_episodes_are_collected_too_and_rollouts_go_on_after_them():
    parts = make_parts("CartPole-v1", n_steps=500)
    summary = parts.collector.collect_episodes(parts.buffer, n_episodes=2)
    assert summary.n_episodes == 10
    summary = parts.collector.collect(parts.buffer, n_steps=100)
    lengths = np.diff(np.flatnonzero(parts.buffer.done[:100, 0].numpy()))
    assert summary.n_episodes == int(parts.buffer.done[:100].sum())
    assert set(lengths.tolist()) <= set(summary.episode_lengths)


def test_seeds_decide_the_actions():
    rollouts = []
    for seed in (3, 3, 4):
        parts = make_parts("CartPole-v1", seed=seed)
        parts.collector.collect(parts.buffer, n_steps=40)
        rollouts.append(parts.buffer.action.clone())
    assert torch.equal(rollouts[0], rollouts[1])
    assert not torch.equal(rollouts[0], rollouts[2])


def _give_fixed_outputs(policy, outputs):
    head = getattr(policy.actor_head, "mean", policy.actor_head)
    with torch.no_grad():
        head.weight.zero_()
        head.bias.copy_(torch.tensor(outputs))


def test_choices_are_drawn_in_proportion():
    """Pearson's statistic of 40,000 draws against the policy's own probabilities."""
    parts = make_parts("Acrobot-v1", n_envs=1000)
    _give_fixed_outputs(parts.policy, [0.0, 1.0, -2.0])
    parts.collector.collect(parts.buffer, n_steps=40)
    counts = np.bincount(parts.buffer.action.view(-1).numpy(), minlength=3)
    expected = 40_000 * torch.tensor([0.0, 1.0, -2.0]).softmax(0).numpy()
    statistic = float(((counts - expected) ** 2 / expected).sum())
    assert statistic < 13.8, counts  # 99.9 % of a chi-square with 2 degrees of freedom
    # Neighbours in time and among environments are independent of each other.
    drawn = parts.buffer.action.to(torch.float64)
    drawn = drawn - drawn.mean()
    for a, b in ((drawn[1:], drawn[:-1]), (drawn[:, 1:], drawn[:, :-1])):
        assert abs(float((a * b).mean() / drawn.square().mean())) < 0.02


def test_real_actions_are_drawn_from_the_normal_distribution():
    """Kolmogorov's statistic of 40,000 draws; the stored action is not clipped."""
    parts = make_parts("Pendulum-v1", n_envs=1000)
    _give_fixed_outputs(parts.policy, [1.5])
    with torch.no_grad():
        parts.policy.actor_head.log_std.fill_(math.log(0.8))
    parts.collector.collect(parts.buffer, n_steps=40)
    z = ((parts.buffer.action.view(-1) - 1.5) / 0.8).sort().values.to(torch.float64)
    cumulative = 0.5 * (1.0 + torch.erf(z / math.sqrt(2.0)))
    steps = torch.arange(1, len(z) + 1, dtype=torch.float64) / len(z)
    distance = float((cumulative - steps).abs().max())
    assert distance < 1.95 / math.sqrt(len(z))  # 99.9 %
    assert float(parts.buffer.action.max()) > 2.0, "nothing beyond the bound was drawn"


def test_numbers_that_are_not_finite_name_the_environment():
    parts = make_parts("Pendulum-v1")
    parts.collector.collect(parts.buffer, n_steps=3)
    parts.env.arrays.state[0, 2] = np.nan
    with pytest.raises(EnvironmentFailedError, match=r"environment 2 .* vector step 4"):
        parts.collector.collect(parts.buffer, n_steps=3)


def test_what_it_does_not_know_it_says():
    parts = make_parts("CartPole-v1")
    assert why_not_collected(parts.env, parts.policy, normalizes_reward=False) is None
    assert "rewards" in why_not_collected(parts.env, parts.policy, normalizes_reward=True)
    rolling = make_parts_policy(parts.env, normalize_obs="rolling")
    assert "moments" in why_not_collected(parts.env, rolling, normalizes_reward=False)
    shared = make_parts_policy(parts.env, share_trunk=True)
    assert "share" in why_not_collected(parts.env, shared, normalizes_reward=False)
    other = SimpleNamespace(vectorization_name="sync")
    assert "simd" in why_not_collected(other, parts.policy, normalizes_reward=False)


def make_parts_policy(env, **settings):
    return build_policy(
        env.single_observation_space,
        env.single_action_space,
        PolicySettings(**(SETTINGS | settings)),
    )
