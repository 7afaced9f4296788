"""Plans by fused kernels against the same plans operation by operation."""

import copy

import pytest
import torch

from tests.helpers.fused_plans import make_policy
from tests.helpers.triton_device import DEVICE
from utils.models.captured_call import CapturedCall
from utils.planning.mppi import plan, shift
from utils.policies.fused_planning.availability import find_unsupported
from utils.policies.fused_planning.kernels import norm_mish_kernel, refine_kernel
from utils.policies.fused_planning.planner import FusedPlanner

TOLERANCE = {"rtol": 2e-4, "atol": 2e-5}
SHORT = {"planning": {"horizon": 2, "n_iterations": 2, "n_candidates": 6, "n_elites": 3}}
"""Plans that soon are made where the kernels are interpreted."""


def both_plans(policy, planner=None, *, n=2, deterministic=False, seed=1):
    """Return what the kernels plan and what torch does, of the same noise."""
    planner = planner or FusedPlanner()
    generator = torch.Generator(DEVICE).manual_seed(seed)
    observation = torch.randn((n, 5), generator=generator, device=DEVICE)
    state = torch.rand((n, policy.initial_state(1).shape[1]), generator=generator, device=DEVICE)
    noise, proposed = policy.draw_noise(
        1 if deterministic else n, generator, torch.device(DEVICE), explores=not deterministic
    )
    mean = (2 * state - 1).unflatten(1, (policy.settings.horizon, -1)).transpose(0, 1)
    with torch.no_grad():
        latent = policy.model.encoder(observation, n_leading=1)
        expected = plan(
            lambda actions: policy.returns_of(latent, actions),
            mean=shift(mean),
            proposals=policy.propose(latent, proposed) if policy.n_proposals else None,
            noise=noise,
            min_std=policy.min_std,
            settings=policy.settings,
        )
        return planner.plan(policy, latent, mean, noise, proposed), expected


def assert_equal_plans(ours, expected):
    for name, left, right in zip(ours._fields, ours, expected, strict=True):
        assert left.shape == right.shape, name
        torch.testing.assert_close(left, right, **TOLERANCE, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"critics_are": "least", "ends": True},
        {"n_actions": 1, "n_proposals": 0},
        {"n_actions": 6, "planning": {"n_elites": 20, "momentum": 0.1, "horizon": 1}},
        {"planning": {"n_candidates": 32, "n_elites": 1}},
        {"model": {"mlp_dim": 32, "latent_dim": 64, "simplex_dim": 4, "n_critics": 1}},
    ],
    ids=lambda changes: ",".join(changes) or "defaults",
)
def test_plans_are_those_of_torch(changes):
    policy = make_policy(**changes)
    assert find_unsupported(policy) is None
    assert_equal_plans(*both_plans(policy))


def test_noise_that_all_problems_share_is_read_by_each():
    assert_equal_plans(*both_plans(make_policy(n_proposals=2, **SHORT), n=3, deterministic=True))


def test_what_the_weights_become_is_read_and_nothing_of_the_plan_before():
    policy, planner = make_policy(ends=True, n_proposals=2, **SHORT), FusedPlanner()
    both_plans(policy, planner, seed=5)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(-0.7).add_(0.01)
    assert_equal_plans(*both_plans(policy, planner, seed=6))
    assert_equal_plans(*both_plans(policy, planner, n=1, seed=7))


def test_memory_made_in_inference_mode_serves_outside_of_it_and_back():
    policy, planner = make_policy(n_proposals=2, **SHORT), FusedPlanner()
    with torch.inference_mode():
        assert_equal_plans(*both_plans(policy, planner))
    assert_equal_plans(*both_plans(policy, planner))
    with torch.inference_mode():
        assert_equal_plans(*both_plans(policy, planner, seed=9))


def test_a_copy_of_a_policy_plans_with_its_own_weights():
    policy, planner = make_policy(n_proposals=2, **SHORT), FusedPlanner()
    both_plans(policy, planner)
    twin = copy.deepcopy(policy)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.mul_(0.5)
    assert_equal_plans(*both_plans(twin, copy.deepcopy(planner)))
    assert_equal_plans(*both_plans(twin, planner))
    assert_equal_plans(*both_plans(policy, planner))


