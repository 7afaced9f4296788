import numpy as np
import torch

from gym_envs.torch_envs import TorchVectorEnv
from utils.dataloaders import DeviceSource


class Loop:
    def __init__(self):
        self.count = 0

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


def test_every_epoch_says_once_that_iterations_are_due():
    source = DeviceSource(TorchVectorEnv("CartPole-v1", 2), Loop())
    for _ in range(3):
        (batch,) = source.loader
        assert batch.hook == "iterations"
        assert batch.to(torch.device("cpu")) is batch


def test_state_holds_environments_and_loop():
    one, other = (DeviceSource(TorchVectorEnv("CartPole-v1", 2), Loop()) for _ in range(2))
    assert not one.has_started
    one.reset(seed=3)
    assert one.has_started
    one.env.step(np.array([0, 1]))
    one.loop.count = 7
    assert other.load_state_dict(one.state_dict()) == 0
    assert other.has_started
    assert other.loop.count == 7
    actions = np.array([1, 1])
    np.testing.assert_array_equal(one.env.step(actions)[0], other.env.step(actions)[0])
