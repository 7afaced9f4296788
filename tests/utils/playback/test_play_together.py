"""Episodes side by side are the ones that each would be alone."""

import gymnasium as gym
import pytest
import torch

from tests.helpers.played_runs import make_config
from tests.helpers.policies import build_linear_policy
from utils.environment.families import table
from utils.environment.families.family import Family
from utils.playback.environment import build_playback_env
from utils.playback.episodes import EpisodePlayer, play_episode, play_together
from utils.policies.random_policy import RandomPolicy

MASKED = "tests.helpers.masked_envs:Masked-v0"


def end_of(states):
    *_, last = states
    return [state.episode for state in last]


def play_both(config, policy, *, n=3, **options):
    together = build_playback_env(config, render_mode=None, n_envs=n)
    alone = build_playback_env(config, render_mode=None)
    try:
        side_by_side = end_of(play_together(together, policy, seed=5, **options))
        one_by_one = [
            end_of([state] for state in play_episode(alone, policy, seed=5 + k, **options))[0]
            for k in range(n)
        ]
    finally:
        together.close()
        alone.close()
    return side_by_side, one_by_one


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize(
    ("env_id", "changes", "policy"),
    [
        ("CartPole-v1", {"normalize_obs": "rolling"}, {"hidden_dims": (64,)}),
        ("Pendulum-v1", {}, {"hidden_dims": (64, 64)}),
        ("Pendulum-v1", {}, {"hidden_dims": (64,), "memory": "gru", "memory_dim": 16}),
        (MASKED, {"action_masks": True}, {"memory": "lstm", "memory_dim": 16}),
        (MASKED, {"action_masks": True, "env_kwargs": {"acts": "multi_discrete"}}, {}),
        (MASKED, {"action_masks": True, "env_kwargs": {"acts": "multi_binary"}}, {}),
    ],
)
def test_the_same_seeds_give_the_same_episodes(env_id, changes, policy, deterministic):
    config = make_config(env_id=env_id, **changes)
    env = build_playback_env(config, render_mode=None)
    has_masks, normalizes = config.action_masks, config.normalize_obs
    policy = build_linear_policy(
        env, action_masks=has_masks, normalize_obs=normalizes, **({"memory": "none"} | policy)
    )
    if normalizes == "rolling":
        policy.normalizer.update(torch.rand(50, *env.single_observation_space.shape))
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(3.0)  # a freshly made policy chooses nearly by chance
    env.close()
    side_by_side, one_by_one = play_both(config, policy, deterministic=deterministic)
    assert side_by_side == one_by_one
    assert [episode.seed for episode in side_by_side] == [5, 6, 7]


def test_policies_that_draw_although_they_are_greedy_play_the_same_too():
    config = make_config(env_id="CartPole-v1")
    policy = RandomPolicy(gym.spaces.Discrete(2), action_masks=False)
    side_by_side, one_by_one = play_both(config, policy, deterministic=True)
    assert side_by_side == one_by_one
    assert len({episode.length for episode in side_by_side}) > 1


def test_who_has_ended_stays_at_the_last_state_while_others_go_on():
    config = make_config(env_id="CartPole-v1")
    env = build_playback_env(config, render_mode="rgb_array", n_envs=3)
    policy = build_linear_policy(env)
    history = [list(states) for states in play_together(env, policy, seed=0, deterministic=False)]
    env.close()
    lengths = [state.episode.length for state in history[-1]]
    assert len(set(lengths)) > 1
    assert len(history) == max(lengths) + 1
    first = lengths.index(min(lengths))
    ended = [states[first] for states in history[min(lengths) :]]
    assert all(state is ended[0] for state in ended)
    # Its picture is the final one: the environment itself has begun anew.
    assert (ended[0].frame != history[0][first].frame).any()
    assert [states[first].n_steps for states in history[: min(lengths) + 1]] == list(
        range(min(lengths) + 1)
    )


def test_greedy_choices_are_one_call_of_the_policy_for_all(monkeypatch):
    def count_calls(config, *, deterministic):
        env = build_playback_env(config, render_mode=None, n_envs=4)
        policy = build_linear_policy(env)
        calls, act = [], policy.act
        monkeypatch.setattr(
            policy, "act", lambda observation, **rest: calls.append(1) or act(observation, **rest)
        )
        states = play_together(env, policy, seed=0, deterministic=deterministic, max_steps=1)
        assert [episode.end for episode in end_of(states)] == ["cut"] * 4
        env.close()
        return len(calls)

    assert count_calls(make_config(), deterministic=True) == 1
    assert count_calls(make_config(), deterministic=False) == 4
    assert count_calls(make_config(env_id="Pendulum-v1"), deterministic=True) == 4


def test_the_step_limit_cuts_each_by_itself():
    config = make_config(env_kwargs={"length": 3})
    env = build_playback_env(config, render_mode=None, n_envs=2)
    policy = build_linear_policy(env)
    episodes = end_of(play_together(env, policy, seed=0, deterministic=True, max_steps=3))
    assert [(episode.end, episode.length) for episode in episodes] == [("terminated", 3)] * 2
    env.close()


def test_environments_that_cannot_share_a_process_are_drawn_in_their_own(monkeypatch):
    emulators = Family(name="Mock", prefixes=("Drawing-",), one_per_process=True)
    monkeypatch.setattr(table, "FAMILIES", (*table.FAMILIES, emulators))
    env = build_playback_env(make_config(), render_mode="rgb_array", n_envs=2)
    policy = build_linear_policy(env)
    history = [list(states) for states in play_together(env, policy, seed=0, deterministic=True)]
    assert len(env.worker_pids) == 2
    env.close()
    # Green is 20 times the step, red 40 times the episode: the last state is of the first episode.
    for k in range(2):
        colours = [states[k].frame[0, 0, :2].tolist() for states in history]
        assert colours == [[0, 20 * step] for step in range(6)]


def test_memory_takes_in_what_it_sees_whoever_acts():
    env = build_playback_env(make_config(env_id=MASKED), render_mode=None)
    policy = build_linear_policy(env, memory="gru", memory_dim=8)
    player = EpisodePlayer(env, policy, seed=0, deterministic=True)
    before = player.stepper.state
    thoughts = player.explain()
    assert torch.equal(player.stepper.state, before)
    player.decide()
    player.step(torch.zeros(1, dtype=torch.int64))
    assert not torch.equal(player.stepper.state, before)
    assert thoughts["action_probabilities"].shape[0] == 1
    env.close()
