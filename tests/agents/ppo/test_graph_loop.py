"""The captured iteration against the eager one, and what allows it to be captured."""

import copy

import pytest
import torch

from agents.ppo.eager_loop import EagerLoop
from agents.ppo.graph_loop import GraphLoop, why_not_graph
from tests.helpers.agents import make_agent, train_epochs
from tests.helpers.refuse_reading import RefuseReading
from utils.optimization.capture import move_step_counts
from utils.schedules import ScheduleSpec

SETTINGS = {
    "vectorization": "torch",
    "n_envs": 64,
    "n_steps": 16,
    "batch_size": 256,
    "n_epochs": 2,
    "max_timesteps": 1_000_000,
    "max_episode_steps": 30,
    "policy_kwargs": {"hidden_dims": [32, 32]},
}
VARIANTS = [
    ("CartPole-v1", {}),
    ("CartPole-v1", {"ent_coef": "lin_0.02", "clip_range": "lin_0.2", "policy_lr": "lin_0.003"}),
    ("CartPole-v1", {"policy_kwargs": {"hidden_dims": [32], "activation": "elu"}}),
    ("CartPole-v1", {"policy_kwargs": {"hidden_dims": [32], "share_trunk": True}}),
    ("Acrobot-v1", {"normalize_obs": "static", "normalize_advantages": "rollout"}),
    ("Pendulum-v1", {"ent_coef": 0.01, "clip_range_vf": 0.5, "optimizer": "Adam"}),
    ("MountainCarContinuous-v0", {"max_grad_norm": None, "batch_size": 1.0}),
]
on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.mark.parametrize(("env_id", "changes"), VARIANTS)
def test_an_iteration_with_scalars_on_the_device_reads_nothing_back(env_id, changes):
    agent = make_agent(env_id, **SETTINGS | changes)
    agent.source.reset(seed=1)
    env, iteration = agent.train_env, agent.device_loop.iteration
    env._begin_episodes = env._begin_everywhere  # as on other devices
    schedules = agent.config.hyperparameters
    values = {
        name: torch.tensor(value) if isinstance(schedules[name], ScheduleSpec) else value
        for name, value in agent.hyperparameters.items()
    }
    iteration.carry_out(values)  # makes the optimiser's state
    with RefuseReading():
        iteration.carry_out(values)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "device is cpu"),
        ({"device": "cuda", "target_kl": 0.1}, "target_kl is set"),
        ({"device": "cuda", "normalize_obs": "rolling"}, "normalize_obs is rolling"),
        ({"device": "cuda", "optimizer": "SGD"}, "optimizer is SGD"),
        ({"device": "cuda", "optimizer_kwargs": {"foreach": True}}, "optimizer_kwargs"),
        ({"device": "cuda"}, None),
    ],
)
def test_what_cannot_be_captured_is_named(changes, reason):
    agent = make_agent("CartPole-v1", **SETTINGS | changes | {"device": "cpu"})
    agent.compute_device = torch.device(changes.get("device", "cpu"))
    found = why_not_graph(agent)
    assert found == reason if reason is None else found.startswith(reason)


def cuda_agent(env_id, loop, **changes):
    agent = make_agent(env_id, **SETTINGS | changes | {"device": "cuda"})
    agent.device_loop = agent.source.loop = loop(agent)
    return agent


def assert_equal_policies(one, other, **tolerance):
    for (name, ours), theirs in zip(
        one.policy.named_parameters(), other.policy.parameters(), strict=True
    ):
        torch.testing.assert_close(
            ours, theirs, msg=lambda text, n=name: f"{n}: {text}", **tolerance
        )


