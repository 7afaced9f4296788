import base64
import dataclasses
import io

import numpy as np
import pytest
import torch
from PIL import Image

from agents.loading import load_policy
from tests.helpers.dreamer_runs import TINY, dreamer_config, make_dreamer_run
from tests.utils.inspection.test_studio import request_of
from utils.errors import UserError
from utils.inspection.dream_wish import MOST_STEPS, DreamWish, dream_options
from utils.inspection.recording import CannotReplayError
from utils.inspection.studio import Studio
from utils.world_models import State
from utils.world_models.dreaming import dream, observe_episode, read_states, repeat_actions

T = 8


@pytest.fixture
def open_room(tmp_path):
    """Record an episode of T steps; return it, the policy, and what answers wishes."""
    studio = Studio(load_policy)

    def open_room(**changes):
        config = dreamer_config(**changes)
        run = make_dreamer_run(tmp_path, config)
        stored = studio.record(run, config, request_of(run))
        policy = studio._stage_of(run, config)._policy(stored.record.request).policy

        def ask(step, *, horizon=3, actions="recorded", draw=None, record=None):
            wish = DreamWish(step=step, horizon=horizon, actions=actions, draw=draw)
            episode = dataclasses.replace(stored, record=record or stored.record)
            return studio.dream(run, config, episode, wish)

        return stored.record, policy, ask

    yield open_room
    studio.close()


def decode(array):
    values = np.frombuffer(base64.b64decode(array["data"]), "<f4")
    return values if array["width"] == 1 else values.reshape(-1, array["width"])


def seen_by(policy, record):
    """Return beliefs and encoded actions, from the numbers of the recording."""
    observation = torch.from_numpy(record.traces["observation"])
    action = torch.from_numpy(record.traces["action"][:, 0])
    encoded = policy.code.encode(action)
    return observe_episode(policy.world_model, observation, encoded), encoded


