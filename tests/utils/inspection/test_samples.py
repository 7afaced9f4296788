import base64
import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from agents.loading import load_policy
from tests.helpers.demonstrations import SMALL_UNET
from tests.helpers.played_runs import make_config, make_run
from tests.test_run_play import state_of
from tests.utils.inspection.test_studio import request_of
from utils.config import config_from_dict
from utils.errors import UserError
from utils.inspection.sample_wish import N_SEQUENCES, SampleWish, sample_options
from utils.inspection.studio import Studio

pytest.importorskip("diffusers")
EXECUTION, LENGTH, SEEN = 3, 8, 2


def config_of():
    settings = {
        "schema_version": 2,
        "config_id": "Pendulum-v1:diffusion",
        "algo_id": "diffusion",
        "env_id": "Pendulum-v1",
        "max_timesteps": 64,
        "max_episode_steps": 6,
        "dataset": "toys/none-v0",
        "policy_kwargs": SMALL_UNET,
        "obs_horizon": SEEN,
        "horizon": LENGTH,
        "action_horizon": EXECUTION,
        "n_denoise_steps": 3,
        "scheduler": "ddim",
        "spec": {"action": {"labels": ["torque"]}},
    }
    return config_from_dict(settings)


@pytest.fixture
def open_room(tmp_path):
    """Record an episode of six steps; return it and what answers wishes."""
    studio = Studio(load_policy)

    def open_room(*, is_deterministic=False):
        config = config_of()
        run = make_run(tmp_path, config, states=[state_of(config)])
        request = dataclasses.replace(request_of(run), is_deterministic=is_deterministic)
        stored = studio.record(run, config, request)

        def ask(step):
            return studio.sample(run, config, stored, SampleWish(step=step))

        return SimpleNamespace(record=stored.record, ask=ask, stage=lambda: studio._stage)

    yield open_room
    studio.close()


def decode(array):
    values = np.frombuffer(base64.b64decode(array["data"]), "<f4")
    return values.reshape(-1, array["width"])


def test_sequences_begin_with_the_step_and_are_told_where_one_was_drawn(open_room):
    room = open_room()
    told = [room.ask(step) for step in (0, 1, 2, 3, 4)]
    assert [one["n_left"] for one in told] == [0, 2, 1, 0, 2]
    assert {one["execution"] for one in told} == {EXECUTION}
    assert {one["horizon"] for one in told} == {LENGTH - SEEN + 1}
    drawn = decode(told[3]["sequences"])
    assert drawn.shape == (N_SEQUENCES, LENGTH - SEEN + 1)
    assert (drawn.std(axis=0) > 0).all()
    assert room.ask(3) == told[3]
    assert room.ask(0) == told[0]  # whatever was asked for in between


def test_what_was_done_is_what_the_walk_finds(open_room):
    """The policy acts again as it did: its actions are those of the record."""
    room = open_room()
    room.ask(5)
    (walk,) = room.stage()._samples._walks._kept.values()
    policy = room.stage()._policy(room.record.request).policy
    done = []
    for t in range(5):
        queue = policy._queue(walk.state[t])
        if int(policy.n_left(walk.state[t])):  # carried out from what was remembered
            done.append((t, float(policy.to_env(queue[:, 0])[0, 0])))
    assert [t for t, _ in done] == [1, 2, 4]
    for t, action in done:
        assert np.clip(action, -2, 2) == pytest.approx(room.record.traces["action"][t][0], abs=1e-5)


def test_a_step_that_there_is_not_is_refused(open_room):
    room = open_room()
    with pytest.raises(UserError, match="the steps of this episode are 0 to 5"):
        room.ask(6)


def test_only_who_draws_sequences_has_some():
    assert sample_options(make_config()) is None
    assert sample_options(config_of()) == {"n": N_SEQUENCES}


@pytest.mark.parametrize("question", [None, {}, {"step": "one"}, {"step": 1.5}])
def test_other_questions_are_refused(question):
    with pytest.raises(UserError):
        SampleWish.of_question(question)
