from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from tests.helpers.agents import train_epochs
from tests.helpers.demonstrations import make_imitator, write_episodes
from tests.helpers.saved_states import state_differences
from utils.errors import CheckpointError, ConfigError

pytest.importorskip("diffusers")
ALGORITHMS = ["bc", "diffusion"]


@pytest.fixture(autouse=True)
def _own_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))


@pytest.mark.parametrize("algo_id", ALGORITHMS)
def test_counts_are_exact_and_the_last_epoch_ends_with_the_run(algo_id: str) -> None:
    agent = make_imitator(algo_id, max_timesteps=76)  # 10 updates of 8, in epochs of 4
    seen = []
    while agent.end_reason is None:
        train_epochs(agent, 1)
        seen.append((agent.counters.updates, agent.counters.timesteps, agent.counters.epoch))
    assert seen == [(4, 32, 1), (8, 64, 2), (10, 80, 3)]
    assert (agent.counters.vec_steps, agent.counters.episodes) == (0, 0)
    agent.close()


@pytest.mark.parametrize("algo_id", ALGORITHMS)
def test_a_resumed_run_goes_on_bit_for_bit(algo_id: str) -> None:
    whole = make_imitator(algo_id)
    expected = train_epochs(whole, 3)
    first = make_imitator(algo_id)
    train_epochs(first, 1)
    state = first.checkpoint_state()
    second = make_imitator(algo_id)
    torch.manual_seed(99)  # another process has drawn other numbers
    assert second.load_checkpoint_state(state) == 0
    rows = train_epochs(second, 2)
    for now, then in zip(rows, expected[1:], strict=True):
        assert {k: v for k, v in now.items() if "time" not in k} == {
            k: v for k, v in then.items() if "time" not in k
        }
    assert state_differences(whole.checkpoint_state(), second.checkpoint_state()) == []
    for agent in (whole, first, second):
        agent.close()


def test_a_resumed_run_finds_its_demonstrations_or_refuses() -> None:
    first = make_imitator("bc")
    train_epochs(first, 1)
    other = make_imitator("bc", dataset_episodes=13)
    with pytest.raises(CheckpointError, match="the demonstrations are not those"):
        other.load_checkpoint_state(first.checkpoint_state())
    first.close()
    other.close()


def test_each_pass_sees_every_step_once() -> None:
    agent = make_imitator("bc", batch_size=7, updates_per_epoch=5)
    n = len(agent.source.windows)
    drawn = []
    while len(drawn) < 2 * n:
        (batch,) = agent.source.loader
        assert batch.index_table.shape == (5, 7)
        drawn += batch.index_table.flatten().tolist()
    assert sorted(drawn[:n]) == sorted(drawn[n : 2 * n]) == list(range(n))
    assert drawn[:n] != drawn[n : 2 * n]
    agent.close()


@pytest.mark.parametrize("algo_id", ALGORITHMS)
def test_numbers_are_scaled_by_what_is_learnt_from(algo_id: str) -> None:
    agent = make_imitator(algo_id)
    steps = agent.source.windows.steps
    learnt = agent.demonstrations.action[steps]
    scaled = agent.policy.action_scale(learnt)
    assert scaled.amin(dim=0).tolist() == pytest.approx([-1, -1], abs=1e-5)
    assert scaled.amax(dim=0).tolist() == pytest.approx([1, 1], abs=1e-5)
    seen = agent.policy.normalize(agent.demonstrations.rows(steps))
    assert seen.abs().max() == pytest.approx(1.0, abs=1e-5)
    agent.close()


def test_an_evaluation_changes_nothing_that_is_learnt() -> None:
    plain, judged = make_imitator("diffusion"), make_imitator("diffusion")
    train_epochs(plain, 2)
    train_epochs(judged, 1)
    judged.evaluate(n_episodes=2)
    judged.recorder.flush()
    train_epochs(judged, 1)
    assert (
        state_differences(plain.checkpoint_state()["student"], judged.checkpoint_state()["student"])
        == []
    )
    plain.close()
    judged.close()


def test_the_acting_weights_are_a_moving_average_of_the_learnt_ones() -> None:
    """After one update with n = 0 they keep nothing; after the second 1 - 2^-0.75 = 0.4054."""
    agent = make_imitator("diffusion", updates_per_epoch=1)
    train_epochs(agent, 1)
    first = {k: v.clone() for k, v in agent.student.state_dict().items()}
    acting = agent.policy.denoiser.state_dict()
    assert all(torch.equal(first[k], acting[k]) for k in first)
    train_epochs(agent, 1)
    kept = 1 - 2**-0.75
    for name, value in agent.student.state_dict().items():
        expected = kept * first[name] + (1 - kept) * value
        torch.testing.assert_close(acting[name], expected, rtol=1e-4, atol=1e-6)
    agent.close()


