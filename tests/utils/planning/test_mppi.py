"""Planning by path integrals: hand-computed numbers, independence of problems, warm starts."""

from __future__ import annotations

import math

import pytest
import torch

from utils.planning.mppi import PathIntegralSettings, PlanNoise, draw_plan_noise, plan, shift

SETTINGS = PathIntegralSettings(
    horizon=3, n_iterations=5, n_candidates=256, n_elites=16, temperature=5.0, max_std=2.0
)


def draw(n: int, *, seed: int = 0, explores: bool = False, settings=SETTINGS, n_proposals: int = 0):
    return draw_plan_noise(
        settings,
        n_problems=n,
        n_proposals=n_proposals,
        width=2,
        generator=torch.Generator().manual_seed(seed),
        device=torch.device("cpu"),
        explores=explores,
    )


def near(goal: torch.Tensor):
    """Return the function whose best actions are `goal`, (H, N, 1, A)."""
    return lambda actions: -(actions - goal).square().sum(dim=(0, 3))


def test_one_iteration_is_the_hand_computed_one() -> None:
    settings = PathIntegralSettings(
        horizon=1,
        n_iterations=1,
        n_candidates=3,
        n_elites=2,
        temperature=math.log(3.0),
        max_std=2.0,
    )
    drawn = torch.tensor([-0.2, 0.1, 0.3]).view(1, 1, 1, 3, 1)
    planned = plan(
        lambda actions: actions[0, :, :, 0].gt(0.0).float() + actions[0, :, :, 0].gt(0.5).float(),
        mean=torch.zeros(1, 1, 1),
        proposals=None,
        noise=PlanNoise(drawn),
        min_std=0.0,
        settings=settings,
    )
    # Candidates 2 * (-0.2, 0.1, 0.3) are worth 0, 1 and 2: weights 3^1 : 3^2 of 0.2 and 0.6.
    assert planned.values.tolist() == [[2.0, 1.0]]
    assert planned.scores.tolist() == [pytest.approx([0.75, 0.25])]
    assert planned.mean.item() == pytest.approx(0.75 * 0.6 + 0.25 * 0.2)  # 0.5
    assert planned.std.item() == pytest.approx(math.sqrt(0.75 * 0.01 + 0.25 * 0.09))
    assert planned.action.item() == pytest.approx(0.6)


def test_momentum_keeps_a_share_of_the_last_mean() -> None:
    settings = PathIntegralSettings(
        horizon=1,
        n_iterations=1,
        n_candidates=2,
        n_elites=1,
        temperature=1.0,
        max_std=1.0,
        momentum=0.1,
    )
    planned = plan(
        lambda actions: actions[0, :, :, 0],
        mean=torch.full((1, 1, 1), -0.5),
        proposals=None,
        noise=PlanNoise(torch.tensor([0.0, 1.3]).view(1, 1, 1, 2, 1)),
        min_std=0.3,
        settings=settings,
    )
    assert planned.mean.item() == pytest.approx(0.1 * -0.5 + 0.9 * 0.8)
    assert planned.std.item() == pytest.approx(0.3)  # a single elite has none


def test_it_finds_what_is_worth_most() -> None:
    goal = torch.tensor([[0.5, -0.5], [-0.9, 0.2], [0.0, 0.7]]).view(3, 1, 1, 2)
    planned = plan(
        near(goal),
        mean=torch.zeros(3, 1, 2),
        proposals=None,
        noise=draw(1),
        min_std=0.05,
        settings=SETTINGS,
    )
    assert (planned.mean - goal[:, :, 0]).abs().max() < 0.3
    assert planned.scores.sum().item() == pytest.approx(1.0)


def test_what_is_planned_for_one_does_not_depend_on_the_others() -> None:
    goals = torch.rand(3, 4, 1, 2) * 2 - 1
    noise, mean = draw(4, explores=True), 0.3 * torch.randn(3, 4, 2)
    together = plan(
        near(goals), mean=mean, proposals=None, noise=noise, min_std=0.05, settings=SETTINGS
    )
    for i in range(4):
        row = slice(i, i + 1)
        alone = plan(
            near(goals[:, row]),
            mean=mean[:, row],
            proposals=None,
            noise=PlanNoise(noise.candidates[:, :, row], noise.choice[row], noise.action[row]),
            min_std=0.05,
            settings=SETTINGS,
        )
        torch.testing.assert_close(alone.action, together.action[row])
        torch.testing.assert_close(alone.mean, together.mean[:, row])


