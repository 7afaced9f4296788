"""A policy as one function of named tensors: from what an environment shows to what it takes."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from utils.errors import UserError
from utils.policies import Policy
from utils.policies.random_policy import RandomPolicy

Observation = Tensor | dict[str, Tensor]
Named = dict[str, Tensor]

OBSERVATION = "observation"
MASK = "action_mask"
STATE = "state"
NEXT_STATE = "next_state"


class PolicyProgram(nn.Module):
    """Normalises, decides, remembers, and turns the action into what the environment takes.

    Inputs, by name: `observation` raw, (B, ...), or `observation.<key>` for each key of a Dict;
    `action_mask` (B, n) bool with action masks; `state` (B, state_dim) with a memory, zeros where
    an episode begins. Outputs: `action` (B, ...), the most likely one, clipped to the bounds or
    shifted by the start of the environment's space; what the policy knows of it
    (`action_probabilities`, `action_mean`, `action_std`, `value`, `q_values`, ...); `next_state`
    with a memory.
    """

    def __init__(self, policy: Policy, action_space: gym.Space) -> None:
        """Wrap a policy in evaluation mode.

        Its `export_outputs` is traced: no branch in it may depend on values, and it draws nothing.

        Raises:
            UserError: The policy draws its actions evenly: there is nothing to export.
        """
        super().__init__()
        if isinstance(policy, RandomPolicy):
            raise UserError("a policy that draws its actions evenly has nothing to export")
        self.policy = policy
        self.to_environment = EnvironmentAction(action_space)

    def forward(self, inputs: Named) -> Named:
        """Map named inputs to named outputs, see the class."""
        observation = self.policy.normalize(join_observation(inputs))
        outputs = self.policy.export_outputs(
            observation, mask=inputs.get(MASK), state=inputs.get(STATE)
        )
        outputs["action"] = self.to_environment(outputs["action"])
        if STATE in outputs:
            outputs[NEXT_STATE] = outputs.pop(STATE)
        return outputs


class EnvironmentAction(nn.Module):
    """The same as `ActionAdapter`, as tensor code; whole numbers stay int64, others float32."""

    def __init__(self, space: gym.Space) -> None:
        """Read the offset or the bounds of the single action space."""
        super().__init__()
        offset = low = high = None
        match space:
            case gym.spaces.Discrete() if space.start != 0:
                offset = torch.tensor(int(space.start))
            case gym.spaces.MultiDiscrete() if space.start.any():
                offset = torch.as_tensor(space.start, dtype=torch.int64)
            case gym.spaces.Box() if (np.isfinite(space.low) | np.isfinite(space.high)).any():
                low = torch.as_tensor(space.low, dtype=torch.float32)
                high = torch.as_tensor(space.high, dtype=torch.float32)
        self.register_buffer("offset", offset)
        self.register_buffer("low", low)
        self.register_buffer("high", high)

    def forward(self, action: Tensor) -> Tensor:
        """Map (B, ...) as the policy chose it to (B, ...) as the environment takes it."""
        if self.offset is not None:
            return action + self.offset
        return action if self.low is None else torch.clamp(action, self.low, self.high)


def split_observation(observation: Observation) -> Named:
    """Return an observation under the names of a program's inputs."""
    if isinstance(observation, dict):
        return {f"{OBSERVATION}.{key}": part for key, part in sorted(observation.items())}
    return {OBSERVATION: observation}


def join_observation(inputs: Named) -> Observation:
    """Undo `split_observation`; other inputs are left out."""
    if OBSERVATION in inputs:
        return inputs[OBSERVATION]
    prefix = f"{OBSERVATION}."
    parts = {name: part for name, part in inputs.items() if name.startswith(prefix)}
    return {name.removeprefix(prefix): part for name, part in parts.items()}
