import pytest
import torch

from utils.device_rollouts import shuffled_passes

HAS_CUDA = torch.cuda.is_available()


@pytest.mark.parametrize(
    "device",
    [
        "cpu",
        pytest.param(
            "cuda", marks=[pytest.mark.gpu, pytest.mark.skipif(not HAS_CUDA, reason="no CUDA")]
        ),
    ],
)
def test_every_pass_holds_every_sample_once_in_a_new_order(device):
    generator = torch.Generator(device).manual_seed(0)
    table = shuffled_passes(12_000, n_passes=3, batch_size=3_000, generator=generator)
    assert table.shape == (12, 3_000)
    passes = table.view(3, 12_000).cpu()
    assert passes.sort(dim=1).values.equal(torch.arange(12_000).expand(3, -1))
    # Two orders agree in one place of 12,000 on average.
    for left, right in ((0, 1), (1, 2), (0, 2)):
        assert int((passes[left] == passes[right]).sum()) < 12
    position = torch.arange(12_000, dtype=torch.float64)
    correlation = torch.corrcoef(torch.stack([position, passes[0].double()]))[0, 1]
    assert abs(float(correlation)) < 0.05


def test_the_generator_decides():
    tables = [
        shuffled_passes(8, n_passes=1, batch_size=4, generator=torch.Generator().manual_seed(seed))
        for seed in (1, 1, 2)
    ]
    assert tables[0].equal(tables[1])
    assert not tables[0].equal(tables[2])


def test_a_batch_size_that_does_not_divide_is_refused():
    with pytest.raises(AssertionError):
        shuffled_passes(10, n_passes=1, batch_size=4, generator=torch.Generator())