def test_a_proposal_that_is_best_is_carried_out() -> None:
    goal = torch.full((3, 1, 1, 2), 0.77)
    planned = plan(
        lambda actions: near(goal)(actions).where(actions[0, :, :, 0] != 0.77, 100.0),
        mean=torch.zeros(3, 1, 2),
        proposals=goal,
        noise=draw(1, n_proposals=1),
        min_std=0.05,
        settings=SETTINGS,
    )
    assert planned.action.tolist() == [pytest.approx([0.77, 0.77])]


def test_values_that_are_no_numbers_count_as_0() -> None:
    planned = plan(
        lambda actions: torch.where(actions[0, :, :, 0] > 0, torch.nan, -1.0),
        mean=torch.zeros(3, 1, 2),
        proposals=None,
        noise=draw(1),
        min_std=0.05,
        settings=SETTINGS,
    )
    assert planned.action[0, 0] > 0
    assert all(torch.isfinite(part).all() for part in planned)


def test_elites_are_drawn_by_their_weight() -> None:
    settings = PathIntegralSettings(
        horizon=1,
        n_iterations=1,
        n_candidates=2,
        n_elites=2,
        temperature=math.log(3.0),
        max_std=1.0,
    )
    n = 4000
    choice = torch.empty(n, 2).exponential_(generator=torch.Generator().manual_seed(0))
    planned = plan(
        lambda actions: actions[0, :, :, 0].gt(0.0).float(),
        mean=torch.zeros(1, n, 1),
        proposals=None,
        noise=PlanNoise(torch.tensor([-0.5, 0.5]).view(1, 1, 1, 2, 1), choice),
        min_std=0.05,
        settings=settings,
    )
    assert planned.action.gt(0).float().mean().item() == pytest.approx(0.75, abs=0.03)


def test_noise_is_added_to_what_is_carried_out_and_actions_stay_within_bounds() -> None:
    noise = draw(1, explores=True)
    still = noise._replace(choice=None, action=None)
    goal = torch.full((3, 1, 1, 2), 0.2)
    kwargs = {"mean": torch.zeros(3, 1, 2), "proposals": None, "settings": SETTINGS}
    quiet = plan(near(goal), noise=still, min_std=0.5, **kwargs)
    loud = plan(near(goal), noise=still._replace(action=torch.ones(1, 2)), min_std=0.5, **kwargs)
    torch.testing.assert_close(loud.action, (quiet.action + quiet.std[0]).clamp(-1, 1))
    wild = plan(
        near(goal), noise=still._replace(action=9 * torch.ones(1, 2)), min_std=0.5, **kwargs
    )
    assert wild.action.max() == 1.0


def test_a_plan_is_shifted_by_a_step_and_a_fresh_one_stays_fresh() -> None:
    mean = torch.arange(1.0, 7.0).view(3, 1, 2)
    assert shift(mean).flatten().tolist() == [3.0, 4.0, 5.0, 6.0, 0.0, 0.0]
    assert not shift(torch.zeros(3, 1, 2)).any()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_captured_plan_is_the_eager_one() -> None:
    device = torch.device("cuda")
    goal = torch.full((3, 2, 1, 2), 0.4, device=device)
    generator = torch.Generator(device=device)

    def make() -> torch.Tensor:
        noise = draw_plan_noise(
            SETTINGS,
            n_problems=2,
            n_proposals=0,
            width=2,
            generator=generator,
            device=device,
            explores=True,
        )
        mean = torch.zeros(3, 2, 2, device=device)
        return plan(
            near(goal), mean=mean, proposals=None, noise=noise, min_std=0.05, settings=SETTINGS
        ).action

    from utils.models.captured_call import CapturedCall

    call = CapturedCall(lambda _: (make(),), generators=[generator])
    generator.manual_seed(3)
    eager = [make().clone() for _ in range(2)]
    generator.manual_seed(3)
    captured = [call(torch.zeros(1, device=device))[0].clone() for _ in range(2)]
    for one, other in zip(eager, captured, strict=True):
        torch.testing.assert_close(one, other)
