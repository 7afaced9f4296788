import gymnasium as gym
import numpy as np
import pytest
import torch

from tests.helpers.world_models import mixed_space, small_settings
from utils.world_models import State, WorldModel
from utils.world_models.dreaming import dream, observe_episode, read_states, repeat_actions

N_STEPS, N_ACTIONS = 7, 2


def build(space=None, **changes):
    torch.manual_seed(3)
    space = space or gym.spaces.Box(-9, 9, (4,), np.float32)
    model = WorldModel(space, N_ACTIONS, small_settings(**changes))
    with torch.no_grad():  # heads that begin with zeros say nothing of a state
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return model, space


def an_episode(space, n=N_STEPS, seed=0):
    space.seed(seed)
    rows = [space.sample() for _ in range(n + 1)]
    if isinstance(space, gym.spaces.Dict):
        observation = {
            key: torch.as_tensor(np.stack([row[key] for row in rows])) for key in space.spaces
        }
    else:
        observation = torch.as_tensor(np.stack(rows))
    action = torch.nn.functional.one_hot(torch.arange(n) % N_ACTIONS, N_ACTIONS).float()
    return observation, action


@pytest.mark.parametrize("latent", ["categorical", "gaussian"])
def test_observing_an_episode_is_what_training_does_with_a_sequence(latent):
    model, space = build(latent=latent)
    observation, action = an_episode(space)
    noise = model.rssm.latent.draw_noise((N_STEPS + 1, 1), torch.Generator().manual_seed(5))
    is_first = torch.zeros(N_STEPS + 1, 1, dtype=torch.bool)
    is_first[0] = True
    # What was done before the first step must not matter.
    before = torch.cat([torch.ones(1, N_ACTIONS), action]).unsqueeze(1)
    embedding = model.encoder(observation, n_leading=1).unsqueeze(1)
    with torch.no_grad():
        reference = model.rssm.observe(model.rssm.initial(1), before, embedding, is_first, noise)
    generator = torch.Generator().manual_seed(5)
    beliefs = observe_episode(model, observation, action, generator=generator)
    for ours, theirs in zip(beliefs.state, reference.state, strict=True):
        torch.testing.assert_close(ours, theirs.squeeze(1))
    expected = model.rssm.latent.divergence(reference.posterior, reference.prior).squeeze(1)
    torch.testing.assert_close(beliefs.divergence, expected)
    assert beliefs.divergence.shape == (N_STEPS + 1,)
    assert (beliefs.divergence > 0).all()


def test_a_dream_with_the_recorded_actions_is_the_chain_of_priors():
    model, space = build()
    observation, action = an_episode(space)
    beliefs = observe_episode(model, observation, action)
    k, rssm = 2, model.rssm
    start = State(*(part[k : k + 1] for part in beliefs.state))
    imagined = dream(model, start, repeat_actions(action[k:]), n_steps=N_STEPS - k)
    assert imagined.state.deter.shape == (N_STEPS - k + 1, 1, rssm.deter)
    # By hand: dynamics with action t, then the likeliest latent of the prior.
    deter, stoch = start
    with torch.no_grad():
        for t in range(k, N_STEPS):
            deter = rssm.dynamics(deter, stoch, rssm.dynamics.read_actions(action[t : t + 1]))
            stoch = rssm.latent.sample(rssm.prior(deter), None)
            torch.testing.assert_close(imagined.state.deter[t - k + 1], deter)
            torch.testing.assert_close(imagined.state.stoch[t - k + 1], stoch)
    # One step on, the past is all that the deterministic part rests on: what was seen there is not
    # in it yet.
    torch.testing.assert_close(imagined.state.deter[1, 0], beliefs.state.deter[k + 1])


def test_a_dream_from_the_last_step_but_one_sees_one_step():
    model, space = build()
    observation, action = an_episode(space)
    beliefs = observe_episode(model, observation, action)
    start = State(*(part[N_STEPS - 1 : N_STEPS] for part in beliefs.state))
    imagined = dream(model, start, repeat_actions(action[N_STEPS - 1 :]), n_steps=1)
    torch.testing.assert_close(imagined.state.deter[1, 0], beliefs.state.deter[N_STEPS])
    assert torch.equal(imagined.action[0, 0], action[-1])


def test_drawn_dreams_follow_their_seed():
    model, space = build()
    observation, action = an_episode(space)
    start = State(*(part[:1] for part in observe_episode(model, observation, action).state))

    def features(seed):
        generator = torch.Generator().manual_seed(seed)
        choose = repeat_actions(action)
        return dream(model, start, choose, n_steps=N_STEPS, generator=generator).state.features

    assert torch.equal(features(1), features(1))
    assert not torch.equal(features(1), features(2))


def test_other_actions_lead_elsewhere():
    model, space = build()
    observation, action = an_episode(space)
    start = State(*(part[:1] for part in observe_episode(model, observation, action).state))
    same, other = (
        dream(model, start, repeat_actions(encoded), n_steps=3).state.deter
        for encoded in (action[:3], action[:3].flip(-1))
    )
    assert torch.equal(same[0], other[0])
    assert not torch.allclose(same[1], other[1])


@pytest.mark.parametrize("rows", [256, 3])
def test_what_is_read_off_states_is_what_the_heads_say(monkeypatch, rows):
    monkeypatch.setattr("utils.world_models.dreaming._ROWS_AT_ONCE", rows)
    model, space = build(mixed_space())
    observation, action = an_episode(space)
    beliefs = observe_episode(model, observation, action)
    reading = read_states(model, beliefs.state)
    features = torch.cat(beliefs.state, dim=-1)
    with torch.no_grad():
        decoded = model.decoder(features)
        torch.testing.assert_close(reading.decoded.pictures[0], decoded.pictures[0])
        torch.testing.assert_close(reading.numbers, model.decoder.numbers(decoded))
        torch.testing.assert_close(reading.reward, model.reward.mean(model.reward(features)))
        logit = model.goes_on(features).squeeze(-1)
        torch.testing.assert_close(reading.goes_on, logit.sigmoid())
    quick = read_states(model, beliefs.state, has_pictures=False)
    assert quick.decoded.pictures == []
    torch.testing.assert_close(quick.numbers, reading.numbers)
    assert reading.decoded.pictures[0].shape == (N_STEPS + 1, 3, 64, 64)
    # Two speeds and two lamps, then the choices of gear and knobs as probabilities.
    assert reading.numbers.shape == (N_STEPS + 1, 2 + 2 + 3 + 2 + 3)
    torch.testing.assert_close(reading.numbers[:, 4:7].sum(-1), torch.ones(N_STEPS + 1))


def test_a_model_that_predicts_no_end_says_so():
    torch.manual_seed(0)
    space = gym.spaces.Box(-1, 1, (3,), np.float32)
    model = WorldModel(space, N_ACTIONS, small_settings(), predicts_end=False)
    observation, action = an_episode(space)
    beliefs = observe_episode(model, observation, action)
    assert read_states(model, beliefs.state).goes_on is None