def test_what_was_seen_is_the_decoder_on_the_posteriors(open_room):
    record, policy, ask = open_room()
    told = ask(2)
    assert (told["step"], told["n"], told["labels"], told["sheets"]) == (2, 3, ["count"], None)
    beliefs, _ = seen_by(policy, record)
    reading = read_states(policy.world_model, beliefs.state)
    seen = {name: decode(array) for name, array in told["seen"].items()}
    np.testing.assert_allclose(seen["numbers"], reading.numbers[:, 0], rtol=1e-5)
    np.testing.assert_allclose(seen["divergence"], beliefs.divergence, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(seen["goes_on"], reading.goes_on, rtol=1e-5)
    # The reward of step t arrives with state t + 1.
    np.testing.assert_allclose(seen["reward"], reading.reward[1:], rtol=1e-5)
    # The policy chose its likeliest actions on these very beliefs.
    np.testing.assert_allclose(seen["value"], record.traces["value"], rtol=1e-4)
    real = {name: decode(array) for name, array in told["real"].items()}
    assert real["numbers"].tolist() == list(range(T + 1))
    assert real["reward"].tolist() == [1.0] * T
    gamma = told["goes_on_goal"]
    np.testing.assert_allclose(real["goes_on"], [gamma] * T + [0.0])


def test_a_dream_goes_on_from_the_posterior_with_what_was_done(open_room):
    record, policy, ask = open_room()
    k, n = 2, 4
    told = ask(k, horizon=n)
    beliefs, encoded = seen_by(policy, record)
    start = State(*(part[k : k + 1] for part in beliefs.state))
    model = policy.world_model
    imagined = dream(model, start, repeat_actions(encoded[k:]), n_steps=n)
    reading = read_states(model, State(*(part[:, 0] for part in imagined.state)))
    dreamt = {name: decode(array) for name, array in told["dreamt"].items()}
    assert "action" not in dreamt
    np.testing.assert_allclose(dreamt["numbers"], reading.numbers[:, 0], rtol=1e-5)
    np.testing.assert_allclose(dreamt["reward"], reading.reward[1:], rtol=1e-5)
    # How far it misses: squared error of symmetric logarithms.
    symlog = np.log1p(np.arange(k, k + n + 1))
    expected = (np.log1p(np.abs(dreamt["numbers"])) * np.sign(dreamt["numbers"]) - symlog) ** 2
    np.testing.assert_allclose(decode(told["missed"]["vector"]["dreamt"]), expected, rtol=1e-3)


def test_recorded_actions_end_with_the_episode_and_the_agents_own_do_not(open_room):
    _, _, ask = open_room()
    assert ask(T - 1, horizon=50)["n"] == 1
    told = ask(T - 1, horizon=50, actions="own")
    assert told["n"] == 50
    assert len(decode(told["dreamt"]["numbers"])) == 51
    assert set(decode(told["dreamt"]["action"])) <= {0.0, 1.0}
    # Reality ends sooner: only what is real can be missed.
    assert len(decode(told["missed"]["vector"]["dreamt"])) == 2
    assert told["first"] == T - 1 - 5


def test_own_actions_are_the_actors_choice_in_each_state_of_the_dream(open_room):
    record, policy, ask = open_room()
    told = ask(0, horizon=5, actions="own")
    beliefs, _ = seen_by(policy, record)
    state = State(*(part[:1] for part in beliefs.state))
    for action in decode(told["dreamt"]["action"]):
        chosen, encoded = policy.choose_in_dreams(None)(state, 0)
        assert int(action) == int(chosen)
        with torch.no_grad():
            state = policy.world_model.rssm.imagine_step(state, encoded, None)


def test_a_planner_plans_in_dreams_and_has_no_critic(tmp_path):
    config = dreamer_config(
        config_id="Pendulum-v1:planet",
        algo_id="planet",
        env_id="Pendulum-v1",
        env_kwargs={},
        max_episode_steps=4,
        planning_horizon=2,
        planning_iterations=2,
        planning_candidates=8,
        planning_elites=2,
        policy_kwargs=TINY,
        spec={},
    )
    run, studio = make_dreamer_run(tmp_path, config), Studio(load_policy)
    try:
        stored = studio.record(run, config, request_of(run))
        wish = DreamWish(step=1, horizon=6, actions="own", draw=None)
        told = studio.dream(run, config, stored, wish)
    finally:
        studio.close()
    assert (told["n"], set(told["dreamt"])) == (6, {"numbers", "reward", "action"})
    torque = decode(told["dreamt"]["action"])
    assert len(torque) == 6
    assert (np.abs(torque) <= 2.0).all()  # in the units of the environment


def test_draws_differ_by_their_number_alone(open_room):
    _, _, ask = open_room()
    numbers = [decode(ask(1, draw=draw)["dreamt"]["numbers"]) for draw in (1, 1, 2, None)]
    assert np.array_equal(numbers[0], numbers[1])
    assert not np.array_equal(numbers[0], numbers[2])
    assert not np.array_equal(numbers[0], numbers[3])


def test_pictures_lie_on_sheets_by_their_step(open_room):
    _, _, ask = open_room(
        env_id="tests.helpers.envs:Picture-v0",
        env_kwargs={"length": T, "shape": (64, 64, 3), "first": 100},
        spec={},
    )
    told = ask(6, horizon=2)
    assert (told["labels"], list(told["missed"])) == ([], ["picture"])
    for kind, first, n in (("real", 1, 8), ("seen", 1, 8), ("dreamt", 6, 3)):
        sheet = told["sheets"][kind]
        assert (sheet["first"], sheet["n"], sheet["width"], sheet["height"]) == (first, n, 64, 64)
        picture = Image.open(io.BytesIO(base64.b64decode(sheet["image"].partition(",")[2])))
        assert picture.size == (64 * n, 64)
    picture = np.asarray(
        Image.open(io.BytesIO(base64.b64decode(told["sheets"]["real"]["image"].partition(",")[2])))
    )
    # Each picture is filled with 100 and its step.
    assert picture[0, ::64, 0].tolist() == [100 + t for t in range(1, 9)]


def test_an_environment_that_goes_another_way_is_told_of(open_room):
    record, _, ask = open_room()
    digest = record.traces["digest"].copy()
    digest[3] += 1
    other = dataclasses.replace(record, traces=record.traces | {"digest": digest})
    with pytest.raises(CannotReplayError, match="goes another way from step 3 on"):
        ask(0, record=other)


@pytest.mark.parametrize("step", [-1, T])
def test_nothing_is_dreamt_where_nothing_is_chosen(open_room, step):
    _, _, ask = open_room()
    with pytest.raises(UserError, match=f"0 to {T - 1}"):
        ask(step)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"horizon": 0}, "1 to 200 steps long"),
        ({"horizon": MOST_STEPS + 1}, "1 to 200 steps long"),
        ({"step": None}, "step is a whole number"),
        ({"step": 0.5}, "step is a whole number"),
        ({"draw": -1}, "draws are numbered"),
        ({"draw": "x"}, "draw is a whole number"),
        ({"actions": "none"}, "recorded or own"),
    ],
)
def test_wishes_without_sense_are_told_in_one_line(changes, text):
    question = {"step": 1, "horizon": 5, "actions": "recorded", "draw": None}
    assert DreamWish.of_question(question) == DreamWish(
        step=1, horizon=5, actions="recorded", draw=None
    )
    with pytest.raises(UserError, match=text) as caught:
        DreamWish.of_question(question | changes)
    assert len(str(caught.value).splitlines()) == 1


def test_only_runs_with_a_world_model_dream():
    from tests.helpers.played_runs import make_config

    assert dream_options(make_config()) is None
    assert dream_options(dreamer_config()) == {"most": MOST_STEPS}
