from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.helpers.world_models import random_sequences, small_rssm
from utils.world_models import RSSM, Observed, State

SHAPES = [
    {},
    {"dynamics_layers": 2, "posterior_layers": 2},
    {"latent": "gaussian"},
    {"dynamics": "gru", "norm": "layer", "activation": "elu"},
    {"dynamics": "gru", "latent": "gaussian", "norm": "none", "activation": "elu"},
]


def build(**changes: object) -> RSSM:
    torch.manual_seed(0)
    return small_rssm(double=True, **changes)


def observe(rssm: RSSM, n_steps: int = 4, n: int = 3, *, first: object = ()) -> Observed:
    before, action, embedding, is_first, noise = random_sequences(rssm, n_steps, n)
    for t, k in first:
        is_first[t, k] = True
    return rssm.observe(before, action, embedding, is_first, noise)


def assert_same(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("changes", SHAPES)
def test_sequences_are_single_steps_one_after_the_other(changes: dict) -> None:
    rssm = build(**changes)
    before, action, embedding, is_first, noise = random_sequences(rssm, 4, 3)
    is_first[2, 1] = is_first[0, 2] = True
    observed = rssm.observe(before, action, embedding, is_first, noise)
    state = before
    for t in range(4):
        state, posterior = rssm.observe_step(state, action[t], embedding[t], is_first[t], noise[t])
        assert_same(observed.state.deter[t], state.deter)
        assert_same(observed.state.stoch[t], state.stoch)
        assert_same(observed.posterior[t], posterior)


@pytest.mark.parametrize("changes", SHAPES)
def test_what_was_expected_is_what_would_have_been_imagined(changes: dict) -> None:
    rssm = build(**changes)
    before, action, embedding, is_first, noise = random_sequences(rssm, 4, 3)
    observed = rssm.observe(before, action, embedding, is_first, noise)
    for t in range(1, 4):
        state = State(observed.state.deter[t - 1], observed.state.stoch[t - 1])
        imagined = rssm.imagine_step(state, action[t], noise[t])
        assert_same(imagined.deter, observed.state.deter[t])
        assert_same(rssm.latent.sample(observed.prior[t], noise[t]), imagined.stoch)
        assert_same(rssm.prior(imagined.deter), observed.prior[t])


def test_states_advance() -> None:
    state = observe(build()).state
    for t in range(3):
        assert (state.deter[t + 1] - state.deter[t]).abs().amax(-1).min() > 1e-3


@pytest.mark.parametrize("changes", SHAPES)
def test_where_an_episode_begins_nothing_before_it_counts(changes: dict) -> None:
    rssm = build(**changes)
    before, action, embedding, is_first, noise = random_sequences(rssm, 4, 3)
    is_first[2, 1] = True
    observed = rssm.observe(before, action, embedding, is_first, noise)
    other_before = State(before.deter + 1.0, before.stoch - 1.0)
    other_action = action.clone()
    other_action[:3] += 2.0  # the action that leads to the first step of an episode included
    other_embedding = embedding.clone()
    other_embedding[:2] -= 1.0
    other = rssm.observe(other_before, other_action, other_embedding, is_first, noise)
    pairs = list(zip((*observed.state, *observed[1:]), (*other.state, *other[1:]), strict=True))
    for mine, theirs in pairs:
        assert torch.equal(mine[2:, 1], theirs[2:, 1])
    deter, other_deter = pairs[0]
    assert ((deter[2:, [0, 2]] - other_deter[2:, [0, 2]]).abs().amax(-1) > 1e-4).all()


def test_a_first_step_is_one_from_the_initial_state_without_an_action() -> None:
    rssm = build()
    before, action, embedding, _, noise = random_sequences(rssm, 1, 3)
    first = torch.ones(3, dtype=torch.bool)
    state, _ = rssm.observe_step(before, action[0], embedding[0], first, noise[0])
    fresh, _ = rssm.observe_step(
        rssm.initial(3), torch.zeros(3, 2).double(), embedding[0], None, noise[0]
    )
    assert_same(state.deter, fresh.deter)
    assert torch.equal(state.stoch, fresh.stoch)
    assert (rssm.initial(3).deter == 0).all()


def test_each_action_leads_to_its_own_step() -> None:
    rssm = build()
    before, action, embedding, is_first, noise = random_sequences(rssm, 4, 3)
    observed = rssm.observe(before, action, embedding, is_first, noise)
    changed = action.clone()
    changed[2] += 0.5
    other = rssm.observe(before, changed, embedding, is_first, noise)
    assert torch.equal(observed.state.deter[:2], other.state.deter[:2])
    assert ((observed.state.deter[2] - other.state.deter[2]).abs().amax(-1) > 1e-4).all()


def test_what_is_seen_moves_the_posterior_of_that_step_and_not_its_prior() -> None:
    rssm = build()
    before, action, embedding, is_first, noise = random_sequences(rssm, 4, 3)
    observed = rssm.observe(before, action, embedding, is_first, noise)
    changed = embedding.clone()
    changed[2] += 0.5
    other = rssm.observe(before, action, changed, is_first, noise)
    assert torch.equal(observed.prior[:3], other.prior[:3])
    assert torch.equal(observed.posterior[:2], other.posterior[:2])
    assert ((observed.posterior[2] - other.posterior[2]).abs().amax(-1) > 1e-4).all()


def test_the_posterior_reads_state_and_observation_as_one_layer_would() -> None:
    rssm = build()
    posterior = rssm.posterior
    deter, embedding = torch.randn(2, 16).double(), torch.randn(2, 5).double()
    together = posterior.read(torch.cat([deter, embedding], dim=-1))
    expected = posterior.output(posterior.activation(posterior.norm(together)))
    assert_same(posterior(deter, posterior.read_embedding(embedding)), expected)


@pytest.mark.parametrize("changes", SHAPES)
def test_every_parameter_learns_from_a_sequence(changes: dict) -> None:
    rssm = build(**changes)
    observed = observe(rssm)
    parts = (*observed.state, *observed[1:])
    torch.manual_seed(1)
    sum((part * torch.randn_like(part)).sum() for part in parts).backward()
    for name, parameter in rssm.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


def test_gradients_reach_back_through_time_but_not_past_a_first_step() -> None:
    rssm = build()
    before, action, embedding, is_first, noise = random_sequences(rssm, 4, 2)
    is_first[2, 1] = True
    embedding.requires_grad_()
    observed = rssm.observe(before, action, embedding, is_first, noise)
    observed.state.features[3].square().sum().backward()
    reached = embedding.grad.abs().amax(-1) > 0
    assert reached[:, 0].all()
    assert reached[:, 1].tolist() == [False, False, True, True]


@pytest.mark.parametrize("changes", SHAPES)
def test_a_dream_has_the_states_it_began_with_and_one_for_each_action(changes: dict) -> None:
    rssm = build(**changes)
    start = State(*(part[0] for part in observe(rssm).state))
    noise = rssm.latent.draw_noise((5, 3), torch.Generator().manual_seed(3)).double()
    asked = []

    def choose(state: State, step: int) -> tuple[Tensor, Tensor]:
        asked.append((state, step))
        action = state.deter[:, :2] + step
        return action * 10, action

    imagined = rssm.imagine(start, choose, noise)
    assert imagined.state.deter.shape == (6, 3, 16)
    assert imagined.action.shape == (5, 3, 2)
    assert [step for _, step in asked] == [0, 1, 2, 3, 4]
    assert torch.equal(imagined.state.deter[0], start.deter)
    assert torch.equal(imagined.state.stoch[0], start.stoch)
    state = start
    for t in range(5):
        assert torch.equal(asked[t][0].deter, imagined.state.deter[t])
        encoded = state.deter[:, :2] + t
        assert_same(imagined.action[t], encoded * 10)
        state = rssm.imagine_step(state, encoded, noise[t])
        assert_same(imagined.state.deter[t + 1], state.deter)
        assert_same(imagined.state.stoch[t + 1], state.stoch)


def test_gradients_of_a_dream_reach_its_actions() -> None:
    rssm = build(latent="gaussian")
    start = State(*(part[0].detach() for part in observe(rssm).state))
    weight = torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    noise = rssm.latent.draw_noise((3, 3), torch.Generator().manual_seed(3)).double()

    def choose(state: State, step: int) -> tuple[Tensor, Tensor]:
        action = state.deter[:, :2] @ weight
        return action, action

    rssm.imagine(start, choose, noise).state.features[-1].sum().backward()
    assert weight.grad.abs().min() > 0


def test_features_are_both_parts_side_by_side() -> None:
    rssm = build()
    state = observe(rssm).state
    assert state.features.shape == (4, 3, rssm.n_features)
    assert torch.equal(state.features[..., :16], state.deter)
    assert torch.equal(state.features[..., 16:], state.stoch)


def test_features_of_what_lies_side_by_side_are_no_copy() -> None:
    both = torch.arange(24.0).view(2, 3, 4)
    for parts in (both, both[1]):
        state = State(parts[..., :3], parts[..., 3:])
        assert torch.equal(state.features, parts)
        assert state.features.data_ptr() == parts.data_ptr()


def test_features_of_what_lies_elsewhere_or_has_gradients_are_copied() -> None:
    both = torch.arange(24.0).view(2, 3, 4)
    for deter, stoch in (
        (both[..., 2:], both[..., :2]),
        (both[0, :, :3], both[1, :, 3:]),
        (both[:, 0, :2], both[:, 1, 2:]),
        (both[..., :2], both[..., 2:].double()),
        (both[..., :2], both[..., 2:].clone()),
    ):
        features = State(deter, stoch).features
        assert torch.equal(features, torch.cat([deter, stoch.to(deter.dtype)], dim=-1))
    leaf = both.clone().requires_grad_()
    State(leaf[..., :3], leaf[..., 3:]).features.sum().backward()
    assert torch.equal(leaf.grad, torch.ones_like(leaf))
