import pytest
import torch

from agents import build_agent
from utils.benchmarks.lightning_share import Duration, LightningShare, measure_lightning_share
from utils.config import load_config


def durations(*pairs):
    return tuple(Duration(*pair) for pair in pairs)


def test_the_share_is_a_median_of_pairs():
    share = LightningShare(
        bare=durations((9.0, 4.5), (8.0, 6.0), (5.0, 4.0)),
        fit=durations((10.0, 5.0), (10.0, 10.0), (10.0, 5.0)),
        loop=durations((9.0, 4.5), (8.0, 6.0), (5.0, 4.0)),
        n_epochs=3,
    )
    # wall: 10 %, 20 %, 50 %; processor: 10 %, 40 %, 20 %
    assert share.percent(share.fit) == pytest.approx((20.0, 20.0))
    assert share.percent(share.loop) == pytest.approx((0.0, 0.0))


CONFIG = load_config("CartPole-v1:ppo", ["n_steps=8", "batch_size=64", "n_epochs=1", "seed=5"])


def test_both_loops_train_the_same():
    share = measure_lightning_share(lambda: build_agent(CONFIG), n_epochs=3, n_rounds=2)
    assert len(share.bare) == len(share.fit) == len(share.loop) == 2
    for fit, loop in zip(share.fit, share.loop, strict=True):
        assert 0 < loop.seconds <= fit.seconds


def test_unequal_work_is_noticed():
    def build():
        agent = build_agent(CONFIG)
        with torch.no_grad():
            agent.policy.actor_head.bias += next(offsets)
        return agent

    offsets = iter([0.0, 1.0])
    with pytest.raises(AssertionError, match="unequal work"):
        measure_lightning_share(build, n_epochs=1, n_rounds=1)
