import pytest
from pydantic import ValidationError

from utils.config import CONFIG_CLASSES, PPOConfig, ScheduleSpec

REQUIRED = {
    "config_id": "Toy-v0:ppo",
    "algo_id": "ppo",
    "env_id": "Toy-v0",
    "n_envs": 4,
    "n_steps": 8,
    "batch_size": 16,
    "max_timesteps": 1000,
    "policy_lr": 1e-3,
}


def make(**settings):
    return PPOConfig(**{**REQUIRED, **settings})


def error_types(**settings):
    with pytest.raises(ValidationError) as caught:
        make(**settings)
    return {error["type"] for error in caught.value.errors()}


def test_every_setting_has_a_description():
    def undescribed(model, prefix=""):
        for name, field in model.model_fields.items():
            if not field.description:
                yield prefix + name
            if hasattr(field.annotation, "model_fields"):
                yield from undescribed(field.annotation, f"{prefix}{name}.")

    for config_class in CONFIG_CLASSES.values():
        assert list(undescribed(config_class)) == []


def test_the_defaults_that_others_build_on():
    config = make()
    assert (config.seed, config.device, config.optimizer) == (0, "cpu", "AdamW")
    assert (config.eval_warmup_epochs, config.eval_freq_epochs, config.eval_episodes) == (
        50,
        15,
        10,
    )
    assert config.eval_freq_timesteps is None
    assert config.policy_kwargs.hidden_dims == (64, 64)
    assert (config.gamma, config.gae_lambda, config.clip_range) == (0.99, 0.95, 0.2)
    assert (config.n_epochs, config.normalize_advantages) == (10, "batch")


def test_a_config_cannot_be_changed():
    config = make()
    with pytest.raises(ValidationError, match="frozen"):
        config.n_envs = 8
    with pytest.raises(ValidationError, match="frozen"):
        config.policy_kwargs.activation = "relu"
    config.env_kwargs["g"] = 1
    assert make().env_kwargs == {}, "configs do not share the mappings of their defaults"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("n_envs", "4"),
        ("n_envs", True),
        ("n_envs", 4.5),
        ("max_timesteps", float("inf")),
        ("gamma", "0.9"),
        ("gamma", False),
        ("gamma", float("nan")),
        ("description", 12),
        ("description", False),
        ("early_stop_on_eval_reward", 1),
        ("early_stop_on_eval_reward", "off"),
        ("video", False),
        ("env_kwargs", {"a": float("nan")}),
        ("env_kwargs", {"a": {1, 2}}),
        ("env_kwargs", {1: 2}),
        ("env_wrappers", {"id": "A"}),
        ("spec", {"reward": {"range": [1, 0]}}),
    ],
)
def test_types_are_strict(setting, value):
    assert len(error_types(**{setting: value})) == 1


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("n_envs", 0), ("seed", -1), ("seed", 2**31), ("gamma", 1.01), ("gae_lambda", -0.1),
        ("max_timesteps", 0), ("eval_freq_epochs", 0), ("checkpoint_freq_epochs", 0),
        ("env_timeout_seconds", 0), ("max_grad_norm", 0), ("target_kl", 0.0), ("frame_stack", 0),
        ("keep_checkpoints", 0), ("eval_warmup_epochs", -1), ("policy_lr", -1e-3),
    ],
)  # fmt: skip
def test_values_out_of_range_are_refused(setting, value):
    assert len(error_types(**{setting: value})) == 1


def test_a_whole_float_is_an_integer():
    config = make(max_timesteps=1e5)
    assert config.max_timesteps == 100000
    assert type(config.max_timesteps) is int


def test_schedules_may_stand_wherever_the_learner_reads_a_number():
    config = make(
        policy_lr="lin_0.001",
        ent_coef="lin_0.01",
        clip_range={"start": 0.2, "end": 0.1},
        vf_coef=0.5,
        gamma={"start": 0.9, "end": 0.99},
        target_kl={"start": 0.02, "end": 0.01},
    )
    assert config.hyperparameters == {
        "policy_lr": ScheduleSpec(0.001, 0.0),
        "max_grad_norm": 0.5,
        "gamma": ScheduleSpec(0.9, 0.99),
        "gae_lambda": 0.95,
        "target_kl": ScheduleSpec(0.02, 0.01),
        "ent_coef": ScheduleSpec(0.01, 0.0),
        "vf_coef": 0.5,
        "clip_range": ScheduleSpec(0.2, 0.1),
    }
    assert make(clip_range_vf=0.3).hyperparameters["clip_range_vf"] == 0.3


def test_a_period_in_timesteps_takes_the_place_of_the_default_in_epochs():
    config = make(eval_freq_timesteps=3000)
    assert (config.eval_freq_epochs, config.eval_freq_timesteps) == (None, 3000)
    assert config.evaluates
    assert not make(eval_freq_epochs=None).evaluates
    assert error_types(eval_freq_timesteps=3000, eval_freq_epochs=15) == {"inconsistent"}


def test_what_is_resolved_from_other_settings():
    assert make(eval_episodes=10).resolved_eval_n_envs == 10
    assert make(eval_episodes=40).resolved_eval_n_envs == 16
    assert make(eval_episodes=40, eval_n_envs=20).resolved_eval_n_envs == 20
    assert "rollout_size" not in make().to_dict()
