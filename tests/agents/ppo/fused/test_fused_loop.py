"""The loop around the kernels: whose the weights are, what is saved, what is told."""

from __future__ import annotations

import pytest
import torch

from gym_envs.torch_envs import TorchVectorEnv
from tests.helpers.fused_loops import DEVICE, HYPERPARAMETERS, FusedLoop, flatten, make_loop
from utils.device_rollouts import EpisodeTotals

pytestmark = [pytest.mark.gpu] if DEVICE == "cuda" else []
needs_gpu = pytest.mark.skipif(DEVICE != "cuda", reason="needs a CUDA device")
TINY = {"n_envs": 8, "n_steps": 2, "n_epochs": 1, "n_minibatches": 1, "hidden_dims": (32,)}


def _weights(loop: FusedLoop) -> torch.Tensor:
    return flatten(list(loop.policy.parameters()))


def _moments(loop: FusedLoop) -> torch.Tensor:
    states = [loop.optimizer.state[p] for p in loop.policy.parameters()]
    return flatten([state[key] for state in states for key in ("exp_avg", "exp_avg_sq")])


def test_two_iterations_at_once_are_two_iterations_one_by_one():
    at_once, one_by_one = make_loop(**TINY), make_loop(**TINY)
    report = at_once.run(2, HYPERPARAMETERS)
    reports = [one_by_one.run(1, HYPERPARAMETERS) for _ in range(2)]
    assert torch.equal(_weights(at_once), _weights(one_by_one))
    assert torch.equal(_moments(at_once), _moments(one_by_one))
    assert report.n_timesteps == 32
    assert (report.n_vec_steps, report.n_updates) == (4, 2)
    assert report.metrics.keys() == reports[0].metrics.keys()
    mean = sum(r.metrics["train/loss/value"] for r in reports) / 2
    assert report.metrics["train/loss/value"] == pytest.approx(mean, rel=1e-6)


def test_another_loop_goes_on_from_the_weights_moments_episodes_and_counter():
    whole, half = make_loop(**TINY), make_loop(**TINY)
    whole.run(2, HYPERPARAMETERS)
    half.run(1, HYPERPARAMETERS)
    resumed = make_loop(**TINY, seed=1)
    resumed.policy.load_state_dict(half.policy.state_dict())
    resumed.optimizer.load_state_dict(half.optimizer.state_dict())
    resumed.iteration.env.set_state(half.iteration.env.get_state())
    resumed.load_state_dict(half.state_dict())
    object.__setattr__(resumed.iteration.settings, "seed", half.iteration.settings.seed)
    resumed.run(1, HYPERPARAMETERS)
    assert torch.equal(_weights(resumed), _weights(whole))
    assert torch.equal(_moments(resumed), _moments(whole))
    assert all(int(s["step"]) == 2 for s in resumed.optimizer.state.values())


def test_weights_that_others_change_between_runs_are_taken_up():
    loop, fresh = make_loop(**TINY), make_loop(**TINY)
    loop.run(1, HYPERPARAMETERS)
    saved = {name: tensor.clone() for name, tensor in loop.policy.state_dict().items()}
    loop.run(1, HYPERPARAMETERS)
    loop.policy.load_state_dict(saved)
    loop.run(1, dict(HYPERPARAMETERS, policy_lr=0.0))
    for name, tensor in loop.policy.state_dict().items():
        assert torch.equal(tensor, saved[name]), name
    assert not torch.equal(_weights(loop), _weights(fresh))


def test_weights_that_nobody_changed_are_not_copied_again():
    loop = make_loop(**TINY)
    loop.run(1, HYPERPARAMETERS)
    imports = []
    loop._import = lambda: imports.append(1)  # type: ignore[method-assign]
    loop.run(1, HYPERPARAMETERS)
    assert not imports


def test_a_report_names_every_metric_and_leaves_out_what_is_undefined():
    loop = make_loop(**TINY)
    unlimited = {k: v for k, v in HYPERPARAMETERS.items() if k != "max_grad_norm"}
    report = loop.run(1, unlimited)
    assert "train/grad/clipped_fraction" not in report.metrics
    metrics = loop.run(1, HYPERPARAMETERS).metrics
    assert 0.0 <= metrics["train/grad/clipped_fraction"] <= 1.0
    names = ("actor_head", "critic_head", "trunk")
    groups = [metrics[f"train/grad/norm_{name}"] for name in names]
    whole = sum(norm**2 for norm in groups) ** 0.5
    assert metrics["train/grad/norm"] == pytest.approx(whole, rel=1e-4)
    assert metrics["train/roll/learner_reward_mean"] == 1.0
    assert metrics["train/loss/entropy"] == -metrics["train/policy/entropy"]


