"""Every kernel against plain torch: in Triton's interpreter on the CPU, compiled on a GPU."""

from __future__ import annotations

import gymnasium as gym
import pytest
import torch

from gym_envs.physics import list_classic_specs
from gym_envs.torch_envs import TorchVectorEnv
from tests.helpers.fused_loops import (
    DEVICE,
    HYPERPARAMETERS,
    columns,
    double_policy,
    epoch_order,
    flatten,
    kernel_gradient,
    make_iteration_of_any_shape,
    make_loop,
    minibatch_rows,
    perturb,
    prepare,
    reference_loss,
    relative_error,
)
from utils.returns import generalized_advantage

IS_GPU = DEVICE == "cuda"
pytestmark = pytest.mark.gpu if IS_GPU else pytest.mark.slow  # the interpreter is
# On the GPU operands have half precision (2^-11 relative) and tanh is the hardware's (2^-11).
OUTPUT_TOLERANCE = 4e-3 if IS_GPU else 2e-5
GRADIENT_TOLERANCE = 5e-4 if IS_GPU else 2e-5
# Where the samples' contributions nearly cancel (advantages with a mean, random targets), the error
# is as large as that of single samples.
CANCELLING_TOLERANCE = 5e-3 if IS_GPU else 2e-5
ENV_IDS = [spec.env_id for spec in list_classic_specs()]
NETWORKS = [
    ((64, 64), "tanh"),
    ((64, 64), "relu"),
    ((48,), "tanh"),
    ((128, 32), "relu"),
    ((20, 100), "tanh"),
]


def _replay(loop, before):
    """Step a second environment from the same start with the actions that the kernels chose."""
    iteration = loop.iteration
    env = TorchVectorEnv(iteration.env.env_id, iteration.n_envs, device=DEVICE)
    env.reset_tensors(seed=iteration.env.seed)
    for name, tensor in before.items():
        getattr(env, name).copy_(tensor)
    parts = columns(iteration)
    n, limit = iteration.n_envs, env.spec_of_physics.action_limit
    observations, steps = [], []
    for t in range(iteration.settings.n_steps):
        observations.append(env.observe_tensors())
        action = parts["action"][t * n : (t + 1) * n]
        steps.append(env.step_tensors(action.clamp(-limit, limit) if limit else action))
    return env, torch.cat(observations), steps


@pytest.mark.parametrize("normalize_obs", ["none", "static"])
@pytest.mark.parametrize("env_id", ENV_IDS)
def test_rollout_is_the_torch_environment_with_the_recorded_actions(env_id, normalize_obs):
    loop = make_loop(env_id, n_envs=24, n_steps=8, normalize_obs=normalize_obs)
    prepare(loop)
    iteration = loop.iteration
    names = ("state", "elapsed", "episode_return", "episode")
    before = {name: getattr(iteration.env, name).clone() for name in names}
    iteration.rollout()
    env, observation, steps = _replay(loop, before)
    parts, normalize = columns(iteration), loop.policy.normalize
    observation = normalize(observation)
    torch.testing.assert_close(parts["observation"], observation, rtol=1e-4, atol=2e-5)
    reward = torch.cat([step.reward for step in steps])
    torch.testing.assert_close(parts["advantage"], reward, rtol=1e-4, atol=2e-5)
    terminated = torch.cat([step.terminated for step in steps])
    truncated = torch.cat([step.truncated for step in steps])
    assert truncated.any(), "the test is meant to see truncations"
    assert torch.equal(iteration.flags == 1, terminated)
    assert torch.equal(iteration.flags == 2, truncated)
    final = normalize(torch.cat([step.final_observation for step in steps]))
    torch.testing.assert_close(iteration.final[truncated], final[truncated], rtol=1e-4, atol=2e-5)
    for name in names:
        ours, theirs = getattr(iteration.env, name), getattr(env, name)
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=2e-5)
    done = terminated | truncated
    returns = torch.cat([step.episode_return for step in steps])[done]
    lengths = torch.cat([step.episode_length for step in steps])[done]
    sums = iteration.episodes.double()
    assert int(sums[:, 1].sum()) == int(done.sum())
    assert int(sums[:, 4].sum()) == int(lengths.sum())
    assert float(sums[:, 0].sum()) == pytest.approx(float(returns.sum()), rel=1e-4)
    assert float(sums[:, 2].min()) == pytest.approx(float(returns.min()), rel=1e-4)
    assert float(sums[:, 3].max()) == pytest.approx(float(returns.max()), rel=1e-4)


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_actions_are_drawn_with_the_log_probability_of_the_policy(env_id):
    loop = make_loop(env_id, n_envs=100, n_steps=10)
    prepare(loop)
    loop.iteration.rollout()
    parts = columns(loop.iteration)
    with torch.no_grad():
        new = loop.policy.evaluate_actions(parts["observation"], parts["action"])
        parameters, _ = loop.policy(parts["observation"])
    torch.testing.assert_close(
        parts["logprob"], new.logprob, rtol=OUTPUT_TOLERANCE, atol=2 * OUTPUT_TOLERANCE
    )
    if loop.iteration.layout.is_normal:
        mean, log_std = parameters
        z = ((parts["action"] - mean) / log_std.exp()).detach()
        n = z.numel()
        assert abs(float(z.mean())) * n**0.5 < 4.0
        assert abs(float(z.square().mean()) - 1.0) * (n / 2) ** 0.5 < 4.0
        return
    p = parameters[0].softmax(dim=-1)
    for choice in range(p.shape[1]):
        surplus = ((parts["action"] == choice).float() - p[:, choice]).sum()
        deviation = (p[:, choice] * (1 - p[:, choice])).sum().sqrt()
        assert abs(float(surplus / deviation)) < 4.0, choice


