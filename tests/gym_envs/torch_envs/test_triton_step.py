"""The step as one kernel against the step operation by operation."""

import pytest
import torch

from gym_envs.physics import list_classic_specs
from gym_envs.torch_envs import TorchVectorEnv
from tests.helpers.triton_device import DEVICE

# Rewards of Pendulum reach 16; states of Acrobot 28.
TOLERANCE = {"rtol": 2e-5, "atol": 2e-5}


@pytest.mark.parametrize("spec", list_classic_specs(), ids=lambda spec: spec.env_id)
def test_the_kernel_steps_as_tensors_do(spec):
    from gym_envs.torch_envs.triton_step import TritonStep

    n_envs, n_steps = (300, 40) if DEVICE == "cuda" else (130, 20)
    kernel, plain = (
        TorchVectorEnv(spec.env_id, n_envs, device=DEVICE, max_episode_steps=17) for _ in range(2)
    )
    kernel._kernel = TritonStep(
        spec.env_id,
        initial_low=kernel._initial_low,
        initial_range=kernel._initial_range,
    )
    plain._kernel = None
    for env in (kernel, plain):
        env.reset(seed=2**40 + 3)
    for _ in range(n_steps):
        # Both start from the same state: errors shall not grow along the episode.
        kernel.state.copy_(plain.state)
        action = torch.from_numpy(plain.action_space.sample()).to(DEVICE)
        ours, expected = kernel.step_tensors(action), plain.step_tensors(action)
        for name, left, right in zip(ours._fields, ours, expected, strict=True):
            assert left.dtype == right.dtype, name
            torch.testing.assert_close(left, right, **TOLERANCE)
        assert kernel.episode.equal(plain.episode)
        assert kernel.elapsed.equal(plain.elapsed)
        torch.testing.assert_close(kernel.state, plain.state, **TOLERANCE)
    assert int(plain.episode.min()) > 0
