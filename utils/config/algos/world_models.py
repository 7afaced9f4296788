"""The settings of World Models (2018)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from utils.config.algos.effect_rules import (
    DREAMS_WITHOUT_MASKS,
    FILMS_NO_DREAMS,
    STORES_RAW_REWARDS,
    reads_raw_observations,
)
from utils.config.algos.phases import PhaseConfig, phase_problems, problem_of_hunger
from utils.config.fields import (
    Flag,
    NonNegativeInteger,
    NonNegativeNumber,
    PositiveInteger,
    PositiveNumber,
    Text,
)
from utils.config.problems import Problem
from utils.config.schedule_spec import OptionalPositiveScheduleField, ScheduleField
from utils.config.schema import Config
from utils.config.spec import STRICT_MODEL
from utils.config.validate import COMMON_EFFECT_RULES, EffectRule
from utils.phases import COLLECT, PhaseSpec, find_hungry_phases

UPDATE_VAE, UPDATE_RNN, EVOLVE = "update_vae", "update_rnn", "evolve"
_STRETCHES = ((COLLECT,), (UPDATE_VAE,), (UPDATE_RNN,), (EVOLVE,), (COLLECT, EVOLVE))
"""What a phase may do: one thing; to evolve in the real environment takes steps of it."""


class WorldModelsKwargs(BaseModel):
    """The shape of V, M and C."""

    model_config = STRICT_MODEL

    latents: PositiveInteger = Field(
        default=32, description="Numbers that a picture becomes (z), >= 1."
    )
    depth: PositiveInteger = Field(
        default=32, description="Channels of the first convolution, >= 1; the paper's are 32."
    )
    units: PositiveInteger = Field(default=256, description="Units of the LSTM, >= 1.")
    mixtures: PositiveInteger = Field(
        default=5, description="Normal distributions of each mixture, >= 1."
    )
    joint_mixture: Flag = Field(
        default=False,
        description="One mixture for all latents together; false: each latent has its own.",
    )
    controller: Literal["z", "z_h", "z_h_c"] = Field(
        default="z_h",
        description=(
            "What the controller reads: the latent (z), the LSTM's output (h), its cell (c)."
        ),
    )
    clipped_actions: tuple[NonNegativeInteger, ...] = Field(
        default=(),
        description=(
            "Numbers of a Box, from 0, that are the controller's tanh cut at the bounds; the "
            "others are spread over the bounds."
        ),
    )


class WorldModelsConfig(Config):
    """A model of pictures, a model of how they go on, and a controller that is evolved.

    Ha and Schmidhuber 2018, "World models". The phases say what is done when: `collect`,
    `update_vae`, `update_rnn`, `evolve`, one in each phase; `[collect, evolve]` evolves in the real
    environment, `[evolve]` alone in the dream.
    """

    algo_id: Literal["world_models"] = Field(description="The algorithm.")
    policy_kwargs: WorldModelsKwargs = Field(  # type: ignore[assignment]
        default=WorldModelsKwargs(), description="Shape of the models and the controller."
    )
    phases: tuple[PhaseConfig, ...] = Field(
        description=(
            "Stretches of the training, in order. Units: timesteps of collecting, updates of a "
            "model, and for evolve updates are generations."
        )
    )
    optimizer: Text = Field(
        default="Adam", description="Class name of an optimiser in torch.optim, for both models."
    )
    policy_lr: ScheduleField = Field(
        default=1e-4, description="Learning rate of the variational autoencoder, >= 0."
    )
    rnn_lr: ScheduleField = Field(
        default=1e-3, description="Learning rate of the recurrent model, >= 0."
    )
    max_grad_norm: OptionalPositiveScheduleField = Field(
        default=None,
        description="Bound of the norm of the recurrent model's gradient, > 0; null: no bound.",
    )
    max_grad_value: PositiveNumber | None = Field(
        default=1.0,
        description="Bound of each number of the recurrent model's gradient, > 0; null: no bound.",
    )

    # What is stored
    buffer_steps: PositiveInteger = Field(
        default=1_000_000,
        description="Newest steps that are kept, >= 1; the end of an episode counts as one.",
    )
    buffer_folder: Text | None = Field(
        default=None,
        description=(
            "Folder on whose disk the steps lie, in files without names that go with the process; "
            "null: in memory."
        ),
    )
    held_steps: tuple[PositiveInteger, PositiveInteger] = Field(
        default=(1, 1),
        description="[least, most] steps that a random action is held while collecting, >= 1.",
    )
    steps_per_epoch: PositiveInteger = Field(
        default=1000, description="Vector steps of an epoch of collecting, >= 1."
    )

    # The models
    updates_per_epoch: PositiveInteger = Field(
        default=100, description="Updates of an epoch of learning a model, >= 1."
    )
    vae_batch_size: PositiveInteger = Field(
        default=100, description="Pictures of an update of the autoencoder, >= 1."
    )
    free_nats_per_latent: NonNegativeNumber = Field(
        default=0.5,
        description="Divergence of each picture that costs nothing, in nats for each latent, >= 0.",
    )
    rnn_batch_size: PositiveInteger = Field(
        default=100, description="Sequences of an update of the recurrent model, >= 1."
    )
    sequence_length: PositiveInteger = Field(default=100, description="Steps of a sequence, >= 1.")
    reward_loss_scale: NonNegativeNumber = Field(
        default=1.0, description="Weight of the squared error of foretold rewards, >= 0."
    )
    end_loss_scale: NonNegativeNumber = Field(
        default=1.0, description="Weight of the error of foretelling the end, >= 0."
    )
    end_weight: PositiveNumber = Field(
        default=10.0, description="Weight of an end against a step that is none, > 0."
    )

    # The controller
    population: int = Field(default=64, ge=2, description="Candidates of a generation, >= 2.")
    episodes_per_candidate: PositiveInteger = Field(
        default=16,
        description="Episodes, or dreams, that a candidate's fitness is the mean of, >= 1.",
    )
    sigma: PositiveNumber = Field(
        default=0.1, description="First standard deviation of the controller's numbers, > 0."
    )
    controller_decay: NonNegativeNumber = Field(
        default=0.01,
        description="What the mean square of a controller's numbers costs its fitness, >= 0.",
    )
    evolve_max_steps: PositiveInteger | None = Field(
        default=None,
        description=(
            "Steps after which a candidate's episode is cut, >= 1; null: whole episodes. A dream "
            "needs it."
        ),
    )
    temperature: PositiveNumber = Field(
        default=1.0, description="Of dreams: above 1 they are less certain, > 0."
    )
    generations_per_epoch: PositiveInteger = Field(
        default=1, description="Generations of an epoch, >= 1."
    )
    dream_video: Flag = Field(
        default=True, description="Film dreams beside what happened whenever a policy is filmed."
    )

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = (
        *COMMON_EFFECT_RULES,
        reads_raw_observations("pictures are read as they are"),
        STORES_RAW_REWARDS,
        DREAMS_WITHOUT_MASKS,
        FILMS_NO_DREAMS,
        EffectRule(
            options=("temperature",),
            switches=("phases",),
            is_off=lambda config: not config.dreams,
            reason="no phase evolves in the dream",
        ),
    )
    UPDATE_HOOKS: ClassVar[tuple[str, ...]] = (UPDATE_VAE, UPDATE_RNN, EVOLVE)

    @property
    def phase_specs(self) -> list[PhaseSpec]:
        """What is done in which order."""
        return [phase.spec() for phase in self.phases]

    @property
    def dreams(self) -> bool:
        """Whether any phase evolves in the dream."""
        return any(phase.hooks == (EVOLVE,) for phase in self.phases)

    @property
    def least_rows(self) -> int:
        """Rows that every environment must keep for a sequence."""
        return self.sequence_length + 1

    def find_inconsistencies(self) -> list[Problem]:
        """List what does not fit together in phases, buffer and evolution."""
        # A smaller budget than the phases ask for is no contradiction: it ends the run early.
        wanted = [phase.duration.timesteps or 0 for phase in self.phases if phase.duration]
        problems = phase_problems(
            self.phases,
            update_hooks=self.UPDATE_HOOKS,
            max_timesteps=max(self.max_timesteps, sum(wanted)),
        )
        if not problems:
            problems += self._hungry_phases()
        if not self.phases:
            problems.append(Problem(("phases",), "'phases' must name at least one phase"))
        for index, phase in enumerate(self.phases):
            if phase.hooks not in _STRETCHES:
                message = (
                    f"phase '{phase.name}' (phases.{index}) does {list(phase.hooks)}: a phase "
                    "of world_models does one of collect, update_vae, update_rnn and evolve, or "
                    "[collect, evolve] to evolve in the real environment"
                )
                problems.append(Problem((f"phases.{index}",), message))
        return [*problems, *self._other_problems()]

    def _hungry_phases(self) -> list[Problem]:
        a_sequence_each = self.least_rows * self.n_envs
        faults = find_hungry_phases(
            self.phase_specs,
            needs=lambda phase: a_sequence_each if UPDATE_RNN in phase.hooks else 1,
            stores=lambda phase: phase.hooks == (COLLECT,),
            n_envs=self.n_envs,
            cycle_timesteps=self.steps_per_epoch * self.n_envs,
            max_timesteps=self.max_timesteps,
        )
        hint = (
            f", {self.least_rows} in each of {self.n_envs} environments: collect more "
            "before it, or lower sequence_length or n_envs"
        )
        return [problem_of_hunger(self.phases, fault, hint) for fault in faults]

    def _other_problems(self) -> list[Problem]:
        problems = []
        if self.held_steps[0] > self.held_steps[1]:
            message = f"held_steps {list(self.held_steps)} must be [least, most]"
            problems.append(Problem(("held_steps",), message))
        if self.dreams and self.evolve_max_steps is None:
            message = (
                "a phase evolves in the dream, which has no time limit of its own: set "
                "evolve_max_steps"
            )
            problems.append(Problem(("evolve_max_steps", "phases"), message))
        needed = self.least_rows * self.n_envs
        if self.buffer_steps < needed:
            message = (
                f"buffer_steps {self.buffer_steps} cannot hold a sequence of each environment: "
                f"{needed} steps"
            )
            problems.append(Problem(("buffer_steps", "sequence_length", "n_envs"), message))
        if self.vectorization not in ("auto", "sync", "async"):
            message = (
                f"vectorization: {self.vectorization} cannot give each environment a seed of its "
                "own, which candidates are compared by: use auto, sync or async"
            )
            problems.append(Problem(("vectorization",), message))
        return problems