def test_no_two_iterations_draw_the_same_actions():
    loop = make_loop("Pendulum-v1", n_envs=16, n_steps=4)
    prepare(loop)
    iteration = loop.iteration
    before = iteration.env.state.clone()
    iteration.rollout()
    first = columns(iteration)["action"].clone()
    assert len(first.unique()) == first.numel()
    iteration.env.state.copy_(before)
    iteration.counters[0] = 1
    iteration.rollout()
    assert not torch.equal(first[:16], columns(iteration)["action"][:16])


@pytest.mark.parametrize("normalize_obs", ["none", "static"])
@pytest.mark.parametrize(("hidden_dims", "activation"), NETWORKS)
def test_returns_are_gae_with_the_critics_values(hidden_dims, activation, normalize_obs):
    loop = make_loop(
        "Acrobot-v1",
        n_envs=24,
        n_steps=8,
        hidden_dims=hidden_dims,
        activation=activation,
        normalize_obs=normalize_obs,
    )
    prepare(loop)
    iteration = loop.iteration
    iteration.rollout()
    parts = {name: part.clone() for name, part in columns(iteration).items()}
    iteration.returns()

    def rows(x):
        return x.view(8, 24, *x.shape[1:])

    with torch.no_grad():
        value = rows(loop.policy.predict_value(parts["observation"]))
        last = loop.policy.normalize(iteration.env.observe_tensors())
        after = loop.policy.predict_value(last)
        final = rows(loop.policy.predict_value(iteration.final))
    flags = rows(iteration.flags)
    assert (flags == 2).any()
    next_value = torch.where(flags == 2, final, torch.cat([value[1:], after[None]]))
    advantage, returns = generalized_advantage(
        reward=rows(parts["advantage"]),
        value=value,
        next_value=next_value,
        terminated=flags == 1,
        done=flags > 0,
        gamma=HYPERPARAMETERS["gamma"],
        gae_lambda=HYPERPARAMETERS["gae_lambda"],
    )
    ours = columns(iteration)
    assert relative_error(rows(ours["advantage"]), advantage) < OUTPUT_TOLERANCE
    assert relative_error(rows(ours["returns"]), returns) < OUTPUT_TOLERANCE
    assert torch.equal(iteration.advantages, ours["advantage"])


@pytest.mark.parametrize("n_envs", [1, 3, 16, 37, 100])
def test_shuffle_visits_every_sample_once_in_another_order_each_epoch(n_envs):
    loop = make_loop(n_envs=n_envs, n_steps=6, n_minibatches=2)
    iteration = loop.iteration
    n = iteration.n_samples
    orders = [epoch_order(iteration, m) for m in (0, 2)]
    iteration.counters[0] = 1
    orders.append(epoch_order(iteration, 0))
    for order in orders:
        assert torch.equal(order.sort().values, torch.arange(n, device=DEVICE))
    assert not torch.equal(orders[0], orders[1])
    assert not torch.equal(orders[0], orders[2])


def test_neighbours_in_the_shuffle_are_not_correlated():
    order = epoch_order(make_loop(n_envs=250, n_steps=8, n_minibatches=2).iteration, 0).double()
    position = torch.arange(len(order), device=DEVICE).double()
    table = torch.stack([order[1:], order[:-1], position[1:]])
    correlation = torch.corrcoef(table)[0, 1:]
    # One standard deviation of a correlation of n independent pairs is 1 / sqrt(n).
    assert float(correlation.abs().max()) < 4.0 / len(order) ** 0.5


