import base64
import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from agents import agent_class
from agents.loading import load_policy
from tests.helpers.dreamer_runs import TINY, dreamer_config, make_dreamer_run
from tests.helpers.played_runs import make_config
from tests.utils.inspection.test_studio import request_of
from utils.config import config_from_dict
from utils.environment import build_env_from_config
from utils.errors import UserError
from utils.inspection.advantages import learner_view
from utils.inspection.plan_wish import PlanWish, plan_options
from utils.inspection.recording import CannotReplayError
from utils.inspection.studio import Studio

T, H, N_ITERATIONS, E = 6, 3, 2, 4
PENDULUM = {
    "env_id": "Pendulum-v1",
    "env_kwargs": {},
    "max_episode_steps": T,
    "spec": {"action": {"labels": ["torque"]}},
}


def config_of(algo_id, **changes):
    if algo_id == "planet":
        planning = {
            "planning_horizon": H,
            "planning_iterations": N_ITERATIONS,
            "planning_candidates": 16,
            "planning_elites": E,
        }
        own = {"policy_kwargs": TINY}
    else:
        planning = {"horizon": H, "n_iterations": N_ITERATIONS, "n_candidates": 16, "n_elites": E}
        sizes = {"size": "tiny", "encoder_dim": 8, "mlp_dim": 8, "latent_dim": 8}
        own = {"n_proposals": 3, "sequence_length": None, "policy_kwargs": sizes}
    settings = {"config_id": f"Pendulum-v1:{algo_id}", "algo_id": algo_id, **PENDULUM}
    settings = {**settings, **planning, **own, **changes}
    base = dreamer_config().to_dict()
    kept = {"schema_version", "n_envs", "max_timesteps", "batch_size", "sequence_length"}
    merged = {key: base[key] for key in kept if key in base} | settings
    return config_from_dict({k: v for k, v in merged.items() if v is not None})


@pytest.fixture
def open_room(tmp_path):
    """Record an episode of T steps; return it and what answers wishes."""
    studio = Studio(load_policy)

    def open_room(algo_id, *, mode="greedy", **changes):
        config = config_of(algo_id, **changes)
        run = make_dreamer_run(tmp_path, config)
        request = dataclasses.replace(request_of(run), is_deterministic=mode == "greedy")
        stored = studio.record(run, config, request)

        def ask(step, *, episode=stored):
            return studio.plan(run, config, episode, PlanWish(step=step))

        def change(*, step, action):
            return studio.what_if(run, config, original=stored, step=step, action=action)

        return SimpleNamespace(record=stored.record, stored=stored, ask=ask, change=change)

    yield open_room
    studio.close()


def decode(array):
    values = np.frombuffer(base64.b64decode(array["data"]), "<f4")
    return values if array["width"] == 1 else values.reshape(-1, array["width"])


@pytest.mark.parametrize("mode", ["greedy", "sampled"])
@pytest.mark.parametrize("algo_id", ["tdmpc", "planet"])
def test_the_plan_that_is_told_is_the_one_that_was_carried_out(open_room, algo_id, mode):
    room = open_room(algo_id, mode=mode)
    for step in (4, 1, 5):  # back as well: what was drawn and remembered then is known again
        told = room.ask(step)
        assert told["is_done"], step
        done = room.record.traces["action"][step]
        np.testing.assert_allclose(told["action"], done, rtol=1e-5)
    assert room.ask(4) == room.ask(4)


def test_elites_are_told_best_first_in_the_units_of_the_environment(open_room):
    ask = open_room("tdmpc").ask
    told = ask(2)
    sizes = ("horizon", "n_candidates", "n_elites", "n_proposals")
    assert [told[name] for name in sizes] == [H, 16, E, 3]
    values, scores = decode(told["values"]), decode(told["scores"])
    assert values.shape == scores.shape == (N_ITERATIONS, E)
    assert (np.diff(values, axis=1) <= 0).all()
    np.testing.assert_allclose(scores.sum(axis=1), 1.0, rtol=1e-5)
    spread = decode(told["spread"])
    assert spread.shape == (N_ITERATIONS, 5)
    np.testing.assert_allclose(spread[:, 4], values[:, 0], rtol=1e-6)
    assert (np.diff(spread, axis=1) >= 0).all()
    np.testing.assert_allclose(decode(told["counts"]), (values * scores).sum(axis=1), rtol=1e-5)
    elites = decode(told["elites"]).reshape(N_ITERATIONS, E, H)
    assert (np.abs(elites) <= 2.0).all()
    assert np.abs(elites).max() > 1.0  # a torque of Pendulum goes up to 2
    # A greedy action is the first of the best sequence, which is the plan.
    np.testing.assert_allclose(told["action"], elites[-1, 0, :1], rtol=1e-6)
    np.testing.assert_allclose(decode(told["sequence"]), elites[-1, 0], rtol=1e-6)
    assert decode(told["std"]).shape == decode(told["mean"]).shape == (N_ITERATIONS, H)
    assert set(np.unique(decode(told["proposed"]))) <= {0.0, 1.0}


