"""A function replayed as a graph against the function itself."""

from __future__ import annotations

import contextlib

import pytest
import torch

from utils.models.captured_call import CapturedCall
from utils.optimization.capture import capturing

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


class Noisy:
    """A layer, and noise upon what it says."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(3, 2).cuda()
        self.generator = torch.Generator(device="cuda")
        self.generator.manual_seed(1)

    def __call__(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        said = self.layer(x)
        noise = torch.randn(said.shape, generator=self.generator, device="cuda")
        return said, said + noise


def test_what_is_replayed_is_what_would_be_computed() -> None:
    plain, function = Noisy(), Noisy()
    captured = CapturedCall(function, generators=[function.generator])
    for n in (4, 4, 7, 7, 4):  # another shape is captured anew
        x = torch.randn(n, 3, device="cuda")
        for ours, theirs in zip(captured(x), plain(x), strict=True):
            torch.testing.assert_close(ours, theirs)
        assert not ours.requires_grad
        assert torch.equal(function.generator.get_state(), plain.generator.get_state())


def test_changed_parameters_and_a_restored_generator_count_at_once() -> None:
    function = Noisy()
    captured = CapturedCall(function, generators=[function.generator])
    x = torch.randn(4, 3, device="cuda")
    state = function.generator.get_state()
    first = [part.clone() for part in captured(x)]
    assert not captured(x)[1].equal(first[1])
    function.generator.set_state(state)
    assert captured(x)[1].equal(first[1])
    with torch.no_grad():
        function.layer.bias.add_(1.0)
    torch.testing.assert_close(captured(x)[0], first[0] + 1.0)


@pytest.mark.parametrize("is_captured_in_inference_mode", [True, False])
def test_a_generator_serves_graphs_in_and_out_of_inference_mode(
    is_captured_in_inference_mode: bool,
) -> None:
    """Acting is captured while collecting, and updates that draw from the same one outside."""
    function = Noisy()
    captured = CapturedCall(function, generators=[function.generator])
    other = CapturedCall(function, generators=[function.generator])
    modes = [torch.inference_mode, contextlib.nullcontext]
    for mode in modes if is_captured_in_inference_mode else modes[::-1]:
        with mode():
            x = torch.ones(4, 3, device="cuda")
            assert captured(x)[1].isfinite().all()
            assert other(x)[1].isfinite().all()


def test_a_capture_that_fails_leaves_the_stream_and_others_go_on() -> None:
    before = torch.cuda.current_stream()
    number = torch.ones(1, device="cuda")
    with pytest.raises(RuntimeError, match="captur"), capturing(torch.cuda.CUDAGraph()):
        number.item()
    assert torch.cuda.current_stream() == before
    function = Noisy()
    captured = CapturedCall(function, generators=[function.generator])
    assert captured(torch.ones(4, 3, device="cuda"))[1].isfinite().all()
