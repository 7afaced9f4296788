"""What comes between convolutions by fused kernels against the same operation by operation."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.helpers.triton_device import DEVICE
from utils.models.captured_call import CapturedCall
from utils.world_models import fused_pictures, pictures
from utils.world_models.fused_pictures import refine_pictures
from utils.world_models.layers import NORM_EPSILON, ChannelRMSNorm
from utils.world_models.pictures import PooledDecoder, PooledEncoder


def plainly(x, norm, *, pools):
    if pools:
        x = F.max_pool2d(x, 2)
    return F.silu(norm(x))


@pytest.mark.parametrize("pools", [False, True])
@pytest.mark.parametrize("n_programs", [1024, 2])
@pytest.mark.parametrize("shape", [(1, 4, 2, 2), (3, 48, 6, 4), (2, 33, 10, 6), (1, 700, 6, 4)])
def test_pictures_and_gradients_are_those_of_torch(shape, pools, n_programs, monkeypatch):
    monkeypatch.setattr(fused_pictures, "_MOST_PROGRAMS", n_programs)  # with 2, they take turns
    generator = torch.Generator().manual_seed(0)
    # One decimal only, so that many of 2 x 2 places are equal.
    x = (10 * torch.randn(shape, generator=generator)).round().div(10).to(DEVICE)
    norm = ChannelRMSNorm(shape[1])
    nn.init.normal_(norm.norm.weight, generator=generator)
    norm.to(DEVICE)
    results = []
    for function in (
        lambda x: plainly(x, norm, pools=pools),
        lambda x: refine_pictures(x, norm.norm.weight, eps=NORM_EPSILON, pools=pools),
    ):
        given = x.clone(memory_format=torch.channels_last).requires_grad_()
        y = function(given)
        # A weight for each place, in another order in memory than the pictures.
        places = torch.arange(y.numel(), dtype=torch.float32, device=DEVICE).sin().view(y.shape)
        gradients = torch.autograd.grad((places * y).sum(), [given, norm.norm.weight])
        results.append((y, *gradients))
    torch.testing.assert_close(results[1], results[0], rtol=1e-4, atol=2e-5)


def test_one_place_by_hand():
    # Maxima (3, 4) of 2 x 2 places; their mean square is 12.5; weights 1 and -2:
    # h = (0.8485247, -2.2627326); silu = (0.5941859, -0.2132780).
    x = torch.tensor([[[[3.0, 1.0], [-5.0, 2.0]], [[0.0, 4.0], [-9.0, 4.0]]]], device=DEVICE)
    weight = torch.tensor([1.0, -2.0], device=DEVICE)
    y = refine_pictures(x, weight, eps=NORM_EPSILON, pools=True)
    expected = torch.tensor([0.5941859, -0.2132780], device=DEVICE)
    torch.testing.assert_close(y.flatten(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE != "cuda", reason="needs a GPU")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_encoder_and_decoder_on_a_gpu_learn_what_they_learn_one_by_one(dtype, monkeypatch):
    # Rounded factors may let another of 2 x 2 places be the largest.
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    torch.manual_seed(0)
    encoder = PooledEncoder((3, 64, 64), depth=8, activation="silu")
    decoder = PooledDecoder(
        32, encoder.output_dim - 32, (3, 64, 64), depth=8, units=16, n_blocks=4, norm="rms",
        activation="silu",
    )  # fmt: skip
    both = nn.Sequential(encoder, decoder).cuda()
    shown = torch.rand((6, 3, 64, 64), device="cuda")

    def learn(kind: torch.dtype, *, is_fused: bool) -> torch.Tensor:
        monkeypatch.setattr(pictures, "why_no_triton", lambda: None if is_fused else "not here")
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=kind == torch.bfloat16):
            loss = (both(shown) - 0.2).square().mean()
        gradients = torch.autograd.grad(loss, list(both.parameters()))
        return torch.cat([loss.detach().view(1), *(g.flatten() for g in gradients)])

    exact = learn(torch.float32, is_fused=False)
    apart = (learn(dtype, is_fused=True) - exact).norm()
    allowed = 1e-3 * exact.norm()
    if dtype == torch.bfloat16:
        allowed = 1.2 * (learn(dtype, is_fused=False) - exact).norm()
    assert apart <= allowed, (float(apart), float(allowed))


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE != "cuda", reason="needs a GPU")
def test_pictures_are_encoded_by_a_captured_graph():
    torch.manual_seed(0)
    encoder = PooledEncoder((3, 64, 64), depth=4, activation="silu").cuda()
    captured = CapturedCall(lambda shown: (encoder(shown),))
    with torch.inference_mode():
        for _ in range(2):
            shown = torch.rand((2, 3, 64, 64), device="cuda")
            torch.testing.assert_close(captured(shown)[0], encoder(shown))