def test_what_a_plan_promises_is_its_rewards_and_the_value_at_its_end(open_room):
    ask = open_room("tdmpc").ask
    told = ask(3)
    reward, weight = decode(told["reward"]), decode(told["weight"])
    assert (reward.shape, weight.shape) == ((H,), (H + 1,))
    promised = float((reward * weight[:H]).sum()) + told["tail"] * float(weight[H])
    assert told["promised"] == pytest.approx(promised, rel=1e-4, abs=1e-5)
    # The greedy plan is the best elite, so it promises what the elite is worth.
    assert told["promised"] == pytest.approx(float(decode(told["values"])[-1, 0]), rel=1e-4)


def test_a_planner_without_critics_has_no_value_at_the_end(open_room):
    ask = open_room("planet").ask
    told = ask(1)
    assert told["tail"] is None
    assert decode(told["weight"]).shape == (H,)
    np.testing.assert_allclose(decode(told["scores"]), 1.0 / E)
    # The plan is the mean of the last elites, not one of them.
    np.testing.assert_allclose(decode(told["sequence"]), decode(told["mean"])[-1], rtol=1e-6)


@pytest.mark.parametrize("algo_id", ["tdmpc", "planet"])
def test_an_action_that_a_person_has_changed_was_not_planned(open_room, algo_id):
    room = open_room(algo_id)
    branch = room.change(step=2, action=[1.9])
    assert branch.record.traces["action"][2] == pytest.approx(1.9)
    is_done = [room.ask(step, episode=branch)["is_done"] for step in range(T)]
    assert is_done == [True, True, False, True, True, True]


def test_an_environment_that_goes_another_way_is_told_of(open_room):
    room = open_room("tdmpc")
    digest = room.record.traces["digest"].copy()
    digest[3] += 1
    record = dataclasses.replace(room.record, traces=room.record.traces | {"digest": digest})
    with pytest.raises(CannotReplayError, match="another way from step 3 on"):
        room.ask(2, episode=dataclasses.replace(room.stored, record=record))


@pytest.mark.parametrize("step", [-1, T])
def test_nothing_is_planned_where_nothing_is_chosen(open_room, step):
    ask = open_room("tdmpc").ask
    with pytest.raises(UserError, match=rf"the steps of this episode are 0 to {T - 1}"):
        ask(step)


def test_wishes_without_sense_are_told_in_one_line():
    for question in ("nonsense", {"step": "x"}, {"step": 1.5}, {"step": float("nan")}, {}):
        with pytest.raises(UserError):
            PlanWish.of_question(question)
    assert PlanWish.of_question({"step": 3.0}) == PlanWish(step=3)


def test_only_agents_that_plan_have_plans():
    assert plan_options(make_config()) is None
    assert plan_options(config_of("tdmpc")) == {"elites_are": "weighted"}
    assert plan_options(config_of("planet")) == {"elites_are": "averaged"}


@pytest.mark.parametrize("algo_id", ["tdmpc", "planet"])
def test_who_looks_on_changes_nothing(algo_id):
    config = config_of(algo_id)
    env = build_env_from_config(config, n_envs=2)
    torch.manual_seed(0)
    policy = agent_class(algo_id).build_models(
        config, env.single_observation_space, env.single_action_space
    )
    observation, state = torch.randn(2, 3), policy.initial_state(2)
    for deterministic in (True, False):
        options = {"deterministic": deterministic, "state": state}
        step = policy.act(observation, generator=torch.Generator().manual_seed(1), **options)
        trace = policy.trace_plan(
            observation, generator=torch.Generator().manual_seed(1), **options
        )
        assert torch.equal(step.action, policy.code.to_env(trace.action))
        assert torch.equal(step.state, trace.state)
        assert len(trace.stages) == N_ITERATIONS
        for stage in trace.stages:
            best = stage.worth.gather(1, stage.index)
            torch.testing.assert_close(best, stage.values)
    env.close()


def test_a_discount_that_hangs_on_the_length_of_episodes_is_the_policys(open_room):
    record = open_room("tdmpc", gamma=None).record
    assert "advantage" in record.traces


def test_a_discount_that_nobody_knows_is_no_number():
    config = config_of("tdmpc")
    assert config.gamma is None
    view = learner_view(config, timesteps=0, reward_factor=1.0, own_discount=0.95)
    assert view.gamma == 0.95
    with pytest.raises(AssertionError):
        learner_view(config, timesteps=0, reward_factor=1.0)


def test_what_planet_promises_is_no_value_and_gives_no_advantage(open_room):
    traces = open_room("planet").record.traces
    assert "promise" in traces
    assert not {"value", "advantage"} & set(traces)