def test_only_the_student_drops_and_cuts() -> None:
    kwargs = {"network": "transformer", "width": 8, "n_layers": 1, "n_heads": 1, "dropout": 0.5}
    agent = make_imitator("diffusion", policy_kwargs=kwargs)
    train_epochs(agent, 1)
    assert agent.student.training
    assert not any(module.training for module in agent.policy.modules())
    agent.close()


@pytest.mark.parametrize("n_seen", [1, 2, 3])
@pytest.mark.parametrize("network", ["unet", "transformer"])
def test_any_number_of_observations_learns_and_acts(network: str, n_seen: int) -> None:
    kwargs: dict[str, Any] = {"network": network}
    if network == "transformer":
        kwargs |= {"width": 8, "n_layers": 1, "n_heads": 1}
    else:
        kwargs |= {"channels": [8], "n_groups": 4, "step_dim": 8}
    agent = make_imitator("diffusion", obs_horizon=n_seen, policy_kwargs=kwargs)
    (row,) = train_epochs(agent, 1)
    assert np.isfinite(row["val/imitation/loss"])
    assert len(agent.evaluate(n_episodes=3).returns) == 3
    agent.close()


def test_pictures_are_learnt_from() -> None:
    kwargs = {"channels": [8], "n_groups": 4, "step_dim": 8, "picture_width": 4, "n_keypoints": 2}
    agent = make_imitator(
        "diffusion",
        env_kwargs={"pixels": True},
        dataset_episodes=4,
        policy_kwargs=kwargs,
        updates_per_epoch=2,
    )
    assert agent.demonstrations.observation.dtype == torch.uint8
    (row,) = train_epochs(agent, 1)
    assert np.isfinite(row["train/imitation/loss"])
    agent.close()


@pytest.mark.parametrize("scheduler", ["ddpm", "ddim"])
@pytest.mark.parametrize("prediction", ["epsilon", "sample", "v_prediction"])
def test_every_kind_of_noise_is_learnt(scheduler: str, prediction: str) -> None:
    agent = make_imitator(
        "diffusion", scheduler=scheduler, prediction=prediction, updates_per_epoch=2
    )
    (row,) = train_epochs(agent, 1)
    assert np.isfinite(row["val/imitation/action_error"])
    agent.close()


def test_diffusion_refuses_choices_in_one_line() -> None:
    with pytest.raises(ConfigError, match="use bc for choices") as caught:
        make_imitator("diffusion", "CartPole-v1", dataset="toys/choices-v0")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("clone", "env_id"), [("gaussian", "CartPole-v1"), ("categorical", "Pendulum-v1")]
)
def test_a_clone_that_does_not_fit_the_actions_is_refused(clone: str, env_id: str) -> None:
    with pytest.raises(ConfigError, match=f"clone: {clone} does not fit"):
        make_imitator("bc", env_id, clone=clone, dataset="toys/any-v0")


def test_without_a_demonstrator_there_is_nothing_scripted() -> None:
    with pytest.raises(ConfigError, match="Pendulum-v1 has no demonstrator"):
        make_imitator("bc", "Pendulum-v1")


def test_choices_and_deviations_are_cloned_from_a_dataset() -> None:
    pytest.importorskip("minari")
    pytest.importorskip("h5py")
    from gymnasium import make

    for env_id, clone in (("CartPole-v1", "auto"), ("Pendulum-v1", "gaussian")):
        env = make(env_id)
        seen = spaces.Box(-1, 1, env.observation_space.shape, np.float32)
        dataset = f"toys/{clone}-v0"
        write_episodes(dataset, seen, env.action_space)
        env.close()
        agent = make_imitator("bc", env_id, dataset=dataset, clone=clone)
        before, *_, after = train_epochs(agent, 20)
        assert after["train/imitation/loss"] < before["train/imitation/loss"]
        assert ("train/policy/std" in after) == (clone == "gaussian")
        agent.close()


def test_the_rate_rises_and_falls_as_asked() -> None:
    agent = make_imitator("bc", warmup_updates=4, policy_lr="lin_1", max_timesteps=80)
    rates = []
    for n in range(10):
        agent.counters.updates = n
        rates.append(agent._learning_rate())
    # Of 10 updates: 1 - n / 10, times (n + 1) / 4 at first.
    expected = [0.25, 0.45, 0.6, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    assert rates == pytest.approx(expected)
    agent.close()


def test_weights_of_another_run_are_where_learning_begins() -> None:
    first, second = make_imitator("diffusion"), make_imitator("diffusion", seed=1)
    train_epochs(first, 1)
    state = first.checkpoint_state()
    second.load_policy_state(state)
    second.take_over_policy(state)
    assert state_differences(state["student"], second.checkpoint_state()["student"]) == []
    first.close()
    second.close()
