from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor

from tests.helpers.world_models import random_sequences, small_rssm
from utils.optimization.capture import warm_up_for_capture
from utils.planning import Bounds, first_plan
from utils.planning.cem import follow_elites
from utils.world_models import RSSM, Imagined, Observed, State

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]


def build() -> RSSM:
    torch.manual_seed(0)
    return small_rssm(deter=64, hidden=32, choices=8, classes=8, blocks=8)


def sequences(rssm: RSSM, device: str) -> tuple:
    before, *rest = random_sequences(rssm, 12, 4)
    rest[2][5, 1] = rest[2][0, 2] = True
    return State(*(x.to(device) for x in before)), *(x.to(device) for x in rest)


def learn(rssm: RSSM, inputs: tuple) -> Observed:
    observed = rssm.observe(*inputs)
    loss = observed.state.features.float().square().sum() + observed.prior.float().square().sum()
    (loss + observed.posterior.float().square().sum()).backward()
    return observed


def gradients(rssm: RSSM) -> dict[str, Tensor]:
    return {name: parameter.grad.cpu() for name, parameter in rssm.named_parameters()}


def assert_near(mine: dict[str, Tensor], theirs: dict[str, Tensor], tolerance: float) -> None:
    for name, theirs_ in theirs.items():
        error = (mine[name] - theirs_).abs().max() / theirs_.abs().max().clamp_min(1e-30)
        assert error < tolerance, (name, error)


def test_a_gpu_observes_what_a_cpu_does() -> None:
    on_cpu = build()
    on_gpu = copy.deepcopy(on_cpu).cuda()
    theirs, mine = learn(on_cpu, sequences(on_cpu, "cpu")), learn(on_gpu, sequences(on_cpu, "cuda"))
    torch.testing.assert_close(mine.state.deter.cpu(), theirs.state.deter, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(mine.posterior.cpu(), theirs.posterior, rtol=1e-4, atol=1e-4)
    assert_near(gradients(on_gpu), gradients(on_cpu), 1e-3)


def test_a_gpu_in_half_precision_is_near_single_steps() -> None:
    rssm = build().cuda()
    inputs = sequences(rssm, "cuda")
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
        theirs, mine = rssm.observe_step_by_step(*inputs), rssm.observe(*inputs)
    assert mine.state.deter.dtype == torch.bfloat16
    # Before rounding has drawn another class
    torch.testing.assert_close(mine.state.deter[0], theirs.state.deter[0], rtol=0.03, atol=0.03)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        learn(rssm, inputs)
    assert all(gradient.isfinite().all() for gradient in gradients(rssm).values())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_graph_replays_what_is_launched_one_by_one(dtype: torch.dtype) -> None:
    rssm = build().cuda()
    inputs = sequences(rssm, "cuda")
    for parameter in rssm.parameters():
        parameter.grad = torch.zeros_like(parameter)

    def work() -> Observed:
        for parameter in rssm.parameters():
            parameter.grad.zero_()
        enabled = dtype == torch.bfloat16
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=enabled, cache_enabled=False):
            return learn(rssm, inputs)

    # A graph of autograd that outlives its stream would tie the gradients to that stream.
    expected = work().state.deter.detach().clone()
    expected_gradients = gradients(rssm)
    warm_up_for_capture(work, torch.device("cuda"))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        observed = work()
    graph.replay()
    torch.cuda.synchronize()
    tolerance = 1e-3 if dtype == torch.bfloat16 else 1e-5
    torch.testing.assert_close(observed.state.deter, expected, rtol=tolerance, atol=tolerance)
    assert_near(gradients(rssm), expected_gradients, 10 * tolerance)


def dream(rssm: RSSM, device: str) -> Imagined:
    start = State(torch.linspace(-1, 1, 6 * 64).view(6, 64), torch.zeros(6, 64))
    noise = rssm.latent.draw_noise((5, 6), torch.Generator().manual_seed(0)).to(device)

    def choose(state: State, step: int) -> tuple[Tensor, Tensor]:
        action = state.deter[:, :2].float() + step
        return action, action

    with torch.no_grad():
        return rssm.imagine(State(*(x.to(device) for x in start)), choose, noise)


def test_a_gpu_imagines_what_a_cpu_does() -> None:
    on_cpu = build()
    on_gpu = copy.deepcopy(on_cpu).cuda()
    theirs, mine = dream(on_cpu, "cpu"), dream(on_gpu, "cuda")
    torch.testing.assert_close(mine.state.deter.cpu(), theirs.state.deter, rtol=1e-4, atol=1e-4)
    assert torch.equal(mine.state.stoch.cpu(), theirs.state.stoch)


def test_plans_can_be_captured() -> None:
    bounds = Bounds(torch.full((2,), -1.0).cuda(), torch.full((2,), 1.0).cuda())
    start = first_plan(bounds, n_steps=3, n=2)
    noise = torch.randn(3, 2, 20, 2, device="cuda")

    def nearness(actions: Tensor) -> Tensor:
        return -actions.square().sum(dim=(0, 3))

    def work() -> Tensor:
        return follow_elites(nearness, start, noise, bounds, n_elites=4)[0].mean

    expected = work().clone()
    warm_up_for_capture(work, torch.device("cuda"))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        mean = work()
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(mean, expected)
