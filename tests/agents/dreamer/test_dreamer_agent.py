"""What the three Dreamers do in one update, and where gradients go."""

from __future__ import annotations

import copy
from fractions import Fraction

import pytest
import torch

from agents.dreamer.dreamer_losses import continue_target
from tests.helpers.agents import train_epochs
from tests.helpers.sequence_agents import fill, gradients_of, learn_once, make_dreamer
from utils.errors import ConfigError

V1 = {"env_id": "Pendulum-v1", "version": 1}
V2 = {"version": 2}
PENDULUM = {"env_id": "Pendulum-v1"}
WITHOUT_END = {"predict_end": False}


def filled(**changes):
    agent = make_dreamer(**changes)
    fill(agent)
    return agent


def observed_batch(agent):
    batch = agent.prepare(agent.source.sample())
    return batch, agent.observe(batch)


def weights(module):
    return [p.detach().clone() for p in module.parameters()]


def same(first, second) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("settings", [{}, PENDULUM, V1, V2], ids=["choices", "box", "v1", "v2"])
def test_dreams_hold_the_state_they_begin_with_and_so_many_steps_more(settings) -> None:
    agent = filled(imagination_horizon=15, **settings)
    _, observed = observed_batch(agent)
    dream = agent.dream(observed.state)
    n = 2 * 6  # every state of the batch
    assert dream.imagined.state.deter.shape == (16, n, 16)
    assert dream.features.shape[:2] == (16, n)
    for part in (dream.returns, dream.baseline, dream.weight, dream.imagined.action):
        assert part.shape[:2] == (15, n)
    torch.testing.assert_close(dream.imagined.state.deter[0], observed.state.deter.flatten(0, 1))


@pytest.mark.parametrize("settings", [{}, PENDULUM, V2], ids=["choices", "box", "v2"])
def test_what_the_actor_learns_does_not_reach_the_world_model(settings) -> None:
    def gradients(hooks):
        agent = filled(replay_value_scale=0.0, **settings)
        agent.hooks = hooks
        learn_once(agent)
        return gradients_of(agent.policy.world_model)

    alone = gradients(("update_world_model",))
    together = gradients(("update_world_model", "update_controller"))
    assert same(alone, together)
    assert any(g.abs().sum() > 0 for g in alone)


def test_real_returns_do_reach_the_world_model() -> None:
    def gradients(scale):
        agent = filled(replay_value_scale=scale)
        # A critic of zeros, as it is built, sends nothing back.
        torch.nn.init.ones_(agent.policy.critic.output.weight[:2])
        learn_once(agent)
        return gradients_of(agent.policy.world_model)

    assert not same(gradients(0.0), gradients(0.3))


def test_the_first_dreamer_climbs_through_the_dynamics_and_leaves_them_alone() -> None:
    def gradients(hooks):
        agent = filled(**V1)
        agent.hooks = hooks
        learn_once(agent)
        return agent, gradients_of(agent.policy.world_model)

    _, alone = gradients(("update_world_model",))
    agent, together = gradients(("update_world_model", "update_controller"))
    assert same(alone, together)
    _, observed = observed_batch(agent)
    loss, _ = agent.actor_loss(agent.dream(observed.state))
    dynamics = list(agent.policy.world_model.rssm.dynamics.parameters())
    through = torch.autograd.grad(loss, dynamics, allow_unused=True)
    assert sum(g.abs().sum() for g in through if g is not None) > 0


def test_by_likelihood_no_gradient_passes_the_dynamics() -> None:
    agent = filled()
    _, observed = observed_batch(agent)
    dream = agent.dream(observed.state)
    assert not dream.returns.requires_grad
    loss, _ = agent.actor_loss(dream)
    through = torch.autograd.grad(
        loss, list(agent.policy.world_model.parameters()), allow_unused=True
    )
    assert all(g is None for g in through)


@pytest.mark.parametrize("settings", [{}, PENDULUM, V1, V2], ids=["choices", "box", "v1", "v2"])
def test_the_actor_learns_from_returns_alone(settings) -> None:
    agent = filled(ent_coef=0.0, **settings)
    for _ in range(3):  # rewards and values are 0 before anything is learnt
        learn_once(agent)
    assert learn_once(agent)["train/grad/actor"] > 1e-8


