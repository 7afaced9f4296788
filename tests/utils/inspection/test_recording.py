import numpy as np
import pytest
import torch
from gymnasium import spaces

from tests.helpers.envs import SpaceEnv
from tests.helpers.played_runs import make_config
from tests.helpers.policies import build_linear_policy
from utils.inspection.advantages import LearnerView
from utils.inspection.observations import ObservationReader
from utils.inspection.progress import Progress
from utils.inspection.recording import CannotReplayError, EpisodeRecorder, Script
from utils.playback.environment import build_playback_env
from utils.policies.random_policy import RandomPolicy
from utils.vector_envs import InProcessVectorEnv

HALVES = LearnerView(
    gamma=0.5, gae_lambda=0.5, reward_factor=1.0, reward_limit=np.inf, reward_scale=1.0
)


@pytest.fixture
def build():
    """Build an environment of a config and a linear policy for it."""
    envs = []

    def build(config, **changes):
        env = build_playback_env(config, render_mode=None)
        envs.append(env)
        return env, build_linear_policy(env, **changes)

    yield build
    for env in envs:
        env.close()


def record(env, policy, *, learner=HALVES, seed=3, is_deterministic=True, **options):
    recorder = EpisodeRecorder(env, policy, reader=ObservationReader(env), learner=learner)
    options = {"max_steps": 1000, "progress": Progress()} | options
    return recorder.record(seed=seed, is_deterministic=is_deterministic, **options)


def set_value(policy, value):
    with torch.no_grad():
        policy.critic_head.weight.zero_()
        policy.critic_head.bias.fill_(value)


def test_rows_belong_to_states_and_steps(build):
    env, policy = build(make_config(env_id="tests.helpers.envs:RewardList-v0"))
    recorded = record(env, policy)
    traces = recorded.traces
    assert (recorded.length, recorded.end, recorded.episode_return) == (3, "terminated", 7.0)
    assert traces["observation"].tolist() == [[0], [1], [2], [3]]
    assert traces["reward"].tolist() == [5, 5, -3]
    assert traces["action"].shape == (3, 1)
    assert traces["action_probabilities"].shape == (4, 2)
    assert np.isfinite(traces["action_probabilities"][:3]).all()
    assert np.isnan(traces["action_probabilities"][3]).all()  # nothing is chosen at the end
    assert np.isfinite(traces["value"]).all()


def test_what_is_written_down_is_what_the_policy_says(build):
    env, policy = build(make_config(env_id="CartPole-v1", max_episode_steps=20))
    recorded = record(env, policy, is_deterministic=False)
    observation = torch.from_numpy(recorded.traces["observation"][:-1])
    with torch.no_grad():
        expected = policy.explain(observation)
    for name in ("action_probabilities", "value", "entropy"):
        ours = recorded.traces[name][:-1]
        np.testing.assert_allclose(ours, expected[name].numpy(), rtol=1e-5, atol=1e-6)


def test_advantages_by_hand(build):
    env, policy = build(make_config(env_id="tests.helpers.envs:RewardList-v0"))
    set_value(policy, 2.0)
    # delta = 5 + 0.5 * 2 - 2 = 4, 4, and -3 - 2 = -5 at the end, which bootstraps nothing
    # A2 = -5, A1 = 4 + 0.25 * -5 = 2.75, A0 = 4 + 0.25 * 2.75 = 4.6875
    assert record(env, policy).traces["advantage"].tolist() == [4.6875, 2.75, -5.0]


@pytest.mark.parametrize("max_steps", [1000, 3])
def test_a_truncated_or_cut_episode_is_worth_its_last_state(build, max_steps):
    env, policy = build(make_config(env_kwargs={"ending": "truncated", "length": 4}))
    set_value(policy, 2.0)
    recorded = record(env, policy, max_steps=max_steps)
    assert recorded.end == ("truncated" if max_steps == 1000 else "cut")
    # delta = 1 + 0.5 * 2 - 2 = 0 at every step
    assert (recorded.traces["advantage"] == 0.0).all()