GRADIENT_CASES = [
    *[(env_id, (64, 64), "tanh", "batch") for env_id in ENV_IDS],
    *[("Acrobot-v1", *network, "batch") for network in NETWORKS],
    *[("CartPole-v1", *network, "batch") for network in NETWORKS],
    *[("Pendulum-v1", *network, "none") for network in NETWORKS],
    ("CartPole-v1", (64, 64), "tanh", "rollout"),
    ("CartPole-v1", (64, 64), "tanh", "none"),
]


@pytest.mark.parametrize(("env_id", "hidden_dims", "activation", "mode"), GRADIENT_CASES)
def test_gradient_of_a_minibatch_is_autograds(env_id, hidden_dims, activation, mode):
    loop = make_loop(
        env_id,
        # Blocks of 64 leave a rest. With half precision single samples end up on the other side of
        # a kink (the clip, ReLU): it takes many for that not to show.
        n_envs=8006 if IS_GPU else 30,
        n_steps=5,
        hidden_dims=hidden_dims,
        activation=activation,
        normalize_advantages=mode,
    )
    prepare(loop)
    iteration = loop.iteration
    iteration.rollout()
    iteration.returns()
    # So that ratios leave 1 and some are clipped, of few samples as of many.
    perturb(loop, scale=0.6 if IS_GPU else 1.2)
    loop._import()
    iteration.compute_gradient(3)
    policy = double_policy(loop.policy)
    loss, terms = reference_loss(policy, iteration, 3)
    reference = flatten(list(torch.autograd.grad(loss, list(policy.parameters()))))
    ours = flatten(kernel_gradient(loop.policy, iteration))
    assert terms["clipped"] > 0, terms
    tolerance = CANCELLING_TOLERANCE if mode == "none" else GRADIENT_TOLERANCE
    assert relative_error(ours, reference) < tolerance
    layout = iteration.layout
    nets = iteration.gradient.view(2, layout.gradient_size)
    sums = nets[:, layout.net_size :] / iteration.minibatch_size
    expected = [terms[name] for name in ("policy", "entropy", "kl", "clipped")]
    scale = 10 * OUTPUT_TOLERANCE
    assert sums[0, :4].tolist() == pytest.approx(expected, rel=scale, abs=scale)
    assert float(sums[1, 0]) == pytest.approx(terms["value"], rel=OUTPUT_TOLERANCE)
    # The numbers that pad the layout are no parameters and must stay still.
    norm = float((nets[:, : layout.net_size].double() ** 2).sum().sqrt())
    assert norm == pytest.approx(float(ours.norm()), rel=1e-6)


@pytest.mark.parametrize(
    ("n_inputs", "action_space", "hidden_dims"),
    [
        (32, gym.spaces.Discrete(16), (128, 128)),
        (32, gym.spaces.Discrete(2), (64, 64)),
        (17, gym.spaces.Discrete(15), (64,)),
        (1, gym.spaces.Discrete(5), (32, 64)),
        (24, gym.spaces.Box(-1, 1, (8,)), (64, 64)),
        (11, gym.spaces.Box(-1, 1, (3,)), (128,)),
        (3, gym.spaces.Box(-1, 1, (2,)), (64, 64)),
    ],
)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_gradient_of_networks_of_any_shape(n_inputs, action_space, hidden_dims, activation):
    policy, iteration = make_iteration_of_any_shape(
        n_inputs, action_space, hidden_dims=hidden_dims, activation=activation
    )
    iteration.compute_gradient(1)
    exact = double_policy(policy)
    loss, terms = reference_loss(exact, iteration, 1)
    reference = flatten(list(torch.autograd.grad(loss, list(exact.parameters()))))
    ours = flatten(kernel_gradient(policy, iteration))
    assert relative_error(ours, reference) < CANCELLING_TOLERANCE
    layout = iteration.layout
    sums = iteration.gradient.view(2, layout.gradient_size)[0, layout.net_size :]
    expected = [terms[name] for name in ("policy", "entropy", "kl", "clipped")]
    mean = (sums[:4] / iteration.minibatch_size).tolist()
    assert mean == pytest.approx(expected, rel=10 * OUTPUT_TOLERANCE, abs=10 * OUTPUT_TOLERANCE)


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("AdamW", {}),
        ("AdamW", {"weight_decay": 0.3, "betas": (0.8, 0.95), "eps": 1e-5}),
        ("Adam", {"weight_decay": 0.3}),
        ("Adam", {"betas": (0.0, 0.9)}),
    ],
)
@pytest.mark.parametrize("limit", [None, 0.05])
def test_optimizer_steps_are_torchs(name, kwargs, limit):
    loop = make_loop(optimizer=name, optimizer_kwargs=kwargs)
    prepare(loop)
    hyperparameters = dict(HYPERPARAMETERS, max_grad_norm=limit)
    if limit is None:
        del hyperparameters["max_grad_norm"]
    loop._write_hyperparameters(hyperparameters)
    iteration = loop.iteration
    iteration.rollout()
    iteration.returns()
    parameters = [torch.nn.Parameter(p.detach().clone()) for p in loop.policy.parameters()]
    optimizer = getattr(torch.optim, name)(parameters, lr=1e-3, **kwargs)
    for m in range(3):
        iteration.compute_gradient(m)
        for parameter, gradient in zip(
            parameters, kernel_gradient(loop.policy, iteration), strict=True
        ):
            parameter.grad = gradient.clone()
        if limit is not None:
            torch.nn.utils.clip_grad_norm_(parameters, limit)
        optimizer.step()
        iteration.step(m)
    loop._export()
    for ours, theirs in zip(loop.policy.parameters(), parameters, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=2e-7)
        for key in ("exp_avg", "exp_avg_sq"):
            torch.testing.assert_close(
                loop.optimizer.state[ours][key], optimizer.state[theirs][key], rtol=1e-4, atol=1e-8
            )


