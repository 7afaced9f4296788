from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tests.helpers.config_files import write_variants
from utils.config import DQNConfig, config_from_dict, load_config
from utils.errors import ConfigError
from utils.schedules import ScheduleSpec

DQN = """\
algo_id: dqn
max_timesteps: 10000
n_envs: 4
policy_lr: 1e-3
"""


def load(folder: Path, *overrides: str) -> DQNConfig:
    write_variants(folder, dqn=DQN)
    return load_config("Toy-v0:dqn", overrides, config_dir=folder)


def problems(folder: Path, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(folder, *overrides)
    return str(caught.value).splitlines()


def test_what_is_read_may_follow_a_schedule(tmp_path) -> None:
    config = load(tmp_path, "epsilon={start: 0.5, end: 0.1}")
    assert config.hyperparameters.keys() == {"policy_lr", "max_grad_norm", "epsilon"}
    assert config.epsilon == ScheduleSpec(start=0.5, end=0.1)
    prioritized = load(tmp_path, "prioritized_replay=true")
    assert "importance_exponent" in prioritized.hyperparameters


def test_a_ratio_is_a_fraction(tmp_path) -> None:
    assert load(tmp_path, "replay_ratio=0.1").exact_replay_ratio == Fraction(1, 10)


def test_learning_waits_for_a_whole_batch(tmp_path) -> None:
    config = load(tmp_path, "batch_size=256", "learning_starts_timesteps=100", "n_step=3")
    # Two more vector steps of four environments until the first 256 are three steps old.
    assert config.timesteps_before_updates == 256 + 8
    assert load(tmp_path).timesteps_before_updates == 1000


@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        (
            ["buffer_transitions=1000", "learning_starts_timesteps=5000"],
            "learning_starts_timesteps 5000 exceeds buffer_transitions 1000",
        ),
        (
            ["buffer_transitions=100", "learning_starts_timesteps=0", "batch_size=256"],
            "buffer_transitions 100 cannot hold a batch: batch_size 256",
        ),
        (
            ["train_every_vec_steps=64", "steps_per_epoch=32"],
            "train_every_vec_steps 64 exceeds steps_per_epoch 32",
        ),
        (
            ["target_update_timesteps=15", "train_every_vec_steps=4"],
            "target_update_timesteps 15 is less than the 16 timesteps of train_every_vec_steps 4",
        ),
        (["target_update_timesteps=null"], "so that there is no target network"),
        (["distribution=c51", "v_min=5", "v_max=5"], "v_min 5 must be below v_max 5"),
        (["replay_ratio=0"], "'replay_ratio' must be > 0"),
        (["replay_ratio=1e-7"], "replay_ratio 1e-07 is less than one update"),
        (["epsilon=1.5"], "'epsilon' must stay between 0 and 1"),
        (["noisy_std=0.4"], "'noisy_std' has no effect: noisy is false"),
        (["v_max=4"], "'v_max' has no effect: distribution is none"),
        (["priority_exponent=0.5"], "'priority_exponent' has no effect"),
        (["eval_epsilon=0.1"], "'eval_epsilon' has no effect: eval_deterministic is true"),
        (["loss=mse", "distribution=c51"], "'loss' has no effect: distribution: c51"),
        (["normalize_reward=true"], "'normalize_reward' has no effect"),
        (["policy_kwargs.memory=gru"], "unknown key 'memory' in 'policy_kwargs'"),
        (["n_steps=4"], "unknown key 'n_steps': it is a setting of ppo only"),
        (
            ["phases=[{name: a, type: online, hooks: [collect, learn]}]"],
            "phase 'a' (phases.0) has the hook 'learn'",
        ),
        (
            ["phases=[{name: a, type: online, hooks: [collect], duration: {}}]"],
            "'phases.0.duration' must have one of timesteps, updates and cycles",
        ),
        (
            ["phases=[{name: a, type: online, hooks: [collect], duration: {epochs: 5}}]"],
            "unknown key 'epochs' in 'phases.0.duration' (known: timesteps, updates, cycles)",
        ),
        (
            ["phases=[{name: a, type: online, hook: [collect], hooks: [collect]}]"],
            "unknown key 'hook' in 'phases.0': did you mean 'phases.0.hooks'?",
        ),
        (
            [
                "save_replay=false",
                "phases=[{name: a, type: online, hooks: [collect], duration: {timesteps: 2000}}, "
                "{name: b, type: offline, hooks: [update], duration: {updates: 5}}]",
            ],
            "phase 'b' (phases.1) is offline and learns from the buffer, which save_replay: false",
        ),
    ],
)
def test_contradictions_and_options_without_effect_are_told(tmp_path, overrides, text) -> None:
    (line,) = problems(tmp_path, *overrides)
    assert text in line


def test_phases_are_saved_and_read_again(tmp_path) -> None:
    written = (
        "phases=[{name: fill, type: online, hooks: [collect], duration: {timesteps: 100}}, "
        "{name: learn, type: online, hooks: [collect, update]}]"
    )
    config = load(tmp_path, written)
    assert [phase.spec().duration for phase in config.phases] == [100, None]
    assert config_from_dict(config.to_dict()) == config


def test_a_wrapper_with_another_discount_is_refused(tmp_path) -> None:
    (line,) = problems(tmp_path, "env_wrappers=[{id: PongShaping, gamma: 0.9}]")
    assert "gamma is 0.99" in line


def test_networks_have_defaults_of_their_own(tmp_path) -> None:
    kwargs = load(tmp_path, "policy_kwargs.hidden_dims=[8]").policy_kwargs
    assert (kwargs.hidden_dims, kwargs.activation) == ((8,), "relu")
