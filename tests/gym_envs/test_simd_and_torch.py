"""The compiled environments and the tensor environments step alike."""

import numpy as np
import pytest
import torch

from gym_envs.physics import list_classic_specs
from gym_envs.simd import SimdVectorEnv
from gym_envs.torch_envs import TorchVectorEnv

N_ENVS = 64


@pytest.mark.parametrize("spec", list_classic_specs(), ids=lambda spec: spec.env_id)
def test_both_step_alike_from_the_same_states(spec):
    compiled = SimdVectorEnv(spec.env_id, N_ENVS, max_episode_steps=25)
    tensors = TorchVectorEnv(spec.env_id, N_ENVS, max_episode_steps=25)
    compiled.reset(seed=1)
    tensors.reset(seed=1)
    compiled.action_space.seed(0)
    n_done = 0
    for _ in range(60):
        # Episodes begin with other random numbers, and errors would grow along an episode.
        compiled.arrays.state[:] = tensors.state.numpy()
        before = tensors.elapsed.clone()
        actions = compiled.action_space.sample()
        ours, theirs = tensors.step(actions), compiled.step(actions)
        assert (ours[2] == theirs[2]).all()
        assert (ours[3] == theirs[3]).all()
        np.testing.assert_allclose(ours[1], theirs[1], rtol=2e-6, atol=2e-6)
        done = ours[2] | ours[3]
        goes_on = ~done
        np.testing.assert_allclose(ours[0][goes_on], theirs[0][goes_on], rtol=1e-5, atol=4e-6)
        if done.any():
            np.testing.assert_allclose(
                ours[4]["final_obs"][done], theirs[4]["final_obs"][done], rtol=1e-5, atol=4e-6
            )
        assert tensors.elapsed.equal(torch.where(torch.from_numpy(done), 0, before + 1))
        n_done += int(done.sum())
    assert n_done >= 2 * N_ENVS