@pytest.mark.gpu
@on_cuda
@pytest.mark.parametrize(("env_id", "changes"), VARIANTS)
def test_the_captured_iteration_is_the_eager_one(env_id, changes):
    graph, eager = (cuda_agent(env_id, loop, **changes) for loop in (GraphLoop, EagerLoop))
    rows = [train_epochs(agent, 3) for agent in (graph, eager)]
    assert graph.device_loop.n_captures == 1
    assert graph.train_env.state.equal(eager.train_env.state)
    assert_equal_policies(graph, eager, rtol=1e-5, atol=1e-6)
    for ours, theirs in zip(*rows, strict=True):
        assert ours.keys() == theirs.keys()
        for key in ours.keys() - {"train/time/update_seconds"}:
            assert ours[key] == pytest.approx(theirs[key], rel=1e-3, abs=1e-5), key
    assert sum(row["train/roll/n_episodes"] for row in rows[0]) > 0


@pytest.mark.gpu
@on_cuda
def test_a_resumed_graph_goes_on_as_the_uninterrupted_one():
    whole = cuda_agent("CartPole-v1", GraphLoop)
    train_epochs(whole, 2)
    state = copy.deepcopy(whole.checkpoint_state())
    assert isinstance(state["optimizer"]["param_groups"][0]["lr"], float)
    assert not state["optimizer"]["param_groups"][0]["capturable"]
    train_epochs(whole, 2)
    resumed = cuda_agent("CartPole-v1", GraphLoop)
    resumed.load_checkpoint_state(copy.deepcopy(state))  # an optimiser keeps what it loads
    train_epochs(resumed, 2)
    assert resumed.train_env.state.equal(whole.train_env.state)
    assert_equal_policies(resumed, whole, rtol=1e-6, atol=1e-7)
    eager = cuda_agent("CartPole-v1", EagerLoop)
    eager.load_checkpoint_state(state)
    train_epochs(eager, 2)
    assert_equal_policies(eager, whole, rtol=1e-5, atol=1e-6)


@pytest.mark.gpu
@on_cuda
def test_a_running_graph_is_captured_anew_when_a_state_is_loaded():
    agent = cuda_agent("CartPole-v1", GraphLoop)
    train_epochs(agent, 2)
    state = copy.deepcopy(agent.checkpoint_state())
    train_epochs(agent, 2)
    expected = [p.detach().clone() for p in agent.policy.parameters()]
    agent.load_checkpoint_state(state)  # the optimiser's tensors are others now
    train_epochs(agent, 2)
    assert agent.device_loop.n_captures == 2
    for ours, theirs in zip(agent.policy.parameters(), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-7)


@pytest.mark.gpu
@on_cuda
def test_a_model_that_the_kernels_do_not_know_is_captured():
    agent = make_agent("CartPole-v1", **SETTINGS | {"device": "cuda", "clip_range_vf": 0.5})
    assert isinstance(agent.device_loop, GraphLoop)


@pytest.mark.gpu
@on_cuda
def test_capturing_changes_nothing_that_is_trained():
    agent = cuda_agent("CartPole-v1", GraphLoop)
    agent.source.reset(seed=1)
    before = [p.detach().clone() for p in agent.policy.parameters()]
    state, generator = agent.train_env.state.clone(), agent.device_loop.iteration.action_generator
    numbers = generator.get_state()
    agent.device_loop._capture(agent.hyperparameters)
    assert agent.train_env.state.equal(state)
    assert generator.get_state().equal(numbers)
    for ours, theirs in zip(agent.policy.parameters(), before, strict=True):
        assert ours.equal(theirs)
    for kept in agent.optimizer.state.values():
        assert not any(bool(value.any()) for value in kept.values())


def test_step_counts_go_where_their_parameters_are():
    # A device without numbers stands in for a GPU.
    parameter = torch.nn.Parameter(torch.zeros(3, device="meta"))
    optimizer = torch.optim.AdamW([parameter], lr=1e-3)
    optimizer.state[parameter] = {"step": torch.tensor(7.0), "exp_avg": torch.zeros(3)}
    move_step_counts(optimizer)
    assert optimizer.state[parameter]["step"].device.type == "meta"