def test_the_learner_is_paid_something_else_than_the_game(build):
    config = make_config(
        env_id="tests.helpers.envs:RewardList-v0",
        env_wrappers=[{"id": "ClipReward", "low": -1.0, "high": 1.0}],
    )
    env, policy = build(config)
    view = LearnerView(
        gamma=1.0, gae_lambda=1.0, reward_factor=3.0, reward_limit=2.0, reward_scale=0.5
    )
    recorded = record(env, policy, learner=view)
    assert recorded.traces["reward"].tolist() == [5, 5, -3]
    assert recorded.episode_return == 7.0
    # Clipped to 1, 1, -1, times 3, clipped to 2, 2, -2, times 0.5.
    assert recorded.traces["learner_reward"].tolist() == [1.0, 1.0, -1.0]


def test_without_critic_or_knowledge_of_the_learner_there_is_no_advantage(build):
    env, policy = build(make_config(), has_critic=False)
    traces = record(env, policy).traces
    assert "value" not in traces
    assert "advantage" not in traces
    env, policy = build(make_config())
    assert "advantage" not in record(env, policy, learner=None).traces


def test_a_shifted_action_space_is_sent_its_own_values(build):
    env, policy = build(
        make_config(env_id="tests.helpers.envs:Identity-v0", env_kwargs={"n": 3, "start": -1})
    )
    actions = record(env, policy, is_deterministic=False).traces["action"][:, 0]
    assert set(actions.tolist()) <= {0, 1, 2}
    assert len(set(actions.tolist())) > 1
    assert env.envs[0].unwrapped.seen_actions == [int(action) - 1 for action in actions]


def test_greedy_takes_the_likelier_action_and_sampling_does_not_always(build):
    env, policy = build(make_config(env_kwargs={"length": 1000}, max_episode_steps=1000))
    with torch.no_grad():
        policy.actor_head.weight.zero_()
        policy.actor_head.bias.copy_(torch.tensor([0.0, 0.1]))
    assert record(env, policy).traces["action"].sum() == 1000
    # p = 1 / (1 + exp(-0.1)) = 0.525; three standard deviations of 1,000 draws are 47
    sampled = record(env, policy, is_deterministic=False).traces["action"].sum()
    assert abs(sampled - 525) < 50


@pytest.mark.parametrize("is_deterministic", [True, False])
@pytest.mark.parametrize("acts", ["discrete", "multi_discrete", "multi_binary"])
def test_masks_are_obeyed_and_written_down(build, acts, is_deterministic):
    config = make_config(
        env_id="tests.helpers.masked_envs:Masked-v0",
        env_kwargs={"acts": acts},
        action_masks=True,
        policy_kwargs={"memory": "gru"},
    )
    env, policy = build(config, action_masks=True, memory="gru", memory_dim=4)
    recorded = record(env, policy, is_deterministic=is_deterministic)
    assert (recorded.length, recorded.end) == (10, "truncated")  # a forbidden one would end it
    mask, share = recorded.traces["mask"], recorded.traces["action_probabilities"]
    assert mask.shape == share.shape
    assert (share[:-1][~mask[:-1]] == 0).all()


def test_the_memory_of_a_policy_is_carried_on(build):
    config = make_config(env_id="tests.helpers.envs:Identity-v0", policy_kwargs={"memory": "lstm"})
    env, policy = build(config, memory="lstm", memory_dim=4)
    recorded = record(env, policy)
    state = policy.initial_state(1)
    for t in range(recorded.length + 1):
        observation = torch.tensor([int(recorded.traces["observation"][t, 0])])
        with torch.no_grad():
            value = policy.explain(observation, state=state)["value"].item()
            state = policy.act(observation, state=state, deterministic=True).state
        assert recorded.traces["value"][t] == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("acts", ["box", "multi_discrete", "multi_binary"])