def test_a_large_gradient_of_the_means_does_not_shrink_that_of_the_deviations() -> None:
    agent = filled(**PENDULUM)
    weight, optimizer = agent.policy.actor.output.weight, agent.optimizers["all"]
    assert len(weight) == 2, weight.shape  # the mean's row, then the deviation's
    small = 1e-2 * weight[1].norm().item() / weight.shape[1] ** 0.5
    weight.grad = torch.full_like(weight, small)
    weight.grad[0] = 1e6 * small
    optimizer.step()
    square = optimizer.state[weight]["square"]
    torch.testing.assert_close(square[1], torch.full_like(square[1], 1e-3 * small**2))
    assert square[0].max() < 1e-3 * (1e3 * small) ** 2  # that of the means was clipped


def test_the_entropy_counts_once() -> None:
    agent = filled(ent_coef=0.5)
    _, observed = observed_batch(agent)
    dream = agent.dream(observed.state)
    code = agent.policy.code
    parameters = code.parameters_of(agent.policy.actor(dream.features[:-1]))
    worth = (dream.weight * code.distribution.entropy(parameters)).mean()
    with_entropy = agent.actor_loss(dream)[0]
    agent.config = agent.config.model_copy(update={"ent_coef": 0.0})
    # Rewards and values are 0 at first, so no advantage is left and the scale stays 1.
    torch.testing.assert_close(with_entropy - agent.actor_loss(dream)[0], -0.5 * worth)


OPTIONS = {
    "no normalised returns": {"normalize_returns": False},
    "no end": WITHOUT_END,
    "end apart from the discount": {"discounted_end": False},
    "mean of free nats": {"free_nats_of_mean": True},
    "target critic": {"slow_critic": "target"},
    "no slow critic": {"slow_critic": "none"},
    "no replayed values": {"replay_value_scale": 0.0},
    "empty memory": {"replay_context": 0},
    "any sequence": {"newest_first": False},
    "buffer left behind": {"save_replay": False},
    "gradient through choices of a box": {"actor_gradient": "auto"} | PENDULUM,
    "likelihood of a box": {"actor_gradient": "reinforce"} | PENDULUM,
    "tangent": {"actor_distribution": "tanh_normal"} | PENDULUM,
    "tangent by likelihood": {
        "actor_distribution": "tanh_normal",
        "actor_gradient": "reinforce",
    }
    | PENDULUM,
    "noise": {"exploration_noise": 0.3} | PENDULUM,
    "bounded gradient": {"max_grad_norm": 1.0, "agc": None},
    "Adam": {"optimizer": "Adam"},
    "plain numbers": {"policy_kwargs": {"numbers": "normal"}},
    "gaussian": {"policy_kwargs": {"latent": "gaussian", "classes": 256, "uniform_share": 0.01}},
    "gru": {"policy_kwargs": {"dynamics": "gru", "norm": "layer", "blocks": 8}},
    "v1": V1,
    "v1 with an end": V1 | {"predict_end": True},
    "v2": V2,
    "v2 of a box": V2 | PENDULUM,
}


