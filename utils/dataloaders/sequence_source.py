"""The data source of agents that learn from replayed sequences."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor
from typing_extensions import override

from utils.buffers import SequenceBatch, SequenceBuffer
from utils.dataloaders.replay_plan import ReplayPlan
from utils.dataloaders.replay_source import ReplaySource
from utils.rollouts.experience_collector import ExperienceCollector, Step


class SequenceSource(ReplaySource):
    """A `ReplaySource` whose buffer holds whole episodes and what the policy remembered."""

    buffer: SequenceBuffer  # type: ignore[assignment]

    def __init__(
        self,
        collector: ExperienceCollector,
        buffer: SequenceBuffer,
        plan: ReplayPlan,
        *,
        seed: int,
        reward_scale: float = 1.0,
        memory_of: Callable[[Tensor], Mapping[str, Tensor]],
        on_step: Callable[[Step], object] | None = None,
    ) -> None:
        """Put collector, buffer and plan together; see `ReplaySource`.

        Args:
            collector: Steps the environments.
            buffer: Is filled and drawn from.
            plan: Says what is due.
            seed: Of what is drawn from the buffer.
            reward_scale: What rewards are multiplied by as they are stored.
            memory_of: State of the policy (N, state_dim) -> fields of the buffer, (N, ...) each.
            on_step: Is shown every vector step before it is stored.
        """
        super().__init__(
            collector,
            buffer,  # type: ignore[arg-type]
            plan,
            seed=seed,
            reward_scale=reward_scale,
        )
        self._memory_of, self._on_step = memory_of, on_step

    @override
    def sample(self, *, beta: float | None = None) -> SequenceBatch:  # type: ignore[override]
        """Draw a batch of sequences."""
        return self.buffer.sample(self.plan.pace.batch_size, generator=self.generator, beta=beta)

    @override
    def _write(self, step: Step) -> None:
        if self._on_step is not None:
            self._on_step(step)
        scale = self._reward_scale
        assert step.state is not None, "the policy has a memory"
        self.buffer.add(
            action=step.stored_action,
            reward=step.reward if scale == 1.0 else step.reward * scale,
            terminated=step.terminated,
            truncated=step.truncated,
            next_observation=step.next_observation,
            final_observation=step.final_observation,
            state=self._memory_of(step.state),
        )
