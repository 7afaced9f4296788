"""What a policy meets in its environment: the inputs on which an export is compared with it."""

from __future__ import annotations

import torch
from gymnasium.vector import VectorEnv

from utils.export.program import MASK, STATE, Named, split_observation
from utils.rollouts.stepper import Stepper


@torch.inference_mode()
def collect_inputs(env: VectorEnv, policy: torch.nn.Module, *, n: int, seed: int) -> Named:
    """Play with sampled actions and keep what the policy reads at each step.

    Args:
        env: Nothing else uses it.
        policy: Acts as it is, on the CPU; its normaliser is not updated.
        n: Rows to collect, >= 1.
        seed: Of the environments and the samples.

    Returns:
        The inputs of a `PolicyProgram`, n rows each.
    """
    device = torch.device("cpu")
    generator = torch.Generator().manual_seed(seed)
    stepper = Stepper(env, policy, device=device)
    stepper.reset(seed=seed)
    rows: dict[str, list[torch.Tensor]] = {}
    for _ in range(-(-n // env.num_envs)):
        observation = stepper.observation
        inputs = split_observation(observation)
        if stepper.mask is not None:
            inputs[MASK] = stepper.mask
        if stepper.state is not None:
            inputs[STATE] = stepper.state
        for name, value in inputs.items():
            rows.setdefault(name, []).append(value.clone())
        decision = stepper.decide(policy.normalize(observation), generator=generator)
        stepper.step(decision.action)
    return {name: torch.cat(values)[:n].clone() for name, values in rows.items()}
