"""Rules that concern several settings at once.

Two kinds: contradictions, which no config may hold, and options without effect, which depend on
where each setting was written and so are asked of the files and overrides that make a config.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from utils.config.atari import find_atari_problems
from utils.config.problems import Problem, did_you_mean
from utils.schedules import ScheduleSpec, schedule_bounds

if TYPE_CHECKING:
    from utils.config.schema import Config

OPTIMIZERS = (
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
)
"""The optimisers of torch.optim that take dense gradients of any shape and need no closure; listed
here because torch takes too long to import to check a config."""

_AMBIGUOUS_ENV_KWARGS = frozenset({"seed", "description", "device"})
"""Settings of ours whose names are also plausible arguments of an environment."""


@dataclass(frozen=True, slots=True)
class EffectRule:
    """Settings that do nothing while other settings switch them off."""

    options: tuple[str, ...]
    """The settings that do nothing, dotted."""
    switches: tuple[str, ...]
    """The settings that decide it."""
    is_off: Callable[[Any], bool]
    """Whether a config switches the options off."""
    reason: str
    """Why they do nothing, after "has no effect: "."""


_EVALUATION_SWITCHES = ("eval_freq_epochs", "eval_freq_timesteps")
_NO_EVALUATION = "eval_freq_epochs and eval_freq_timesteps are null, so no evaluation runs"
_NO_FILM = f"{_NO_EVALUATION} to be filmed; video: last films the final policy"


def _films_no_evaluation(config: Config) -> bool:
    return config.video in ("best", "every") and not config.evaluates


COMMON_EFFECT_RULES = (
    EffectRule(
        options=("n_workers",),
        switches=("vectorization",),
        is_off=lambda config: config.vectorization not in ("auto", "async", "native", "simd"),
        reason="only vectorization: async has worker processes, and native and simd threads",
    ),
    EffectRule(
        options=("start_method", "env_timeout_seconds"),
        switches=("vectorization",),
        is_off=lambda config: config.vectorization not in ("auto", "async"),
        reason="only vectorization: async has worker processes",
    ),
    EffectRule(
        options=("clip_obs",),
        switches=("normalize_obs",),
        is_off=lambda config: config.normalize_obs != "rolling",
        reason="only normalize_obs: rolling clips",
    ),
    EffectRule(
        options=("clip_reward",),
        switches=("normalize_reward",),
        is_off=lambda config: not config.normalize_reward,
        reason="normalize_reward is false",
    ),
    EffectRule(
        options=("reward_scale",),
        switches=("normalize_reward",),
        is_off=lambda config: config.normalize_reward,
        reason="normalize_reward gives rewards a scale of its own",
    ),
    EffectRule(
        options=("eval_episodes",),
        switches=_EVALUATION_SWITCHES,
        is_off=lambda config: not config.evaluates,
        reason=_NO_EVALUATION,
    ),
    EffectRule(
        options=("eval_n_envs", "eval_timeout_seconds"),
        switches=(*_EVALUATION_SWITCHES, "test_episodes"),
        is_off=lambda config: not config.evaluates and config.test_episodes == 0,
        reason=f"{_NO_EVALUATION}, and test_episodes is 0, so no test does",
    ),
    EffectRule(
        options=("eval_warmup_epochs",),
        switches=_EVALUATION_SWITCHES,
        is_off=lambda config: config.eval_freq_epochs is None,
        reason="evaluations do not go by epochs",
    ),
    EffectRule(
        options=("video",),
        switches=_EVALUATION_SWITCHES,
        is_off=_films_no_evaluation,
        reason=_NO_FILM,
    ),
    EffectRule(
        options=("video_max_steps",),
        switches=("video",),
        is_off=lambda config: config.video == "none",
        reason="video is none",
    ),
    EffectRule(
        options=("video_max_steps",),
        switches=_EVALUATION_SWITCHES,
        is_off=_films_no_evaluation,
        reason=_NO_FILM,
    ),
    EffectRule(
        options=("trackio_project",),
        switches=("trackio",),
        is_off=lambda config: not config.trackio,
        reason="trackio is false",
    ),
    EffectRule(
        options=("wandb_project",),
        switches=("wandb",),
        is_off=lambda config: not config.wandb,
        reason="wandb is false",
    ),
)


def find_ineffective_options(
    config: Config, *, layer_of: Callable[[str], int | None]
) -> list[Problem]:
    """List the options that somebody wrote and that nothing reads.

    An option is excused where a later layer switched it off: `--set video=none` need not also
    unset the `video_max_steps` of the file.

    Args:
        config: The config.
        layer_of: Gives the number of the layer that set a dotted key; None where nobody did.

    Returns:
        One problem per option.
    """
    problems = []
    for rule in type(config).EFFECT_RULES:
        if not rule.is_off(config):
            continue
        switch_layers = (layer_of(switch) for switch in rule.switches)
        switched_in = max((layer for layer in switch_layers if layer is not None), default=-1)
        for option in rule.options:
            layer = layer_of(option)
            if layer is not None and layer >= switched_in:
                problems.append(Problem((option,), f"'{option}' has no effect: {rule.reason}"))
    return problems


def find_inconsistencies(config: Config) -> list[Problem]:
    """List the contradictions among the settings that every algorithm has."""
    return [
        *_environment_problems(config),
        *_wrapper_problems(config),
        *find_atari_problems(config.env_id, config.env_kwargs, config.env_wrappers),
        *_misplaced_keys(config),
        *_optimizer_problems(config),
        *_process_problems(config),
        *_schedule_problems(config),
        *_evaluation_problems(config),
    ]


def _environment_problems(config: Config) -> Iterator[Problem]:
    if config.n_workers is not None and config.n_workers > config.n_envs:
        yield Problem(
            ("n_workers", "n_envs"), f"n_workers {config.n_workers} exceeds n_envs {config.n_envs}"
        )
    if config.channel_order == "none":
        for key in ("grayscale_obs", "resize_obs"):
            if getattr(config, key):
                message = f"'{key}' needs a picture, and channel_order: none says there is none"
                yield Problem((key, "channel_order"), message)


def _process_problems(config: Config) -> Iterator[Problem]:
    n = config.n_processes
    if n == 1:
        return
    if (reason := config.why_not_shared()) is not None:
        yield Problem(("devices", "num_nodes", "algo_id"), f"{n} processes: {reason}")
    elif config.n_envs % n:
        yield Problem(
            ("devices", "num_nodes", "n_envs"),
            f"{n} processes cannot share n_envs {config.n_envs} evenly: make it a multiple of {n}",
        )


def _wrapper_problems(config: Config) -> Iterator[Problem]:
    for index, wrapper in enumerate(config.env_wrappers):
        key = f"env_wrappers.{index}"
        if not isinstance(wrapper.get("id"), str):
            yield Problem((key,), f"'{key}' names no wrapper: write {{id: Name, ...arguments}}")
        if config.action_masks and wrapper.get("id") == "FrameSkip":
            message = (
                "FrameSkip repeats an action also where 'action_masks' no longer allows it: use "
                "one of the two"
            )
            yield Problem((key, "action_masks"), message)
        if "gamma" in wrapper and (fault := _gamma_fault(config, wrapper["gamma"])):
            yield Problem((f"{key}.gamma", "gamma"), f"'{key}.gamma' is {fault}")


def _gamma_fault(config: Config, of_wrapper: Any) -> str | None:
    """Say how a wrapper's discount differs from the learner's, which it must be."""
    gamma = getattr(config, "gamma", of_wrapper)  # who has none discounts nothing
    if isinstance(gamma, ScheduleSpec):
        return f"{of_wrapper} and gamma follows a schedule: this wrapper needs a constant gamma"
    if of_wrapper != gamma:
        return f"{of_wrapper} and gamma is {gamma}: both must be the same discount"
    return None


def _misplaced_keys(config: Config) -> Iterator[Problem]:
    own = set(type(config).model_fields)
    for key in own & set(config.env_kwargs) - _AMBIGUOUS_ENV_KWARGS:
        where = f"env_kwargs.{key}"
        yield Problem(
            (where,),
            f"'{key}' is a setting of the run, not an argument of the environment "
            f"(in 'env_kwargs'): did you mean '{key}' one level up?",
        )
    if "render_mode" in config.env_kwargs:
        yield Problem(("env_kwargs.render_mode",), "'render_mode' is chosen by the program")


def _optimizer_problems(config: Config) -> Iterator[Problem]:
    known = (*OPTIMIZERS, *type(config).OPTIMIZERS)
    if config.optimizer not in known:
        hint = did_you_mean(config.optimizer, known)
        choices = ", ".join(known)
        yield Problem(
            ("optimizer",), f"unknown optimizer '{config.optimizer}'{hint} (known: {choices})"
        )
    for key, instead in {"lr": "policy_lr", "params": None}.items():
        if key in config.optimizer_kwargs:
            remedy = f"set '{instead}'" if instead else "the program sets it"
            yield Problem((f"optimizer_kwargs.{key}",), f"'{key}' is no optimizer option: {remedy}")


def _schedule_problems(config: Config) -> Iterator[Problem]:
    for key, schedule in config.hyperparameters.items():
        if not isinstance(schedule, ScheduleSpec):
            continue
        begin, end = schedule_bounds(schedule, max_timesteps=config.max_timesteps)
        if begin > end:
            yield Problem(
                (key, "max_timesteps"),
                f"'{key}' begins its schedule at timestep {begin:g} and ends it at {end:g}: "
                "'from' must not come after 'to'",
            )


def _evaluation_problems(config: Config) -> Iterator[Problem]:
    if config.eval_freq_epochs is not None and config.eval_freq_timesteps is not None:
        yield Problem(
            ("eval_freq_epochs", "eval_freq_timesteps"),
            "eval_freq_epochs and eval_freq_timesteps exclude each other: set one to null",
        )
    if config.early_stop_on_eval_reward and not config.evaluates:
        yield Problem(
            ("early_stop_on_eval_reward", "eval_freq_epochs", "eval_freq_timesteps"),
            "early_stop_on_eval_reward needs evaluations: set eval_freq_epochs",
        )
    n_envs = config.eval_n_envs
    if config.evaluates and n_envs is not None and n_envs > config.eval_episodes:
        yield Problem(
            ("eval_n_envs", "eval_episodes"),
            f"eval_n_envs {n_envs} exceeds eval_episodes {config.eval_episodes}: "
            "some environments would have no episode to play",
        )
