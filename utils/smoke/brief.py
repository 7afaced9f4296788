"""How a config is cut down so that all parts of a run take part, each as small as it gets."""

from __future__ import annotations

import json

from utils.config import (
    Config,
    DiffusionConfig,
    ImitationConfig,
    OffPolicyConfig,
    PlanetConfig,
    PPOConfig,
    REINFORCEConfig,
    TDMPCConfig,
    WorldModelConfig,
    WorldModelsConfig,
)

N_ENVS = 2
DEFAULT_TIMESTEPS = 100
LONGEST_EPISODE = 50
"""Of an evaluation or the test, in steps."""

_BRIEFLY = (
    "eval_warmup_epochs=0",
    "eval_freq_epochs=1",
    "eval_freq_timesteps=null",
    "eval_episodes=2",
    "eval_n_envs=2",
    f"eval_max_episode_steps={LONGEST_EPISODE}",
    "test_episodes=2",
    "early_stop_on_eval_reward=false",
    "early_stop_on_train_reward=false",
)


def brief_overrides(config: Config, *, timesteps: int | None) -> list[str]:
    """Return the overrides that make one short rollout, one update and each thing after it.

    Args:
        config: The config as it stands.
        timesteps: Environment steps of the run; None for 100.
    """
    wanted = timesteps or DEFAULT_TIMESTEPS
    overrides = [*_BRIEFLY, f"max_timesteps={wanted}"]
    if not isinstance(config, ImitationConfig):
        overrides.append(f"n_envs={N_ENVS}")
    if config.n_workers is not None:
        overrides.append("n_workers=1")
    if config.video != "none":
        overrides.append("video_max_steps=20")
    return overrides + _of_algorithm(config, n_steps=max(1, wanted // N_ENVS))


def _of_algorithm(config: Config, *, n_steps: int) -> list[str]:
    """Return what only some algorithms have; `n_steps` are the vector steps of the run."""
    match config:
        case PPOConfig():
            # Two minibatches, but for rollouts whose halves would be single samples.
            batch_size = 0.5 if n_steps > 1 else 1.0
            overrides = [f"n_steps={n_steps}", f"batch_size={batch_size}", "n_epochs=1"]
            if config.sequence_length is not None:
                overrides.append("sequence_length=null")
            return ["rollouts_per_epoch=1", *overrides]
        case REINFORCEConfig():
            return ["rollouts_per_epoch=1", "episodes_per_env=1"]
        case OffPolicyConfig():
            # The updates of the second half of the run, whatever the buffer's usual size.
            return [
                f"steps_per_epoch={n_steps}",
                "batch_size=4",
                "buffer_transitions=1000",
                f"learning_starts_timesteps={n_steps}",
                "train_every_vec_steps=1",
                "phases=[]",
            ]
        case ImitationConfig():
            return _of_imitation(config)
        case WorldModelConfig():
            return _of_world_model(config, n_steps=n_steps)
        case WorldModelsConfig():
            return _of_phases(config, n_steps=n_steps)
        case TDMPCConfig():
            return [
                f"steps_per_epoch={n_steps}",
                "batch_size=4",
                "horizon=2",
                "buffer_steps=1000",
                f"learning_starts_timesteps={n_steps}",
                "pretrain_updates=1",
                "train_every_vec_steps=1",
                "replay_ratio=0.1",
                "phases=[]",
                *_small_size(config),
                "n_candidates=16",
                "n_proposals=4",
                "n_elites=4",
                "n_iterations=2",
            ]
    return [f"steps_per_epoch={n_steps}"]


def _of_imitation(config: ImitationConfig) -> list[str]:
    """Return a few updates from a few episodes, and sequences that are drawn in two steps."""
    overrides = ["batch_size=8", "updates_per_epoch=2", "warmup_updates=0"]
    if config.dataset == "scripted":
        overrides.append("dataset_episodes=4")
    if isinstance(config, DiffusionConfig):
        overrides.append("n_denoise_steps=2")
    return overrides


def _of_world_model(config: WorldModelConfig, *, n_steps: int) -> list[str]:
    """Return a small model with an update for every eight timesteps of the second half."""
    overrides = [
        f"steps_per_epoch={n_steps}",
        "batch_size=2",
        "sequence_length=8",
        "train_ratio=2",
        "buffer_steps=1000",
        f"learning_starts_timesteps={n_steps}",
        "train_every_vec_steps=1",
        "phases=[]",
        *_small_size(config),
    ]
    if isinstance(config, PlanetConfig):
        overrides += ["planning_candidates=8", "planning_elites=2", "planning_iterations=2"]
    return overrides


def _small_size(config: WorldModelConfig | TDMPCConfig) -> list[str]:
    """Return the smallest size; nothing for a config that has widths of its own."""
    shape = config.policy_kwargs
    has_own = not shape.model_fields_set.isdisjoint(shape.widths())
    return [] if has_own else ["policy_kwargs.size=tiny"]


def _of_phases(config: WorldModelsConfig, *, n_steps: int) -> list[str]:
    """Return small models and populations, and phases that are as short as they get."""
    amounts = {"collect": {"timesteps": N_ENVS * n_steps}, "evolve": {"updates": 1}}
    phases = [
        {
            "name": phase.name,
            "type": phase.type,
            "hooks": list(phase.hooks),
            "duration": amounts.get(phase.hooks[-1], {"updates": 2}),
        }
        for phase in config.phases
    ]
    n_collecting = sum(phase.hooks == ("collect",) for phase in config.phases)
    # Candidates play for longer than the run collects.
    room = N_ENVS * (n_steps * n_collecting + 100 * LONGEST_EPISODE)
    return [
        f"max_timesteps={room}",
        f"phases={json.dumps(phases)}",
        f"steps_per_epoch={n_steps}",
        "updates_per_epoch=2",
        "vae_batch_size=4",
        "rnn_batch_size=2",
        "sequence_length=8",
        "buffer_steps=1000",
        "buffer_folder=null",
        "population=4",
        "episodes_per_candidate=2",
        "evolve_max_steps=10",
        "policy_kwargs.depth=4",
        "policy_kwargs.units=16",
    ]
