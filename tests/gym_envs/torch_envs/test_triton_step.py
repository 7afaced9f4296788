"""The step as one kernel against the step operation by operation."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from gym_envs.physics import list_classic_specs
from gym_envs.torch_envs import TorchVectorEnv

ROOT = Path(__file__).resolve().parents[3]
HAS_TRITON = importlib.util.find_spec("triton") is not None
HAS_CUDA = torch.cuda.is_available()
# Rewards of Pendulum reach 16; states of Acrobot 28.
TOLERANCE = {"rtol": 2e-5, "atol": 2e-5}


def compare_steps(spec, device, *, n_envs=300, n_steps=40):
    from gym_envs.torch_envs.triton_step import TritonStep

    kernel, plain = (
        TorchVectorEnv(spec.env_id, n_envs, device=device, max_episode_steps=17) for _ in range(2)
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
        action = torch.from_numpy(plain.action_space.sample()).to(device)
        ours, expected = kernel.step_tensors(action), plain.step_tensors(action)
        for name, left, right in zip(ours._fields, ours, expected, strict=True):
            assert left.dtype == right.dtype, name
            torch.testing.assert_close(left, right, **TOLERANCE)
        assert kernel.episode.equal(plain.episode)
        assert kernel.elapsed.equal(plain.elapsed)
        torch.testing.assert_close(kernel.state, plain.state, **TOLERANCE)
    assert int(plain.episode.min()) > 0


@pytest.mark.gpu
@pytest.mark.skipif(not (HAS_CUDA and HAS_TRITON), reason="no CUDA device with Triton")
@pytest.mark.parametrize("spec", list_classic_specs(), ids=lambda spec: spec.env_id)
def test_the_kernel_steps_as_tensors_do(spec):
    compare_steps(spec, "cuda")


@pytest.mark.skipif(HAS_CUDA or not HAS_TRITON, reason="Triton is not here, or runs by itself")
def test_the_interpreted_kernel_steps_as_tensors_do():
    code = "from tests.gym_envs.torch_envs import test_triton_step as t; t.compare_all()"
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)


def compare_all():
    for spec in list_classic_specs():
        compare_steps(spec, "cpu", n_envs=130, n_steps=20)