@pytest.mark.parametrize("sees", ["box", "dict", "picture", "discrete"])
def test_every_kind_of_space_is_recorded(build, sees, acts):
    config = make_config(
        env_id="tests.helpers.space_envs:Drawn-v0", env_kwargs={"sees": sees, "acts": acts}
    )
    env, policy = build(config)
    recorded = record(env, policy, is_deterministic=False)
    assert recorded.length == 7
    if acts == "box":
        assert recorded.traces["action_mean"].shape == (8, 2)
        assert (recorded.traces["action_std"][:-1] == 1.0).all()
    assert recorded.traces["digest"].shape == (8,)


def test_a_policy_that_thinks_nothing_is_recorded_all_the_same(build):
    class Silent(RandomPolicy):
        def explain(self, observation, *, mask=None, state=None):
            return {}

    env, _ = build(make_config(env_id="tests.helpers.envs:Identity-v0"))
    traces = record(env, Silent(env.single_action_space, action_masks=False)).traces
    assert set(traces) == {"observation", "digest", "action", "reward", "learner_reward"}


def test_a_policy_of_action_values_is_recorded(build):
    class Valuing(RandomPolicy):
        def explain(self, observation, *, mask=None, state=None):
            q = torch.tensor([[1.0, 3.0, 2.0]])
            return {"q_values": q, "value": q.max(dim=1).values}

    env, _ = build(make_config(env_id="tests.helpers.envs:Identity-v0"))
    traces = record(env, Valuing(env.single_action_space, action_masks=False)).traces
    assert traces["q_values"][0].tolist() == [1.0, 3.0, 2.0]
    assert traces["value"].tolist() == [3.0] * 11
    assert traces["advantage"].shape == (10,)


def test_a_white_picture_reaches_the_network_as_ones():
    space = spaces.Box(0, 255, (40, 44, 3), np.uint8)
    white = np.full(space.shape, 255, np.uint8)
    env = InProcessVectorEnv([lambda: SpaceEnv(space, white)], env_id="White-v0")
    policy = build_linear_policy(env)
    convolution = next(m for m in policy.modules() if isinstance(m, torch.nn.Conv2d))
    seen, features = [], []
    convolution.register_forward_pre_hook(
        lambda _, inputs: seen.append(inputs[0].unique().tolist())
    )
    policy.encoder.register_forward_hook(lambda *parts: features.append(parts[-1].clone()))
    record(env, policy)
    policy(torch.from_numpy(np.stack([white.transpose(2, 0, 1)] * 2)))  # as training does
    assert all(values == [1.0] for values in seen)
    assert all(torch.allclose(part[0], features[-1][0]) for part in features)
    env.close()


def test_the_seed_decides_the_episode(build):
    env, policy = build(make_config(env_id="CartPole-v1", max_episode_steps=30))
    first = record(env, policy, is_deterministic=False, seed=5).traces
    again = record(env, policy, is_deterministic=False, seed=5).traces
    other = record(env, policy, is_deterministic=False, seed=6).traces
    assert all(np.array_equal(first[name], again[name], equal_nan=True) for name in first)
    assert not np.array_equal(first["observation"][0], other["observation"][0])


def test_a_script_is_followed_and_then_left(build):
    env, policy = build(make_config(env_id="CartPole-v1", max_episode_steps=30))
    original = record(env, policy, is_deterministic=False).traces
    t = 5
    other = 1 - original["action"][t, 0]
    actions = np.array([*original["action"][:t, 0], other])
    script = Script(
        actions=actions, digests=original["digest"][: t + 1], rewards=original["reward"][:t]
    )
    branch = record(env, policy, is_deterministic=False, script=script).traces
    assert branch["action"][: t + 1, 0].tolist() == actions.tolist()
    assert np.array_equal(branch["observation"][: t + 1], original["observation"][: t + 1])
    assert not np.array_equal(branch["observation"][t + 1], original["observation"][t + 1])


def test_an_environment_that_goes_another_way_is_told_of(build):
    env, policy = build(make_config(env_id="tests.helpers.envs:CarryOver-v0"))
    original = record(env, policy).traces
    script = Script(
        actions=original["action"][:3, 0],
        digests=original["digest"][:3],
        rewards=original["reward"][:2],
    )
    with pytest.raises(CannotReplayError, match=r"cannot be taken back to step 2.*from step 0 on"):
        record(env, policy, script=script)
