"""The life of World Models: phases, what each changes, and going on after a kill."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import torch

from tests.helpers.agents import train_epochs
from tests.helpers.saved_states import state_differences
from tests.helpers.world_models_2018 import (
    COLLECT,
    DREAM,
    PLAY,
    REMEMBER,
    SEE,
    SMALL,
    make_world_models,
)
from utils.checkpoints import load_checkpoint, save_checkpoint
from utils.config import config_from_dict, load_config
from utils.errors import CheckpointError, ConfigError, MissingDependencyError

N_EPOCHS = 9
"""Of `SMALL`: 2 of collecting, 2 and 2 of learning, 3 generations."""


def parameters_of(agent) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in agent.policy.state_dict().items()}


def changed(before, agent) -> set[str]:
    """Return which parts of V, M and C are not what they were."""
    names = {n for n, v in agent.policy.state_dict().items() if not torch.equal(before[n], v)}
    return {name.split(".")[1] if "." in name else name for name in names}


def test_each_phase_changes_its_own_part() -> None:
    agent = make_world_models()
    seen, positions = [], []
    for _ in range(N_EPOCHS):
        before = parameters_of(agent)
        (row,) = train_epochs(agent, 1)
        positions.append(row["train/replay/phases_done"])
        seen.append(changed(before, agent))
    vision, memory = {"encoder", "decoder"}, {"rssm", "reward", "goes_on"}
    assert seen == [set()] * 2 + [vision] * 2 + [memory] * 2 + [{"controller"}] * 3
    assert positions == pytest.approx([0.5, 1, 1.5, 2, 2.5, 3, 3 + 1 / 3, 3 + 2 / 3, 4])
    counters = agent.counters
    assert (counters.timesteps, counters.updates, counters.epoch) == (80, 8, N_EPOCHS)
    assert agent.end_reason == "all phases completed"
    assert agent.search.n_generations == 3
    np.testing.assert_allclose(agent.policy.controller.numpy(), agent.search.mean, rtol=1e-6)


def test_generations_in_the_environment_count_its_steps() -> None:
    agent = make_world_models(phases=[COLLECT, PLAY])
    rows = train_epochs(agent, 4)
    # 4 candidates x 2 episodes in 2 environments: 4 waves, of 8 vector steps at most.
    assert 80 < agent.counters.timesteps <= 80 + 2 * 4 * 8 * 2
    assert agent.counters.timesteps == 2 * agent.counters.vec_steps
    assert rows[3]["train/roll/n_episodes"] == 8
    assert "train/roll/ep_rew_mean" in rows[3]


def test_the_budget_ends_a_phase_that_has_no_duration() -> None:
    play = {**PLAY, "duration": None}
    agent = make_world_models(phases=[COLLECT, play], max_timesteps=100)
    train_epochs(agent, 3)
    assert agent.counters.timesteps >= 100
    assert agent.end_reason == "max_timesteps reached"


def test_phases_without_timesteps_have_their_turn_after_the_last_one() -> None:
    play = {**PLAY, "duration": {"updates": 1000}}
    again = {**COLLECT, "name": "collect again"}
    agent = make_world_models(
        phases=[COLLECT, play, again, SEE, REMEMBER, DREAM], max_timesteps=100
    )
    train_epochs(agent, 3)
    assert agent.counters.timesteps >= 100
    assert (agent.end_reason, agent.source.scheduler.current.name) == (None, SEE["name"])
    while agent.end_reason is None:
        train_epochs(agent, 1)
    assert agent.end_reason == "all phases completed"
    assert agent.counters.updates == 8


def test_after_an_evolution_the_controller_collects() -> None:
    later = {**COLLECT, "name": "collect again"}
    agent = make_world_models(phases=[COLLECT, SEE, REMEMBER, DREAM, later])
    train_epochs(agent, N_EPOCHS)
    n_before = agent.source.buffer.n_added
    agent.policy.controller.fill_(100.0)
    train_epochs(agent, 1)
    assert agent.source.buffer.n_added == n_before + 40
    newest = agent.source.buffer.all_rows()[-5:-1]
    stored = agent.source.buffer.action.gather(agent.source.buffer.table.held(newest.numpy()))
    assert set(stored.abs().unique().tolist()) <= {0.0, 1.0}  # tanh of large numbers, or an end


@pytest.mark.parametrize(("joint", "controller"), [(True, "z"), (False, "z_h_c")])
def test_every_shape_of_model_and_controller_goes_through(joint, controller) -> None:
    agent = make_world_models(policy_kwargs={"joint_mixture": joint, "controller": controller})
    rows = train_epochs(agent, N_EPOCHS)
    width = {"z": 3, "z_h": 8, "z_h_c": 13}[controller]
    assert agent.policy.controller.numel() == width + 1
    assert all(np.isfinite(list(row.values())).all() for row in rows)


def saved(agent, path) -> None:
    agent.save_companions(path)
    save_checkpoint(path, agent.checkpoint_state())


@pytest.mark.parametrize("n_before", [1, 3, 5, 7])
def test_a_killed_run_goes_on_bit_for_bit(n_before, tmp_path) -> None:
    agent = make_world_models()
    train_epochs(agent, n_before)
    path = tmp_path / f"epoch={n_before:02}.ckpt"
    saved(agent, path)
    straight = train_epochs(agent, N_EPOCHS - n_before)

    resumed = make_world_models()
    resumed.load_companions(path)
    assert resumed.load_checkpoint_state(load_checkpoint(path)) == 0
    rows = train_epochs(resumed, N_EPOCHS - n_before)
    assert without_times(rows) == without_times(straight)
    assert state_differences(resumed.checkpoint_state(), agent.checkpoint_state()) == []


def test_generations_in_the_environment_go_on_bit_for_bit(tmp_path) -> None:
    changes = {"phases": [COLLECT, {**PLAY, "duration": {"updates": 3}}]}
    agent = make_world_models(**changes)
    train_epochs(agent, 3)
    path = tmp_path / "epoch=03.ckpt"
    saved(agent, path)
    straight = train_epochs(agent, 2)
    resumed = make_world_models(**changes)
    resumed.load_companions(path)
    resumed.load_checkpoint_state(load_checkpoint(path))
    assert without_times(train_epochs(resumed, 2)) == without_times(straight)
    assert state_differences(resumed.checkpoint_state(), agent.checkpoint_state()) == []


def without_times(rows):
    return [{k: v for k, v in row.items() if "/time/" not in k} for row in rows]


def test_a_buffer_that_has_not_changed_is_not_written_again(tmp_path) -> None:
    agent = make_world_models()
    train_epochs(agent, 2)
    paths = [tmp_path / f"epoch={n:02}.ckpt" for n in range(2, 7)]
    saved(agent, paths[0])
    train_epochs(agent, 1)
    saved(agent, paths[1])
    files = [path.with_suffix(".replay") for path in paths]
    assert files[0].samefile(files[1])
    train_epochs(agent, 2)  # the latents are stored with the first epoch of M
    saved(agent, paths[2])
    assert not files[2].samefile(files[1])
    resumed = make_world_models()
    resumed.load_companions(paths[2])
    resumed.load_checkpoint_state(load_checkpoint(paths[2]))
    train_epochs(resumed, 1)
    saved(resumed, paths[3])
    assert files[3].samefile(files[2])


def test_without_its_steps_a_run_cannot_go_on(tmp_path) -> None:
    agent = make_world_models()
    (tmp_path / "epoch=02.ckpt").touch()
    with pytest.raises(CheckpointError, match=r"epoch=02\.replay' is not there: the steps"):
        agent.load_companions(tmp_path / "epoch=02.ckpt")


def test_evaluating_changes_nothing() -> None:
    def final(evaluates: bool):
        agent = make_world_models()
        for _ in range(N_EPOCHS):
            train_epochs(agent, 1)
            if evaluates:
                agent.evaluate()
        return agent.policy.state_dict()

    first, second = final(False), final(True)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_fewest_steps_that_are_accepted_are_enough() -> None:
    agent = make_world_models(phases=[{**COLLECT, "duration": {"timesteps": 14}}, REMEMBER])
    train_epochs(agent, 3)
    assert agent.source.buffer.n_sequences >= 2  # of 6 steps, one in each environment
    assert agent.counters.updates == 4
    agent.close()


def test_a_blind_autoencoder_is_told_of(caplog) -> None:
    agent = make_world_models(policy_lr=0.0)
    with caplog.at_level(logging.WARNING, logger="gymnasium_solver"):
        train_epochs(agent, 5)
    assert "the autoencoder explains" in caplog.text
    assert "what follows will be blind" in caplog.text


def test_steps_on_a_disk_are_the_same(tmp_path) -> None:
    def losses(**changes):
        return without_times(train_epochs(make_world_models(**changes), N_EPOCHS))

    assert losses(buffer_folder=str(tmp_path)) == losses()
    assert list(tmp_path.iterdir()) == []  # files without names


def test_a_folder_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="buffer_folder: there is no folder '/gone'"):
        make_world_models(buffer_folder="/gone")


def test_without_the_library_nothing_begins(monkeypatch) -> None:
    monkeypatch.setattr("utils.evolution.cma_es.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="CMA-ES needs the package 'cma'"):
        make_world_models()
    make_world_models(phases=[COLLECT, SEE, REMEMBER])


def test_numbers_are_no_pictures() -> None:
    with pytest.raises(ConfigError, match="world_models sees one picture"):
        make_world_models("Pendulum-v1")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"phases": []}, "must name at least one phase"),
        (
            {"phases": [COLLECT, {**SEE, "hooks": ["update_vae", "update_rnn"]}]},
            "a phase of world_models does one of collect, update_vae, update_rnn and evolve",
        ),
        ({"phases": [SEE]}, "is offline and comes first, when nothing is stored yet"),
        ({"evolve_max_steps": None}, "set evolve_max_steps"),
        ({"held_steps": [4, 2]}, "must be \\[least, most\\]"),
        ({"buffer_steps": 10}, "cannot hold a sequence of each environment: 14 steps"),
        ({"vectorization": "native"}, "cannot give each environment a seed of its own"),
        (
            {"phases": [{**COLLECT, "duration": {"timesteps": 12}}, SEE, REMEMBER]},
            "\\(phases.2\\) learns from 12 stored timesteps and needs 14, 7 in each of 2 env",
        ),
    ],
)
def test_settings_that_do_not_fit_together_are_named(changes, message) -> None:
    settings = {
        "schema_version": 2,
        "config_id": "Toy-v0:world_models",
        "algo_id": "world_models",
        "env_id": "Spotlight-v0",
        "n_envs": 2,
        **SMALL,
    }
    config_from_dict(settings)
    with pytest.raises(ConfigError, match=message):
        config_from_dict(settings | changes)


def test_the_configs_keep_the_papers_shapes() -> None:
    config = load_config("CarRacing-v3:world_models")
    kwargs = config.policy_kwargs
    assert (kwargs.latents, kwargs.depth, kwargs.units, kwargs.mixtures) == (32, 32, 256, 5)
    assert not kwargs.joint_mixture
    config = load_config("VizDoom-TakeCover:world_models")
    assert config.dreams
    assert config.temperature == 1.15
