"""What a config says about its environment, for labels, listings, reports and cards."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from utils.config.fields import Number, NumberRange, PositiveNumber, Text

STRICT_MODEL = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class SpaceSpec(BaseModel):
    """The meaning of an observation or an action."""

    model_config = STRICT_MODEL

    labels: tuple[Text, ...] = Field(
        default=(), description="One name per entry of a Box, or per value of a Discrete, in order."
    )
    description: Text = Field(
        default="", description="What the numbers mean, where labels do not say it."
    )


class RangeSpec(BaseModel):
    """The values that a reward or a return can take."""

    model_config = STRICT_MODEL

    range: NumberRange = Field(
        default=(None, None), description="[low, high] in the units of the reward; null: no bound."
    )
    description: Text = Field(default="", description="How the value comes about.")


class SpecConfig(BaseModel):
    """Facts about an environment; nothing here changes the training but `solved_threshold`."""

    model_config = STRICT_MODEL

    summary: Text = Field(default="", description="The task in one line.")
    source: Text = Field(default="", description="Where the environment is documented (a URL).")
    observation: SpaceSpec = Field(default=SpaceSpec(), description="Meaning of the observation.")
    action: SpaceSpec = Field(default=SpaceSpec(), description="Meaning of the action.")
    reward: RangeSpec = Field(
        default=RangeSpec(), description="Reward of one step, as the game gives it."
    )
    returns: RangeSpec = Field(
        default=RangeSpec(), description="Undiscounted return of one episode."
    )
    solved_threshold: Number | None = Field(
        default=None,
        description="Mean return at which the task counts as solved; null: none is agreed.",
    )
    render_fps: PositiveNumber | None = Field(
        default=None, description="Frames per second of videos; null: as the environment says."
    )