@pytest.mark.parametrize("env_id", ["CartPole-v1", "MountainCar-v0", "Pendulum-v1"])
def test_a_whole_update_ends_where_autograd_and_torchs_optimizer_end(env_id):
    loop = make_loop(env_id, n_envs=32, n_steps=8, n_epochs=2, n_minibatches=2)
    prepare(loop)
    iteration = loop.iteration
    policy = double_policy(loop.policy)
    start = flatten(list(policy.parameters()))
    iteration.carry_out()
    iteration.counters[0] -= 1  # the order of the samples belongs to this iteration
    optimizer = torch.optim.AdamW(policy.parameters(), lr=HYPERPARAMETERS["policy_lr"])
    terms, norms = [], []
    for m in range(4):
        loss, row = reference_loss(policy, iteration, m)
        optimizer.zero_grad()
        loss.backward()
        limit = HYPERPARAMETERS["max_grad_norm"]
        norms.append(float(torch.nn.utils.clip_grad_norm_(policy.parameters(), limit)))
        optimizer.step()
        terms.append(row)
    loop._export()
    moved = flatten(list(policy.parameters())) - start
    ours = flatten(list(loop.policy.parameters())) - start
    # Adam divides by the gradient's own size, so tiny gradients count as much as large ones.
    assert relative_error(ours, moved) < (0.05 if IS_GPU else 2e-3)
    report = loop._read_report(1, HYPERPARAMETERS)
    means = {key: sum(row[key] for row in terms) / 4 for key in terms[0]}
    metrics = report.metrics
    tolerance = 20 * OUTPUT_TOLERANCE
    for key, name in (
        ("train/loss/policy", "policy"),
        ("train/loss/value", "value"),
        ("train/policy/entropy", "entropy"),
        ("train/ppo/approx_kl", "kl"),
        ("train/ppo/clip_fraction", "clipped"),
    ):
        assert metrics[key] == pytest.approx(means[name], rel=tolerance, abs=tolerance), key
    assert metrics["train/grad/norm"] == pytest.approx(sum(norms) / 4, rel=1e-2)
    parts = columns(iteration)
    for name in ("advantage", "returns"):
        key = {"advantage": "adv"}.get(name, name)
        std, mean = torch.std_mean(parts[name].double(), correction=0)
        assert metrics[f"train/{key}/mean"] == pytest.approx(float(mean), rel=1e-4, abs=1e-4)
        assert metrics[f"train/{key}/std"] == pytest.approx(float(std), rel=1e-3)
    value = (parts["returns"] - parts["advantage"]).double()
    explained = 1 - parts["advantage"].double().var() / parts["returns"].double().var()
    assert value.isfinite().all()
    assert metrics["train/ppo/explained_variance"] == pytest.approx(float(explained), abs=1e-2)


def test_minibatches_of_an_epoch_share_no_sample():
    iteration = make_loop(n_envs=30, n_steps=5, n_minibatches=5).iteration
    rows = torch.cat([minibatch_rows(iteration, m) for m in range(5)])
    assert torch.equal(rows.sort().values, torch.arange(150, device=DEVICE))
