"""The numbers of the published world models, and what a config of one may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.config_files import write_variants
from utils.config import load_config
from utils.config.algos.world_model import SIZES
from utils.errors import ConfigError
from utils.reports.sections import flatten_settings

PLAIN = "max_timesteps: 100000\nn_envs: 1\n"
VARIANTS = {
    "v3": f"algo_id: dreamer\n{PLAIN}",
    "v2": f"algo_id: dreamer\nversion: 2\n{PLAIN}",
    "v1": f"algo_id: dreamer\nversion: 1\n{PLAIN}",
    "planet": f"algo_id: planet\n{PLAIN}",
}


def load(folder: Path, variant: str, *overrides: str):
    write_variants(folder, **VARIANTS)
    return load_config(f"Toy-v0:{variant}", overrides, config_dir=folder)


PUBLISHED = {
    "v3": {
        "batch_size": 16,
        "sequence_length": 64,
        "replay_context": 1,
        "newest_first": True,
        "policy_lr": 4e-5,
        "lr_warmup_updates": 1000,
        "optimizer": "LaProp",
        "agc": 0.3,
        "max_grad_norm": None,
        "free_nats": 1.0,
        "free_nats_of_mean": False,
        "dynamics_scale": 1.0,
        "representation_scale": 0.1,
        "imagination_horizon": 15,
        "return_lambda": 0.95,
        "gamma": 332 / 333,
        "ent_coef": 3e-4,
        "actor_gradient": "reinforce",
        "slow_critic": "regularizer",
        "slow_critic_rate": 0.02,
        "slow_critic_every_updates": 1,
        "replay_value_scale": 0.3,
        "learning_starts_timesteps": 0,
    },
    "v2": {
        "batch_size": 16,
        "sequence_length": 50,
        "buffer_steps": 2_000_000,
        "replay_context": 0,
        "learning_starts_timesteps": 10_000,
        "policy_lr": 1e-4,
        "actor_lr": 8e-5,
        "critic_lr": 2e-4,
        "optimizer": "AdamW",
        "optimizer_kwargs": {"eps": 1e-5, "weight_decay": 1e-6},
        "max_grad_norm": 100.0,
        "agc": None,
        "free_nats": 0.0,
        "dynamics_scale": 0.8,
        "representation_scale": 0.2,
        "gamma": 0.99,
        "return_lambda": 0.95,
        "imagination_horizon": 15,
        "ent_coef": 2e-3,
        "actor_gradient": "auto",
        "predict_end": True,
        "slow_critic": "target",
        "slow_critic_rate": 1.0,
        "slow_critic_every_updates": 100,
        "replay_value_scale": 0.0,
        "normalize_returns": False,
        "exact_replay_ratio": 1 / 5,
    },
    "v1": {
        "batch_size": 50,
        "sequence_length": 50,
        "learning_starts_timesteps": 5000,
        "policy_lr": 6e-4,
        "actor_lr": 8e-5,
        "critic_lr": 8e-5,
        "optimizer": "Adam",
        "max_grad_norm": 100.0,
        "free_nats": 3.0,
        "free_nats_of_mean": True,
        "dynamics_scale": 1.0,
        "representation_scale": 1.0,
        "gamma": 0.99,
        "return_lambda": 0.95,
        "imagination_horizon": 15,
        "ent_coef": 0.0,
        "actor_gradient": "dynamics",
        "actor_distribution": "tanh_normal",
        "predict_end": False,
        "slow_critic": "none",
        "exploration_noise": 0.3,
        "exact_replay_ratio": 100 / 1000,
    },
    "planet": {
        "batch_size": 50,
        "sequence_length": 50,
        "policy_lr": 1e-3,
        "optimizer": "Adam",
        "optimizer_kwargs": {"eps": 1e-4},
        "max_grad_norm": 1000.0,
        "free_nats": 3.0,
        "free_nats_of_mean": True,
        "dynamics_scale": 1.0,
        "representation_scale": 1.0,
        "reward_loss_scale": 10.0,
        "planning_horizon": 12,
        "planning_iterations": 10,
        "planning_candidates": 1000,
        "planning_elites": 100,
        "exploration_noise": 0.3,
        "predict_end": False,
        "gamma": 1.0,
        "learning_starts_timesteps": 5 * 250,
        "exact_replay_ratio": 100 / 250,
    },
}
SHAPES = {
    "v3": {"deter": 2048, "hidden": 256, "choices": 32, "classes": 16, "units": 256, "depth": 16}
    | {"uniform_share": 0.01, "blocks": 8, "prior_layers": 2, "reward_layers": 1, "norm": "rms"}
    | {"actor_layers": 3, "critic_layers": 3, "numbers": "two_hot", "dynamics": "block_gru"},
    "v2": {"deter": 1024, "hidden": 1024, "choices": 32, "classes": 32, "units": 400, "depth": 48}
    | {"uniform_share": 0.0, "norm": "none", "activation": "elu", "reward_layers": 4}
    | {"actor_layers": 4, "critic_layers": 4, "continue_layers": 4, "numbers": "normal"},
    "v1": {"latent": "gaussian", "choices": 30, "deter": 200, "hidden": 200, "units": 400}
    | {"depth": 32, "reward_layers": 2, "actor_layers": 4, "critic_layers": 3, "min_std": 0.1},
    "planet": {"latent": "gaussian", "choices": 30, "deter": 200, "hidden": 200, "units": 300}
    | {"reward_layers": 3, "activation": "relu", "min_std": 0.1, "numbers": "normal"}
    | {"dynamics": "gru", "depth": 32, "pictures": "strided"},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_plain_config_has_the_published_settings(tmp_path, name) -> None:
    config = load(tmp_path, name)
    for key, value in PUBLISHED[name].items():
        is_near = isinstance(value, float)
        assert getattr(config, key) == (pytest.approx(value) if is_near else value), key
    shape = {key: getattr(config.policy_kwargs, key) for key in SHAPES[name]}
    assert shape == SHAPES[name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_a_config_says_itself_holds(tmp_path, name) -> None:
    overrides = ["policy_lr=1e-3", "policy_kwargs.deter=64", "batch_size=8", "free_nats=0.5"]
    config = load(tmp_path, name, *overrides)
    assert (config.policy_lr, config.batch_size, config.free_nats) == (1e-3, 8, 0.5)
    assert config.policy_kwargs.deter == 64
    assert config.policy_kwargs.hidden == SHAPES[name]["hidden"]
    assert config.policy_kwargs.named_size is None


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_size_that_is_named_is_meant(tmp_path, name) -> None:
    kwargs = load(tmp_path, name, "policy_kwargs.size=1M").policy_kwargs
    assert {key: getattr(kwargs, key) for key in SIZES["1M"]} == SIZES["1M"]
    assert kwargs.named_size == "1M"


@pytest.mark.parametrize("name", ["v1", "v2", "planet"])
def test_another_optimiser_begins_with_its_own_arguments(tmp_path, name) -> None:
    config = load(tmp_path, name, "optimizer=RMSprop")
    assert (config.optimizer_kwargs, config.agc) == ({}, None)
    assert load(tmp_path, "planet", "optimizer=LaProp").agc == 0.3


@pytest.mark.parametrize(
    ("variant", "override", "text"),
    [
        ("v3", "optimizer=Adamm", "optimizer"),
        ("v3", "policy_kwargs.min_std=0.2", "policy_kwargs.latent is categorical"),
        ("v1", "policy_kwargs.classes=8", "policy_kwargs.latent is gaussian"),
        ("v1", "policy_kwargs.continue_layers=2", "predict_end is false"),
        ("v1", "slow_critic_rate=0.1", "slow_critic is none"),
        ("v2", "policy_kwargs.blocks=4", "policy_kwargs.dynamics is gru"),
        ("v3", "policy_kwargs.blocks=5", "must be a multiple of policy_kwargs.blocks 5"),
        ("v3", "normalize_obs=rolling", "the model reads numbers as their symmetric logarithm"),
        ("v3", "buffer_steps=100", "buffer_steps 100 cannot hold what comes before"),
        ("v2", "agc=0.3", "'agc' has no effect"),
        ("planet", "agc=0.3", "'agc' has no effect"),
        ("planet", "planning_elites=1000", "planning_elites 1000 must be fewer than"),
        ("planet", "policy_kwargs.continue_layers=2", "predict_end is false"),
        ("planet", "ent_coef=0.1", "ent_coef"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, variant, override, text) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, variant, override)
    assert text in str(caught.value)


OFFLINE = (
    "phases=[{{name: fill, type: online, hooks: [collect], duration: {{timesteps: {0}}}}}, "
    "{{name: learn, type: offline, hooks: [{1}], duration: {{updates: 5}}}}]"
)


@pytest.mark.parametrize(
    ("variant", "hook", "changes", "needed"),
    [
        ("v3", "update_world_model", ["n_envs=4"], 1024),  # 16 x 64 rows of a batch
        ("v3", "update_world_model", ["n_envs=64", "batch_size=2"], 64 * 66),  # a sequence each
        ("planet", "update_world_model", ["batch_size=2"], 1250),  # learning_starts_timesteps
    ],
)
def test_a_phase_learns_from_enough(tmp_path, variant, hook, changes, needed) -> None:
    load(tmp_path, variant, OFFLINE.format(needed, hook), *changes)
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, variant, OFFLINE.format(needed - 64, hook), *changes)
    (line,) = str(caught.value).splitlines()
    assert "phase 'learn' (phases.1) learns from " in line
    assert line.startswith("--set phases=")
    assert f"stored timesteps and needs {needed:,}: collect more before it" in line


@pytest.mark.parametrize(
    ("variant", "override", "text"),
    [
        ("v3", "horizon=10", "of tdmpc, diffusion only; did you mean 'imagination_horizon'?"),
        ("planet", "horizon=10", "of tdmpc, diffusion only; did you mean 'planning_horizon'?"),
        ("v3", "learning_rate=1e-3", "unknown key 'learning_rate': did you mean 'policy_lr'?"),
        ("v3", "buffer_size=9", "unknown key 'buffer_size': did you mean 'buffer_steps'?"),
    ],
)
def test_what_others_call_by_another_name_is_hinted_at(tmp_path, variant, override, text) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, variant, override)
    assert text in str(caught.value)


def test_another_version_leads_to_its_variant() -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("CartPole-v1:dreamer", ["version=2"])
    assert str(caught.value) == (
        "--set version=2: 'policy_kwargs.bins' of this variant would have no effect: train "
        "CartPole-v1:dreamer_v2, which is of version 2"
    )
    # What somebody gave beside it is to blame itself.
    with pytest.raises(ConfigError, match=r"^--set policy_kwargs\.bins=33: .* is normal$"):
        load_config("CartPole-v1:dreamer", ["version=2", "policy_kwargs.bins=33"])


@pytest.mark.parametrize(
    ("setting", "values", "bound"),
    [
        ("sequence_length", (0, 1), ">= 2"),
        ("policy_kwargs.classes", (0, 1), ">= 2"),
        ("policy_kwargs.bins", (0, 2), ">= 3"),
        ("policy_kwargs.uniform_share", (1, 2), "< 1.0"),
        ("slow_critic_rate", (-1, 0), "> 0.0"),
    ],
)
def test_a_setting_has_one_lower_and_one_upper_bound(tmp_path, setting, values, bound) -> None:
    for value in values:
        with pytest.raises(ConfigError, match=f"'{setting}' must be {bound}, got {value}"):
            load(tmp_path, "v3", f"{setting}={value}")


@pytest.mark.parametrize("variant", ["v3", "v2", "v1", "planet"])
def test_what_a_version_sets_is_no_choice_of_the_config(tmp_path, variant):
    """Hand-chosen settings are told beside what would have held: the version's, or the size's."""

    def chosen(*overrides):
        settings = flatten_settings(load(tmp_path, variant, *overrides))
        own = {key: (value, default[0]) for key, value, default in settings if default is not None}
        return {key: pair for key, pair in own.items() if pair[0] != pair[1]}

    of_config = {"version": (int(variant[1]), 3)} if variant in ("v2", "v1") else {}
    assert chosen() == of_config
    # 16 is the batch of the third version and of the second, 50 that of the other two.
    batches = {"v3": {}, "v2": {}, "v1": (16, 50), "planet": (16, 50)}[variant]
    assert chosen("batch_size=16") == of_config | ({"batch_size": batches} if batches else {})
    assert chosen("policy_kwargs.size=1M") == of_config | {"policy_kwargs.size": ("1M", "12M")}
    deter = SIZES["1M"]["deter"]
    told = chosen("policy_kwargs.size=1M", "policy_kwargs.deter=8")
    assert told["policy_kwargs.deter"] == (8, deter)


def test_the_size_of_a_tdmpc_is_no_choice_of_each_width(tmp_path):
    write_variants(
        tmp_path, v2=f"algo_id: tdmpc\n{PLAIN}", v1=f"algo_id: tdmpc\nversion: 1\n{PLAIN}"
    )
    for variant, chosen in (("v2", {}), ("v1", {"version": 1})):
        overrides = ["policy_kwargs.size=1M"] if variant == "v2" else []
        config = load_config(f"Toy-v0:{variant}", overrides, config_dir=tmp_path)
        told = {k: v for k, v, d in flatten_settings(config) if d is not None and d[0] != v}
        assert told == chosen | ({"policy_kwargs.size": "1M"} if overrides else {})


@pytest.mark.parametrize("variant", ["v3", "planet", "tdmpc"])
@pytest.mark.parametrize("override", ["policy_kwargs=3", "policy_kwargs=[1]", "policy_kwargs=text"])
def test_a_shape_that_is_none_is_told_in_a_line(tmp_path, variant, override) -> None:
    write_variants(tmp_path, **VARIANTS, tdmpc=f"algo_id: tdmpc\n{PLAIN}")
    with pytest.raises(ConfigError, match="'policy_kwargs' must be a mapping"):
        load_config(f"Toy-v0:{variant}", [override], config_dir=tmp_path)


@pytest.mark.parametrize(
    ("variant", "key"),
    [(v, "policy_kwargs.size") for v in ("v3", "planet", "tdmpc")]
    + [("v3", "version"), ("tdmpc", "version")],
)
@pytest.mark.parametrize("value", ["[1]", "{}", "1.5"])
def test_a_name_of_another_type_is_told_in_a_line(tmp_path, variant, key, value) -> None:
    write_variants(tmp_path, **VARIANTS, tdmpc=f"algo_id: tdmpc\n{PLAIN}")
    with pytest.raises(ConfigError, match=f"'{key}' must be one of"):
        load_config(f"Toy-v0:{variant}", [f"{key}={value}"], config_dir=tmp_path)


@pytest.mark.parametrize("value", ["1", "1.0"])
def test_a_version_is_the_same_as_a_whole_number_with_a_point(tmp_path, value) -> None:
    config = load(tmp_path, "v3", f"version={value}")
    assert (config.version, config.policy_kwargs.latent) == (1, "gaussian")
