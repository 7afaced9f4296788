"""What the settings of agents have in common whose critics value continuous actions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from utils.config.algos.off_policy import OffPolicyConfig
from utils.config.fields import Flag, PositiveInteger, PositiveUnitNumber, ProperShare
from utils.config.schedule_spec import OptionalPositiveScheduleField
from utils.config.schema import NetworkKwargs


class ActorAndCriticKwargs(NetworkKwargs):
    """The shape of an actor and of each of its critics."""

    hidden_dims: tuple[PositiveInteger, ...] = Field(
        default=(256, 256),
        description="Units of each hidden layer of the actor and of every critic; [] for none.",
    )
    activation: Literal["tanh", "relu", "elu", "silu", "gelu"] = Field(
        default="relu", description="Nonlinearity after each hidden layer."
    )
    orthogonal_init: Flag = Field(
        default=False,
        description="Orthogonal weights and zero biases of the actor at start, not torch's own.",
    )
    critic_layer_norm: Flag = Field(
        default=False,
        description="Normalise the critics' hidden layers: steadier at high replay ratios.",
    )


class ActorCriticReplayConfig(OffPolicyConfig):
    """Settings of an actor that climbs the values of critics which learn from a replay buffer."""

    policy_kwargs: ActorAndCriticKwargs = Field(
        default=ActorAndCriticKwargs(), description="Shape of the networks."
    )
    batch_size: PositiveInteger = Field(default=256, description="Transitions of one update, >= 1.")
    buffer_transitions: PositiveInteger = Field(
        default=1_000_000, description="Newest transitions that are kept, >= 1."
    )
    max_grad_norm: OptionalPositiveScheduleField = Field(
        default=None,
        description="Bound of the norm of each network's gradient, > 0; null: no bound.",
    )
    exploration_correlation: ProperShare = Field(
        default=0.0,
        description=(
            "Correlation of the noise of one vector step with that of the step before, 0 to 1: "
            "lasting pushes find what hasty ones do not."
        ),
    )
    n_critics: PositiveInteger = Field(
        default=2, description="Critics, of which the lowest value counts, >= 1."
    )
    target_tau: PositiveUnitNumber = Field(
        default=0.005,
        description="Weight of the critics in each update of their targets, in (0, 1].",
    )