def test_values_that_are_no_numbers_count_as_0_and_equal_ones_go_by_their_place():
    values = [float("nan"), -3.0, 2.0, 2.0, float("-inf"), float("inf"), -0.5]
    worth = torch.tensor([values], device=DEVICE)
    actions = torch.arange(7.0, device=DEVICE).view(1, 1, 7, 1).contiguous()
    mean, std = torch.zeros((2, 1, 1, 1), device=DEVICE)
    elites = torch.zeros((1, 1, 5, 1), device=DEVICE)
    chosen, scores = torch.zeros((2, 1, 5), device=DEVICE)
    floor = torch.tensor(0.05, device=DEVICE)
    refine_kernel[(1,)](
        worth, actions, mean, std, elites, chosen, scores, floor, 1, 7, 5, 1, 1e-3, 2.0, 0.0,
        H=1, A=1, K_BLOCK=8, E_BLOCK=8, A_BLOCK=1,
    )  # fmt: skip
    assert elites.flatten().tolist() == [5, 2, 3, 0, 6]
    largest = torch.finfo(torch.float32).max
    assert chosen.flatten().tolist() == [largest, 2.0, 2.0, 0.0, -0.5]
    assert scores.flatten().tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert mean.item() == 5.0
    assert std.item() == pytest.approx(0.05)


def test_the_norm_and_mish_of_two_networks_by_hand():
    # Norm of (3, 5): mean 4, deviation 1, so (-1, 1); times scale plus shift, then
    # mish(x) = x tanh(log(1 + e^x)): mish(-2) = -0.2525015, mish(3) = 2.9865351.
    x = torch.tensor([[[2.0, 5.0]], [[3.0, 4.0]]], device=DEVICE)
    bias = torch.tensor([[1.0, 0.0], [0.0, 1.0]], device=DEVICE)
    scale = torch.tensor([[2.0, 2.0], [1.0, 2.0]], device=DEVICE)
    shift_by = torch.tensor([[0.0, 1.0], [-1.0, 1.0]], device=DEVICE)
    norm_mish_kernel[(2,)](x, bias, scale, shift_by, 1, WIDTH=2, EPS=0.0, BLOCK=2)
    expected = torch.tensor([[[-0.2525015, 2.9865351]]] * 2, device=DEVICE)
    torch.testing.assert_close(x, expected)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": {"norm": "none"}}, "norm or activation"),
        ({"model": {"simplex_dim": 0}}, "not normed by simplex"),
        ({"model": {"numbers": "plain"}}, "distributions over bins"),
        ({"model": {"prior": "noisy"}}, "squashed normal"),
        ({"model": {"mlp_dim": 20}}, "multiple of 8"),
        ({"planning": {"n_candidates": 5000}}, "5000 candidates"),
        ({"planning": {"n_candidates": 4096, "n_elites": 4096}, "n_actions": 5}, "too many"),
    ],
)
def test_what_the_kernels_do_not_know_is_said(changes, reason):
    assert reason in (find_unsupported(make_policy(**changes)) or "")


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE != "cuda", reason="needs a GPU")
def test_a_captured_plan_is_the_plan():
    policy = make_policy()
    generator = torch.Generator(DEVICE).manual_seed(3)
    noise, proposed = policy.draw_noise(2, generator, torch.device(DEVICE), explores=True)
    observation = torch.randn((2, 5), generator=generator, device=DEVICE)
    state = policy.initial_state(2)

    def call(observation, state):
        planned = policy.plan_with(observation, state, noise, proposed)
        return planned.action, planned.mean

    captured = CapturedCall(call)
    with torch.inference_mode():
        first = [part.clone() for part in captured(observation, state)]
        torch.testing.assert_close(first, list(call(observation, state)))
        again = captured(2 * observation, state)
        torch.testing.assert_close(list(again), list(call(2 * observation, state)))
    assert policy._fused is not None
    assert not first[0].equal(again[0])
