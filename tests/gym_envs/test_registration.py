"""Other frameworks find the vector environments by their ids."""

import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest

from gym_envs.physics import list_classic_specs

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("namespace", ["simd", "torch"])
@pytest.mark.parametrize("spec", list_classic_specs(), ids=lambda spec: spec.env_id)
def test_vector_environments_are_registered(spec, namespace):
    env = gym.make_vec(f"gym_envs:{namespace}/{spec.env_id}", num_envs=3, max_episode_steps=9)
    assert (env.num_envs, env.max_episode_steps) == (3, 9)
    assert env.spec.reward_threshold == spec.reward_threshold
    assert env.reset(seed=0)[0].shape == (3, spec.n_observation)
    env.close()


def test_registration_imports_neither_torch_nor_numba():
    code = "import sys, gym_envs; sys.exit(bool({'torch', 'numba'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
