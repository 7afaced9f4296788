from __future__ import annotations

import pytest
import torch
from torch import Tensor

from utils.diffusion import ActionDiffusion, DiffusionSettings

diffusers = pytest.importorskip("diffusers")


def build(scheduler: str = "ddim", n_denoise_steps: int = 10, **changes: object) -> ActionDiffusion:
    settings = {
        "n_train_steps": 100,
        "beta_schedule": "squaredcos_cap_v2",
        "prediction": "epsilon",
    } | changes
    return ActionDiffusion(
        DiffusionSettings(scheduler=scheduler, n_denoise_steps=n_denoise_steps, **settings)
    )


def some_network(action: Tensor, step: Tensor) -> Tensor:
    return 0.7 * action + torch.sin(3.0 * action) * (1.0 - step[:, None, None] / 100.0)


@pytest.mark.parametrize("n_steps", [100, 20])
def test_a_step_of_ddpm_is_that_of_the_library(n_steps: int) -> None:
    """The noise comes from outside here; fed with the library's own, both go the same way."""
    diffusion = build("ddpm", n_steps)
    reference = diffusers.DDPMScheduler(
        num_train_timesteps=100, beta_schedule="squaredcos_cap_v2", clip_sample=True
    )
    reference.set_timesteps(n_steps)
    noise = diffusion.draw_noise(3, 4, 2, torch.Generator().manual_seed(0), "cpu")
    expected = noise[0]
    for k, step in enumerate(reference.timesteps):
        rows = torch.full((3,), int(step))
        drawn = _Draws(noise[k + 1])
        with drawn:
            expected = reference.step(some_network(expected, rows), step, expected).prev_sample
    ours = diffusion.denoise(some_network, noise)
    torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-5)


class _Draws:
    """Lets the library's scheduler add given noise instead of its own."""

    def __init__(self, noise: Tensor) -> None:
        self._noise = noise

    def __enter__(self) -> None:
        from diffusers.schedulers import scheduling_ddpm

        self._module, self._own = scheduling_ddpm, scheduling_ddpm.randn_tensor
        scheduling_ddpm.randn_tensor = lambda *_, **__: self._noise

    def __exit__(self, *_: object) -> None:
        self._module.randn_tensor = self._own


@pytest.mark.parametrize("prediction", ["epsilon", "sample", "v_prediction"])
@pytest.mark.parametrize("scheduler", ["ddpm", "ddim"])
def test_who_knows_the_noise_gets_the_actions_back(scheduler: str, prediction: str) -> None:
    diffusion = build(scheduler, prediction=prediction)
    action = torch.rand((2, 4, 3), generator=torch.Generator().manual_seed(1)) * 2 - 1
    alphas = diffusion._scheduler.alphas_cumprod

    def oracle(noisy: Tensor, step: Tensor) -> Tensor:
        kept = alphas[step].view(-1, 1, 1)
        noise = (noisy - kept.sqrt() * action) / (1 - kept).sqrt()
        return diffusion.target(action, noise, step)

    noise = diffusion.draw_noise(2, 4, 3, torch.Generator().manual_seed(2), "cpu")
    torch.testing.assert_close(diffusion.denoise(oracle, noise), action, rtol=0, atol=1e-4)


def test_noise_is_added_by_equation_4() -> None:
    """With a_k kept of the variance: sqrt(a_k) x + sqrt(1 - a_k) e."""
    diffusion = build()
    action, noise = torch.full((2, 1, 1), 0.5), torch.full((2, 1, 1), -2.0)
    step = torch.tensor([0, 99])
    kept = diffusion._scheduler.alphas_cumprod[step]
    expected = kept.sqrt() * 0.5 - (1 - kept).sqrt() * 2.0
    assert diffusion.add_noise(action, noise, step).flatten().tolist() == pytest.approx(
        expected.tolist()
    )
    assert kept[0] > 0.999  # hardly any noise
    assert kept[1] < 0.001  # nothing but noise


def test_actions_stay_in_bounds_whatever_the_network_says() -> None:
    diffusion = build()
    noise = diffusion.draw_noise(5, 4, 2, torch.Generator().manual_seed(0), "cpu")
    drawn = diffusion.denoise(lambda action, _: -10.0 * torch.ones_like(action), noise)
    assert drawn.abs().max() <= 1.0


def test_ddim_needs_one_draw_and_ddpm_one_for_each_step() -> None:
    generator = torch.Generator().manual_seed(0)
    assert build("ddim").draw_noise(2, 4, 3, generator, "cpu").shape == (1, 2, 4, 3)
    assert build("ddpm").draw_noise(2, 4, 3, generator, "cpu").shape == (11, 2, 4, 3)


def test_steps_to_learn_from_are_all_of_them() -> None:
    steps = build().draw_steps(5000, torch.Generator().manual_seed(0))
    assert steps.unique().tolist() == list(range(100))
