"""The data source of agents that learn from what they have stored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from utils.buffers import TransitionBatch, TransitionBuffer
from utils.dataloaders.data_source import build_hook_loader
from utils.dataloaders.replay_plan import ReplayPlan, Round
from utils.errors import CheckpointError
from utils.rollouts import RolloutSummary
from utils.rollouts.experience_collector import ExperienceCollector, Step

OBSERVATION = "observation"
"""Key of an observation that is no Dict where its action mask is stored beside it."""
STORED_MASK = "allowed actions"
"""Key of the mask there; an environment may have an "action_mask" of its own in a Dict."""


class ReplaySource:
    """Steps the environments into a buffer as a plan says, and draws batches from it.

    The one Lightning batch of an epoch stands for all its rounds and carries no data: what can be
    drawn depends on what was stored a moment before, so each round is planned when the one before
    it is done. Building or iterating the loader steps nothing.
    """

    def __init__(
        self,
        collector: ExperienceCollector,
        buffer: TransitionBuffer,
        plan: ReplayPlan,
        *,
        seed: int,
        reward_scale: float = 1.0,
        generator_device: torch.device | None = None,
    ) -> None:
        """Put collector, buffer and plan together.

        Args:
            collector: Steps the environments.
            buffer: Is filled and drawn from.
            plan: Says what is due; it counts with this collector and buffer.
            seed: Of what is drawn from the buffer.
            reward_scale: What rewards are multiplied by as they are stored.
            generator_device: Where indices are drawn; the CPU if None.
        """
        self.collector, self.buffer, self.plan = collector, buffer, plan
        self._reward_scale = reward_scale
        self.generator = torch.Generator(device=generator_device or torch.device("cpu"))
        self.generator.manual_seed(seed)
        self._buffer_is_loaded = False
        self.loader = build_hook_loader("epoch")

    # -- carrying out what is due ---------------------------------------------------------------

    def collect(self, due: Round, *, meanwhile: Callable[[], object] | None = None) -> None:
        """Make the vector steps of a round; see `ExperienceCollector.collect`."""
        self.collector.collect(
            due.n_vec_steps, is_random=due.is_random, write=self._write, meanwhile=meanwhile
        )

    def draw(self, n_batches: int = 1) -> Tensor:
        """Draw the index table of some batches, (n_batches, B) int64; uniform over the buffer."""
        size = self.plan.pace.batch_size
        return self.buffer.draw(n_batches * size, generator=self.generator).view(n_batches, size)

    def sample(self, *, beta: float | Tensor | None = None) -> TransitionBatch:
        """Draw a batch; `beta` is the power of the importance weights of a prioritised buffer."""
        size = self.plan.pace.batch_size
        return self.buffer.sample(size, generator=self.generator, beta=beta)

    def summarize(self) -> RolloutSummary:
        """Return what was collected since this was last asked."""
        return self.collector.summarize()

    def _write(self, step: Step) -> None:
        final, next_mask = step.final_observation, step.next_mask
        following = step.next_observation
        if next_mask is not None:
            following = join_mask(following, next_mask)
            if final is not None:
                assert step.final_mask is not None, "an end has a mask as other states have"
                final = join_mask(final, step.final_mask)
        scale = self._reward_scale
        self.buffer.add(
            action=step.stored_action,
            reward=step.reward if scale == 1.0 else step.reward * scale,
            terminated=step.terminated,
            truncated=step.truncated,
            next_observation=following,
            final_observation=final,
        )

    # -- life and saved state -------------------------------------------------------------------

    @property
    def has_started(self) -> bool:
        """Whether the environments have been reset, or restored."""
        return self.collector.has_started

    def reset(self, *, seed: int) -> None:
        """Seed and reset the environments; called once, before the first step."""
        self.collector.reset(seed=seed)
        self.buffer.begin(self._shown())

    def _shown(self) -> Any:
        """Return what the environments show now, as the buffer stores it."""
        stepper = self.collector.stepper
        if stepper.mask_array is None:
            return stepper.observation_array
        return join_mask(stepper.observation_array, stepper.mask_array)

    def save_buffer(self, path: Path) -> None:
        """Write the buffer into a file, piece by piece; see `TransitionBuffer.save`."""
        self.buffer.save(path)

    def load_buffer(self, path: Path) -> None:
        """Restore the buffer; comes before `load_state_dict`.

        Raises:
            CheckpointError: The file is missing, damaged, or of another layout.
        """
        self.buffer.load(path)
        self._buffer_is_loaded = True

    def state_dict(self) -> dict[str, Any]:
        """Return all but the buffer: environments, episodes, plan and generators."""
        return {
            "collector": self.collector.state_dict(),
            "plan": self.plan.state_dict(),
            "generator": self.generator.get_state(),
            "generator_device": self.generator.device.type,
            "n_added": self.buffer.n_added,
        }

    def load_state_dict(self, state: dict[str, Any]) -> int:
        """Restore what `state_dict` returned; returns how many environments could not be.

        Without the buffer (see `load_buffer`) an empty one is filled again before anything is
        learnt, by the policy as it is, and no update is owed for what was lost.

        Raises:
            CheckpointError: The buffer that was loaded is of another moment.
        """
        self.plan.load_state_dict(state["plan"])
        lost = self.collector.load_state_dict(state["collector"])
        if self.generator.device.type == state["generator_device"]:
            self.generator.set_state(state["generator"])
        else:  # the generators of other devices draw other numbers
            self.generator.manual_seed(self.generator.initial_seed() + state["n_added"])
        if not self._buffer_is_loaded:
            self.plan.budget.restart()
            self.buffer.begin(self._shown())
        elif self.buffer.n_added != state["n_added"]:
            raise CheckpointError(
                f"the saved buffer has seen {self.buffer.n_added:,} transitions and the checkpoint "
                f"{state['n_added']:,}: they are not of one moment"
            )
        elif len(lost):
            self.buffer.cut(self._shown(), lost)
        return len(lost)


def join_mask(observation: Any, mask: Any) -> dict[str, Any]:
    """Return an observation and the mask of what it allows as one Dict."""
    parts = observation if isinstance(observation, dict) else {OBSERVATION: observation}
    return {**parts, STORED_MASK: mask}


def split_mask(observation: Any, *, is_dict: bool) -> tuple[Any, Any]:
    """Undo `join_mask`: the observation, and the mask as booleans.

    Args:
        observation: Of a batch.
        is_dict: Whether the observation itself is a Dict.
    """
    parts = {key: part for key, part in observation.items() if key != STORED_MASK}
    mask = observation[STORED_MASK].bool()
    return (parts if is_dict else parts[OBSERVATION]), mask


def stored_space(observation_space: gym.Space, *, mask_width: int) -> gym.Space:
    """Return the space of what a buffer stores of an observation; see `join_mask`.

    Args:
        observation_space: Single observation space.
        mask_width: Width of the action masks; 0 without them.
    """
    if not mask_width:
        return observation_space
    is_dict = isinstance(observation_space, gym.spaces.Dict)
    parts = dict(observation_space.spaces) if is_dict else {OBSERVATION: observation_space}
    parts[STORED_MASK] = gym.spaces.Box(0, 1, (mask_width,), np.uint8)
    return gym.spaces.Dict(parts)
