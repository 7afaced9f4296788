"""The settings that every algorithm shares.

A config is made once, checked whole, and never changed. Values derived from other settings are
properties; they are never stored, so saving and loading a config cannot apply them twice.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError

from utils.config.atari import is_atari, spell_out_env_kwargs
from utils.config.fields import (
    Count,
    Flag,
    Integer,
    NonNegativeInteger,
    Number,
    PlainMapping,
    PositiveInteger,
    PositiveNumber,
    Text,
)
from utils.config.migrations import SCHEMA_VERSION
from utils.config.problems import Problem
from utils.config.schedule_spec import (
    OptionalPositiveScheduleField,
    SchedulableMarker,
    ScheduleField,
)
from utils.config.spec import STRICT_MODEL, SpecConfig
from utils.config.validate import COMMON_EFFECT_RULES, EffectRule, find_inconsistencies
from utils.phases import PhaseSpec
from utils.schedules import Schedulable


class NetworkKwargs(BaseModel):
    """The shape of a network, whatever it computes."""

    model_config = STRICT_MODEL

    hidden_dims: tuple[PositiveInteger, ...] = Field(
        default=(64, 64), description="Units of each hidden layer, >= 1; [] for a linear policy."
    )
    activation: Literal["tanh", "relu", "elu", "silu", "gelu"] = Field(
        default="tanh", description="Nonlinearity after each hidden layer."
    )
    orthogonal_init: Flag = Field(
        default=True, description="Orthogonal weights and zero biases at start."
    )
    feature_dim: PositiveInteger = Field(
        default=512,
        description="Units of the layer that follows the convolutions of an image, >= 1.",
    )


class PolicyKwargs(NetworkKwargs):
    """The shape of an actor and its critic."""

    share_trunk: Flag = Field(
        default=False, description="One trunk under the actor head and the critic head, not two."
    )
    log_std_init: Number = Field(
        default=0.0,
        description="Log standard deviation of a Box action at the start, in action units.",
    )
    memory: Literal["none", "gru", "lstm"] = Field(
        default="none", description="What remembers an episode, between hidden layers and heads."
    )
    memory_dim: PositiveInteger = Field(
        default=64, description="Units of the memory, >= 1; an LSTM keeps twice as many numbers."
    )


class Config(BaseModel):
    """Settings of one run that do not depend on the algorithm; each algorithm subclasses it."""

    model_config = STRICT_MODEL

    # Identity
    config_id: Text = Field(description="<env>:<variant>, the file and the block it came from.")
    algo_id: Text = Field(description="The algorithm, such as ppo.")
    env_id: Text = Field(description="Environment id as Gymnasium registers it.")
    seed: Integer = Field(
        default=0, ge=0, le=2**31 - 1, description="Seed of every random stream, 0 to 2^31 - 1."
    )
    description: Text = Field(default="", description="A note on the variant, for people.")
    spec: SpecConfig = Field(default=SpecConfig(), description="Facts about the environment.")

    # Environment
    n_envs: Count = Field(description="Environments stepped side by side, >= 1.")
    vectorization: Literal["auto", "sync", "async", "native", "simd", "torch"] = Field(
        default="auto",
        description=(
            "sync: in this process; async: in worker processes; native: by the environment's own "
            "vector environment (Atari); simd: all in one compiled call (classic "
            "control); torch: as tensors on `device` (classic control); auto: the fastest but "
            "torch that does the same."
        ),
    )
    n_workers: PositiveInteger | None = Field(
        default=None,
        description=(
            "Worker processes, 1 to n_envs; null: one per core, at most n_envs. For native: "
            "threads; null: one per core. For simd: threads of evaluations and of rollouts that "
            "are not compiled; null: one."
        ),
    )
    start_method: Literal["spawn", "forkserver", "fork"] = Field(
        default="spawn", description="How worker processes are started."
    )
    env_timeout_seconds: PositiveNumber = Field(
        default=60.0,
        description="Seconds without an answer after which a worker counts as hung, > 0.",
    )
    env_kwargs: PlainMapping = Field(default={}, description="Arguments of the environment itself.")
    env_wrappers: tuple[PlainMapping, ...] = Field(
        default=(), description="Wrappers from the inside out, each {id: Name, ...arguments}."
    )
    max_episode_steps: Count | None = Field(
        default=None,
        description="Time limit of an episode in steps, >= 1; null: the environment's own.",
    )
    grayscale_obs: Flag = Field(default=False, description="Turn colour pictures grey.")
    resize_obs: tuple[PositiveInteger, PositiveInteger] | None = Field(
        default=None, description="[height, width] of pictures in pixels; null: as they come."
    )
    frame_stack: Count = Field(
        default=1, description="Newest observations that are stacked into one, >= 1; 1: no stack."
    )
    channel_order: Literal["auto", "first", "last", "none"] = Field(
        default="auto", description="Where a picture's channels are; none: the array is no picture."
    )
    normalize_obs: Literal["none", "rolling", "static"] = Field(
        default="none",
        description="rolling: by running mean and variance; static: by the space's bounds.",
    )
    clip_obs: PositiveNumber = Field(
        default=10.0, description="Bound of a normalised observation, in standard deviations, > 0."
    )
    normalize_reward: Flag = Field(
        default=False,
        description="Divide what the learner gets by the running deviation of the return.",
    )
    clip_reward: PositiveNumber = Field(
        default=10.0, description="Bound of a normalised reward, in standard deviations, > 0."
    )

    reward_scale: PositiveNumber = Field(
        default=1.0,
        description="What the learner's rewards are multiplied by, > 0; reported returns stay raw.",
    )

    # Budget
    max_timesteps: PositiveInteger = Field(
        description="Environment steps of the run, summed over all environments, >= 1."
    )

    # Model and optimiser
    action_masks: Flag = Field(
        default=False,
        description="Choose only among the actions that info['action_mask'] allows.",
    )
    policy_kwargs: NetworkKwargs = Field(
        default=NetworkKwargs(), description="Shape of the networks."
    )
    optimizer: Text = Field(
        default="AdamW", description="Class name of an optimiser in torch.optim."
    )
    optimizer_kwargs: PlainMapping = Field(
        default={}, description="Arguments of the optimiser, without lr and params."
    )
    policy_lr: ScheduleField = Field(description="Learning rate, >= 0.")
    max_grad_norm: OptionalPositiveScheduleField = Field(
        default=0.5, description="Bound of the norm of the whole gradient, > 0; null: no bound."
    )

    # Evaluation
    eval_warmup_epochs: NonNegativeInteger = Field(
        default=50, description="Epochs before which no evaluation runs, >= 0."
    )
    eval_freq_epochs: PositiveInteger | None = Field(
        default=15,
        description=(
            "Evaluate at the epochs that this divides, >= 1, and at the last one; null: not by "
            "epochs."
        ),
    )
    eval_freq_timesteps: PositiveInteger | None = Field(
        default=None,
        description=(
            "Evaluate each time so many timesteps have passed, and at the end; null: by epochs."
        ),
    )
    eval_episodes: PositiveInteger = Field(
        default=10, description="Episodes of one evaluation, >= 1."
    )
    eval_n_envs: PositiveInteger | None = Field(
        default=None,
        description=(
            "Environments of an evaluation, 1 to eval_episodes; null: up to 16, or 1 where each "
            "takes a process of its own (Retro)."
        ),
    )
    eval_deterministic: Flag = Field(
        default=True, description="Evaluate the most likely action; false: a sampled one."
    )
    eval_timeout_seconds: PositiveNumber = Field(
        default=120.0, description="Seconds after which an evaluation ends as it stands, > 0."
    )
    eval_max_episode_steps: PositiveInteger | None = Field(
        default=None,
        description=(
            "Time limit of an evaluation episode in steps: a longer one than max_episode_steps "
            "takes its place, and elsewhere an episode that reaches it is given up and reported as "
            "unfinished; null: as in training."
        ),
    )

    test_episodes: NonNegativeInteger = Field(
        default=100,
        description="Fresh episodes that judge the best and last policy at the end, >= 0.",
    )

    # Video
    video: Literal["none", "best", "last", "every"] = Field(
        default="best", description="Which evaluations are filmed."
    )
    video_max_steps: PositiveInteger = Field(
        default=1000, description="Steps of a video at most, >= 1."
    )

    # Stopping
    early_stop_on_eval_reward: Flag = Field(
        default=False,
        description="Stop once the mean return of an evaluation reaches the threshold.",
    )
    early_stop_on_train_reward: Flag = Field(
        default=False, description="Stop once the mean return in training reaches the threshold."
    )
    reward_threshold: Number | None = Field(
        default=None,
        description="Threshold in raw return; null: spec.solved_threshold, or the environment's.",
    )

    # Saving
    checkpoint_freq_epochs: PositiveInteger | None = Field(
        default=None,
        description="Save each time so many epochs have passed, >= 1; null: not by epochs.",
    )
    checkpoint_interval_seconds: PositiveNumber = Field(
        default=30.0, description="Save each time so many seconds have passed, > 0."
    )
    keep_checkpoints: PositiveInteger = Field(
        default=3, description="Newest checkpoints that are kept beside the best one, >= 1."
    )

    # Machine
    device: Literal["auto", "cpu", "cuda"] = Field(
        default="cpu", description="Where the networks live; small ones are fastest on the cpu."
    )
    torch_threads: PositiveInteger = Field(
        default=1, description="Threads of torch on the cpu, >= 1."
    )

    devices: PositiveInteger = Field(
        default=1,
        description=(
            "Processes of each machine that train together, one for each GPU where `device` is "
            "cuda; they divide the environments and every minibatch."
        ),
    )
    num_nodes: PositiveInteger = Field(
        default=1,
        description="Machines, each with `devices` processes that torchrun or srun has started.",
    )

    debug: Flag = Field(
        default=False,
        description=(
            "Check every tensor of the networks, keep statistics of them and profile the loop, "
            "without compiled or captured paths; takes several times as long."
        ),
    )

    # Logging
    tensorboard: Flag = Field(default=False, description="Write TensorBoard files too.")
    trackio: Flag = Field(default=False, description="Write to trackio, a local dashboard, too.")
    trackio_project: Text = Field(default="gymnasium-solver", description="Project in trackio.")
    wandb: Flag = Field(default=False, description="Send the metrics to Weights & Biases too.")
    wandb_project: Text = Field(
        default="gymnasium-solver", description="Project in Weights & Biases."
    )
    log_interval_seconds: PositiveNumber = Field(
        default=1.0, description="Least time between two tables on the console, in seconds, > 0."
    )

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = COMMON_EFFECT_RULES
    OPTIMIZERS: ClassVar[tuple[str, ...]] = ()
    """Optimisers of this project that the algorithm takes beside those of torch.optim."""

    @model_validator(mode="before")
    @classmethod
    def _choose_evaluation_unit(cls, data: Any) -> Any:
        """Drop the default period in epochs where only a period in timesteps is given."""
        if (
            isinstance(data, dict)
            and data.get("eval_freq_timesteps") is not None
            and "eval_freq_epochs" not in data
        ):
            return {**data, "eval_freq_epochs": None}
        return data

    @model_validator(mode="before")
    @classmethod
    def _spell_out_env_kwargs(cls, data: Any) -> Any:
        """Write out the defaults of an environment whose results depend on them."""
        if not isinstance(data, dict) or not is_atari(data.get("env_id")):
            return data
        kwargs = spell_out_env_kwargs(data["env_id"], data.get("env_kwargs", {}))
        return {**data, "env_kwargs": kwargs}

    @model_validator(mode="after")
    def _check_together(self) -> Config:
        problems = [*find_inconsistencies(self), *self.find_inconsistencies()]
        if problems:
            raise PydanticCustomError("inconsistent", "inconsistent", {"problems": problems})
        return self

    def find_inconsistencies(self) -> list[Problem]:
        """List the contradictions among the settings of this algorithm; none by default."""
        return []

    def implied_settings(self) -> dict[str, Any]:
        """Return what holds for settings that nobody chose, where other settings decide it.

        Those of a block stand under its name; a setting that is missing has its field's default.
        """
        return {}

    @property
    def n_processes(self) -> int:
        """Processes that train together."""
        return self.devices * self.num_nodes

    def missing_gpu(self, *, has_gpu: bool) -> str | None:
        """Say that the config is for a GPU and there is none; None otherwise."""
        if self.device == "cpu" or has_gpu:
            return None
        return f"meant for a GPU (device: {self.device}), and there is none"

    def why_not_shared(self) -> str | None:
        """Say what keeps several processes from training together; None if nothing does."""
        return f"{self.algo_id} is trained by one process"

    @property
    def phase_specs(self) -> list[PhaseSpec]:
        """What is done in which order; empty for an algorithm that knows no phases."""
        return []

    @property
    def evaluates(self) -> bool:
        """Whether any evaluation is asked for."""
        return self.eval_freq_epochs is not None or self.eval_freq_timesteps is not None

    @property
    def resolved_eval_n_envs(self) -> int:
        """Environments of an evaluation, 1 to `eval_episodes`."""
        return self.eval_n_envs or min(self.eval_episodes, 16)

    @property
    def hyperparameters(self) -> dict[str, Schedulable]:
        """The settings that may follow a schedule and are not null, by name."""
        values = {name: getattr(self, name) for name in _schedulable_names(type(self))}
        return {name: value for name, value in values.items() if value is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return every setting as JSON holds it, under `schema_version`; see config_from_dict."""
        return {"schema_version": SCHEMA_VERSION, **self.model_dump(mode="json")}


@functools.cache
def _schedulable_names(config_class: type[Config]) -> tuple[str, ...]:
    return tuple(
        name
        for name, field in config_class.model_fields.items()
        if any(isinstance(item, SchedulableMarker) for item in field.metadata)
    )