def test_fused_steps_are_torchs_plain_ones() -> None:
    """Some gradients of the recurrent model come transposed."""
    agents = []
    for kwargs in ({}, {"fused": False}):
        agents.append(filled(optimizer="Adam", optimizer_kwargs=kwargs))
        agents[-1].make_updates(2)
    for mine, other in zip(*(agent.policy.parameters() for agent in agents), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", OPTIONS)
def test_with_every_option_all_parts_learn(name) -> None:
    agent = filled(**copy.deepcopy(OPTIONS[name]))
    policy = agent.policy
    parts = {"world_model": policy.world_model, "actor": policy.actor, "critic": policy.critic}
    before = {key: weights(part) for key, part in parts.items()}
    agent.make_updates(2)
    means, diverged = agent.log.flush()
    assert diverged is None
    assert {"train/loss/actor", "train/loss/critic", "train/grad/world_model"} <= means.keys()
    for key, part in parts.items():
        assert not same(before[key], weights(part)), key


def test_the_newest_dreamer_learns_the_end_and_the_others_know_it() -> None:
    agent = filled()
    assert "train/loss/continue" in learn_once(agent)
    assert "train/loss/continue" not in learn_once(filled(**WITHOUT_END))
    assert "train/loss/continue" not in learn_once(filled(**V1))


@pytest.mark.parametrize("skip", [1, 4])
@pytest.mark.parametrize("ratio", [1.0, 5.0])
def test_updates_are_counted_by_steps_of_the_agent(skip, ratio) -> None:
    wrappers = [{"id": "FrameSkip", "skip": skip}] if skip > 1 else []
    agent = make_dreamer("Pendulum-v1", train_ratio=ratio, env_wrappers=wrappers)
    for n_epochs in (1, 2):
        train_epochs(agent, 1)
        timesteps = agent.counters.timesteps
        assert timesteps == 20 * n_epochs
        paying = timesteps - agent.config.timesteps_before_updates
        assert agent.counters.updates == int(Fraction(ratio) / 12 * paying)


def test_an_episode_that_was_cut_off_goes_on() -> None:
    agent = filled()  # every other episode is cut off
    flags = {"terminated": [], "truncated": [], "target": []}
    for _ in range(20):
        batch = agent.prepare(agent.source.sample())
        target = continue_target(batch.terminated, gamma=0.9, discounted=True)
        for key, part in zip(flags, (batch.terminated, batch.truncated, target), strict=True):
            flags[key].append(part.flatten())
    terminated, truncated, target = (torch.cat(parts) for parts in flags.values())
    assert terminated.any()
    assert truncated.any()
    assert not (terminated & truncated).any()
    assert (target[truncated] == 0.9).all()
    assert (target[terminated] == 0).all()


def test_who_acts_is_who_learns_and_looks() -> None:
    agent = filled()
    policy = agent.policy
    assert agent.source.collector.policy is policy
    assert agent.source.collector.explorer._policy is policy
    seen = torch.eye(4)[:2]
    before = policy.explain(seen, state=policy.initial_state(2))["action_probabilities"]
    agent.make_updates(5)
    after = policy.explain(seen, state=policy.initial_state(2))["action_probabilities"]
    assert not torch.equal(before, after)
    assert not torch.equal(after[0], after[1])


def test_evaluations_draw_nothing() -> None:
    agent = filled(env_id="Pendulum-v1", exploration_noise=0.3)
    policy, state = agent.policy, agent.policy.initial_state(3)
    seen = torch.randn(1, 3).expand(3, 3)
    chosen = policy.act(seen, deterministic=True, state=state).action
    torch.testing.assert_close(chosen[0], chosen[2])
    assert torch.equal(chosen, policy.act(seen, deterministic=True, state=state).action)
    drawn = agent.source.collector.explorer.decide(seen, mask=None, timesteps=0, state=state)
    assert not torch.equal(drawn.stored[0], drawn.stored[1])
    assert drawn.stored.abs().max() <= 1


def test_phases_choose_what_learns() -> None:
    agent = filled()
    policy = agent.policy

    def changed():
        parts = (policy.world_model, policy.actor, policy.critic)
        before = [weights(part) for part in parts]
        learn_once(agent)
        return [not same(b, weights(part)) for b, part in zip(before, parts, strict=True)]

    agent.hooks = ("update_world_model",)
    assert changed() == [True, False, False]
    agent.hooks = ("update_controller",)
    assert changed() == [False, True, True]
    agent.hooks = ("update_world_model", "update_controller")
    assert changed() == [True, True, True]


def test_the_slow_critic_of_the_second_dreamer_is_copied_now_and_then() -> None:
    agent = filled(slow_critic_every_updates=3, **V2)
    is_equal = []
    for _ in range(6):
        agent.make_updates(1)
        is_equal.append(same(weights(agent.slow_critic), weights(agent.policy.critic)))
    assert is_equal == [False, False, True, False, False, True]


def test_the_slow_critic_of_the_third_follows_each_time() -> None:
    agent = filled(slow_critic_rate=0.25)
    before = weights(agent.slow_critic)
    agent.make_updates(1)
    pairs = zip(before, weights(agent.policy.critic), weights(agent.slow_critic), strict=True)
    for old, critic, slow in pairs:
        torch.testing.assert_close(slow, old + 0.25 * (critic - old))


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"actor_gradient": "dynamics"}, "actor_gradient: dynamics has no gradient through"),
        ({"exploration_noise": 0.1}, "'exploration_noise' has no effect on the action space"),
        ({"version": 1}, "actor_gradient: dynamics has no gradient through"),
    ],
)
def test_what_choices_have_no_use_for_is_refused(settings, text) -> None:
    with pytest.raises(ConfigError) as caught:
        make_dreamer(**settings)
    assert text in str(caught.value)
