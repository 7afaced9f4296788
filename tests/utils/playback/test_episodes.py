import numpy as np
import pytest
import torch

from tests.helpers.played_runs import make_config
from tests.helpers.policies import build_linear_policy
from utils.playback.environment import build_playback_env
from utils.playback.episodes import play_episode


@pytest.fixture
def play():
    """Play one episode of a config, return its steps."""
    envs = []

    def play(config, *, seed=3, deterministic=True, max_steps=None, render=None, bias=None):
        env = build_playback_env(config, render_mode=render)
        envs.append(env)
        policy = build_linear_policy(env)
        if bias is not None:
            with torch.no_grad():
                policy.actor_head.weight.zero_()
                policy.actor_head.bias.copy_(torch.tensor(bias))
        return list(
            play_episode(env, policy, seed=seed, deterministic=deterministic, max_steps=max_steps)
        )

    yield play
    for env in envs:
        env.close()


@pytest.mark.parametrize("ending", ["terminated", "truncated"])
def test_an_episode_of_five_steps_has_six_frames_all_of_its_own(play, ending):
    steps = play(make_config(env_kwargs={"ending": ending}), render="rgb_array")
    frames = [step.frame for step in steps]
    assert [frame.shape for frame in frames] == [(35, 47, 3)] * 6
    # Green is 20 times the step, red 40 times the episode of this instance: the first is 0.
    assert [int(frame[0, 0, 1]) for frame in frames] == [0, 20, 40, 60, 80, 100]
    assert [int(frame[0, 0, 0]) for frame in frames] == [0] * 6
    assert all((frame == frame[0, 0]).all() for frame in frames)
    assert [step.n_steps for step in steps] == [0, 1, 2, 3, 4, 5]
    assert [step.episode_return for step in steps] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert [step.episode is None for step in steps] == [True] * 5 + [False]
    episode = steps[-1].episode
    assert (episode.seed, episode.episode_return, episode.length) == (3, 5.0, 5)
    assert episode.end == ending


def test_the_next_episode_of_the_same_environment_shows_nothing_of_the_first():
    config = make_config()
    env = build_playback_env(config, render_mode="rgb_array")
    policy = build_linear_policy(env)
    for _ in range(2):
        steps = list(play_episode(env, policy, seed=0, deterministic=True))
        assert len({int(step.frame[0, 0, 0]) for step in steps}) == 1
        assert [int(step.frame[0, 0, 1]) for step in steps] == [0, 20, 40, 60, 80, 100]
    env.close()


def test_without_frames_nothing_is_drawn(play):
    assert all(step.frame is None for step in play(make_config()))


def test_the_step_limit_cuts(play):
    steps = play(make_config(), max_steps=3, render="rgb_array")
    assert len(steps) == 4
    episode = steps[-1].episode
    assert (episode.end, episode.length, episode.episode_return) == ("cut", 3, 3.0)
    assert play(make_config(), max_steps=5)[-1].episode.end == "terminated"


def test_returns_are_those_of_the_game_not_of_the_learner(play):
    rewards = make_config(
        env_id="tests.helpers.envs:RewardList-v0",
        env_wrappers=[{"id": "ClipReward", "low": -1.0, "high": 1.0}],
    )
    steps = play(rewards)
    # The list is 5, 5, -3; clipped it would be 1, 1, -1.
    assert [step.reward for step in steps] == [0.0, 5.0, 5.0, -3.0]
    assert steps[-1].episode.episode_return == 7.0


def test_a_lost_life_does_not_end_the_episode(play):
    lives = make_config(
        env_id="tests.helpers.envs:Lives-v0",
        env_kwargs={"lives": 3, "life_length": 4},
        env_wrappers=[{"id": "EpisodicLife"}],
    )
    steps = play(lives)
    assert (steps[-1].episode.length, steps[-1].episode.episode_return) == (12, 12.0)
    assert [step.episode is not None for step in steps].count(True) == 1


def test_greedy_takes_the_likelier_action_and_sampling_draws(play):
    config = make_config(env_kwargs={"length": 1000})

    def share_of_ones(*, deterministic):
        steps = play(config, deterministic=deterministic, bias=[0.0, 0.1])
        return np.mean([int(step.action) for step in steps[1:]])

    # Logits 0 and 0.1: P(1) = 1 / (1 + exp(-0.1)) = 0.525, standard deviation of the share 0.016.
    assert share_of_ones(deterministic=True) == 1.0
    assert 0.475 <= share_of_ones(deterministic=False) <= 0.575


def test_the_seed_alone_decides_an_episode(play):
    config = make_config(env_id="CartPole-v1")
    first, second, other = (
        play(config, seed=seed, deterministic=False)[-1].episode for seed in (11, 11, 12)
    )
    assert first == second
    assert first.episode_return != other.episode_return


def test_the_seed_decides_sampled_actions_where_the_environment_has_no_say(play):
    config = make_config(env_kwargs={"length": 50})
    actions = [
        [int(step.action) for step in play(config, seed=seed, deterministic=False)[1:]]
        for seed in (1, 1, 2)
    ]
    assert actions[0] == actions[1]
    assert actions[0] != actions[2]


def test_nothing_outside_is_touched(play):
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    play(make_config(env_id="CartPole-v1"), deterministic=False)
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()  # noqa: NPY002


def test_the_normaliser_is_used_and_left_as_it_is():
    env = build_playback_env(make_config(), render_mode=None)
    policy = build_linear_policy(env, normalize_obs="rolling")
    policy.normalizer.update(torch.tensor([[1000.0], [1001.0]]))
    before = {key: value.clone() for key, value in policy.normalizer.state_dict().items()}
    list(play_episode(env, policy, seed=0, deterministic=True))
    after = policy.normalizer.state_dict()
    assert before
    assert all(torch.equal(before[key], after[key]) for key in before)
    env.close()


def test_actions_reach_the_environment_with_its_offset():
    config = make_config(env_id="tests.helpers.envs:Identity-v0", env_kwargs={"n": 3, "start": -1})
    env = build_playback_env(config, render_mode=None)
    policy = build_linear_policy(env)
    steps = list(play_episode(env, policy, seed=0, deterministic=False))
    seen = env.envs[0].unwrapped.seen_actions
    assert seen == [int(step.action) - 1 for step in steps[1:]]
    assert set(seen) <= {-1, 0, 1}
    env.close()


def test_a_white_picture_enters_the_network_as_one():
    config = make_config(
        env_id="tests.helpers.envs:Picture-v0",
        env_kwargs={"shape": (40, 60, 3), "first": 250, "length": 5},
    )
    env = build_playback_env(config, render_mode=None)
    policy = build_linear_policy(env)
    seen = []
    for module in policy.modules():
        if isinstance(module, torch.nn.Conv2d):
            module.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].max().item()))
            break
    list(play_episode(env, policy, seed=0, deterministic=True))
    assert seen == pytest.approx([k / 255 for k in (250, 251, 252, 253, 254)])
    env.close()