def test_episodes_are_told_once():
    loop = make_loop(n_envs=8, n_steps=16, n_epochs=1, n_minibatches=1, hidden_dims=(32,))
    env = loop.iteration.env
    env.elapsed.fill_(490)  # all are truncated at the tenth step
    report = loop.run(1, HYPERPARAMETERS)
    assert report.episodes == EpisodeTotals(8, 80.0, 10.0, 10.0, 8 * 500)
    assert loop.run(1, HYPERPARAMETERS).episodes.n_episodes < 8


def test_the_learner_is_paid_in_scaled_rewards_and_episodes_are_told_in_raw_ones():
    loop = make_loop(**TINY, reward_scale=0.25)
    loop.iteration.env.elapsed.fill_(499)
    report = loop.run(1, HYPERPARAMETERS)
    assert report.metrics["train/roll/learner_reward_mean"] == 0.25
    assert (report.episodes.n_episodes, report.episodes.return_sum) == (8, 8.0)


def test_the_environment_must_have_been_reset():
    loop = make_loop(**TINY)
    loop.iteration.env.seed = None
    with pytest.raises(AssertionError, match="reset"):
        loop.run(1, HYPERPARAMETERS)


@pytest.mark.gpu
@needs_gpu
def test_a_run_repeats_bit_for_bit_and_the_graph_is_the_launches():
    settings = {"n_envs": 2048, "n_steps": 16, "n_epochs": 4, "n_minibatches": 4}
    loops = [make_loop(**settings) for _ in range(3)]
    for loop in loops[:2]:
        loop.run(5, HYPERPARAMETERS)
    by_hand = loops[2]
    by_hand._write_hyperparameters(HYPERPARAMETERS)
    by_hand._import()
    for _ in range(5):
        by_hand.iteration.carry_out()
    by_hand._export()
    assert torch.equal(_weights(loops[0]), _weights(loops[1]))
    assert torch.equal(_weights(loops[0]), _weights(by_hand))
    assert torch.equal(loops[0].iteration.env.state, loops[1].iteration.env.state)


@pytest.mark.gpu
@needs_gpu
def test_hyperparameters_are_no_part_of_the_graph():
    loop = make_loop(n_envs=256, n_steps=8)
    loop.run(1, HYPERPARAMETERS)
    graph, before = loop._graph, _weights(loop)
    loop.run(1, dict(HYPERPARAMETERS, policy_lr=0.0))
    assert torch.equal(_weights(loop), before)
    loop.run(1, dict(HYPERPARAMETERS, policy_lr=1e-2))
    assert not torch.equal(_weights(loop), before)
    assert loop._graph is graph


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize(
    ("env_id", "at_first", "at_last"),
    [("CartPole-v1", 80.0, 150.0), ("Acrobot-v1", -150.0, -95.0), ("Pendulum-v1", -800.0, -500.0)],
)
def test_policies_learn(env_id, at_first, at_last):
    loop = make_loop(env_id, n_envs=4096, n_steps=32, n_epochs=4, n_minibatches=4)
    hyperparameters = dict(HYPERPARAMETERS, gamma=0.99, gae_lambda=0.95, ent_coef=0.0)
    means = []
    for _ in range(15):
        report = loop.run(10, hyperparameters)
        if report.episodes.n_episodes:
            means.append(report.episodes.return_sum / report.episodes.n_episodes)
    assert means[0] < at_first
    assert means[-1] > at_last


def test_environments_draw_their_first_states_as_the_torch_environment_does():
    loop = make_loop(n_envs=8, n_steps=2, n_epochs=1, n_minibatches=1, hidden_dims=(32,))
    env = loop.iteration.env
    env.elapsed.fill_(498)
    other = TorchVectorEnv("CartPole-v1", 8, device=DEVICE)
    other.reset_tensors(seed=env.seed)
    other.reset_tensors()
    loop.run(1, HYPERPARAMETERS)
    torch.testing.assert_close(env.state, other.state, rtol=1e-6, atol=1e-8)
