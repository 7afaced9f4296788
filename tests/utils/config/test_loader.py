import pytest

from tests.helpers.config_files import PPO, REINFORCE, load_ppo, ppo_problems, write_variants
from utils.config import CONFIG_CLASSES, PPOConfig, REINFORCEConfig, ScheduleSpec, load_config
from utils.errors import ConfigError


def refusal(config_id, *overrides, folder):
    with pytest.raises(ConfigError) as caught:
        load_config(config_id, overrides, config_dir=folder)
    return str(caught.value).splitlines()


def test_base_then_variant_then_sweep_then_command_line(tmp_path):
    write_variants(tmp_path, base="seed: 1\ngamma: 0.1\nent_coef: 0.1\nvf_coef: 0.1\n", ppo=PPO + (
        "gamma: 0.2\nent_coef: 0.2\nvf_coef: 0.2\n"
    ))  # fmt: skip
    config = load_config(
        "Toy-v0:ppo",
        ["vf_coef=0.4"],
        config_dir=tmp_path,
        sweep={"ent_coef": 0.3, "vf_coef": 0.3},
    )
    assert (config.seed, config.gamma, config.ent_coef, config.vf_coef) == (1, 0.2, 0.3, 0.4)
    assert (config.config_id, config.env_id) == ("Toy-v0:ppo", "Toy-v0")


def test_the_algorithm_chooses_the_class(tmp_path):
    write_variants(tmp_path, ppo=PPO, reinforce=REINFORCE)
    assert type(load_config("Toy-v0:ppo", config_dir=tmp_path)) is PPOConfig
    assert type(load_config("Toy-v0:reinforce", config_dir=tmp_path)) is REINFORCEConfig


@pytest.mark.parametrize(
    "sweep",
    [
        {"policy_kwargs.activation": "relu"},
        {"policy_kwargs": {"activation": "relu"}},
    ],
)
def test_a_sweep_of_one_nested_key_keeps_its_siblings(tmp_path, sweep):
    extra = "policy_kwargs: {hidden_dims: [32, 16], activation: tanh}\n"
    config = load_ppo(tmp_path, extra, sweep=sweep)
    assert config.policy_kwargs.hidden_dims == (32, 16)
    assert config.policy_kwargs.activation == "relu"


def test_an_unknown_dotted_key_of_a_sweep_is_refused(tmp_path):
    (line,) = ppo_problems(tmp_path, sweep={"policy_kwargs.activaton": "relu"})
    assert line == (
        "sweep policy_kwargs.activaton=relu: unknown key 'activaton' in 'policy_kwargs': "
        "did you mean 'policy_kwargs.activation'?"
    )


def test_numbers_with_an_exponent_are_numbers_and_are_saved_as_numbers(tmp_path):
    write_variants(tmp_path, ppo=(
        "algo_id: ppo\nmax_timesteps: 1e5\nn_envs: 4\nn_steps: 8\nbatch_size: 16\n"
        "policy_lr: 1e-3\nclip_range: 2e-1\nent_coef: lin_3e-4\n"
    ))  # fmt: skip
    saved = load_config("Toy-v0:ppo", config_dir=tmp_path).to_dict()
    assert saved["policy_lr"] == 0.001
    assert saved["clip_range"] == 0.2
    assert saved["max_timesteps"] == 100000
    assert type(saved["max_timesteps"]) is int
    assert saved["ent_coef"] == {"start": 0.0003, "end": 0.0, "from": 0.0, "to": 1.0}


def test_all_problems_are_told_at_once_with_their_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ppo_problems(
        tmp_path,
        """\
        ent_coeff: 0.01
        clip_obs: high
        policy_kwargs:
          activation: gelo
        eval_episodes: 4
        eval_n_envs: 8
        """,
        "n_epochs=four",
    )
    where = "Toy-v0.yaml:{}: variant 'ppo': "
    assert sorted(lines) == sorted(
        [
            where.format(10) + "unknown key 'ent_coeff': did you mean 'ent_coef'?",
            where.format(11) + "'clip_obs' must be a number, got 'high'",
            where.format(13) + "'policy_kwargs.activation' must be one of tanh, relu, elu, silu, "
            "gelu, got 'gelo': did you mean 'gelu'?",
            where.format(15)
            + "eval_n_envs 8 exceeds eval_episodes 4: some environments would have "
            "no episode to play",
            "--set n_epochs=four: 'n_epochs' must be a whole number, got 'four'",
        ]
    )


def test_a_problem_in_the_base_names_the_base(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_variants(tmp_path, base="n_env: 3\n", ppo=PPO)
    (line,) = refusal("Toy-v0:ppo", folder=tmp_path)
    assert line == "Toy-v0.yaml:3: '_base': unknown key 'n_env': did you mean 'n_envs'?"


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ("env_kwargs: {policy_lr: 1}\n", "(in 'env_kwargs'): did you mean 'policy_lr' one level"),
        (
            "policy_kwargs: {policy_lr: 1}\n",
            "in 'policy_kwargs': did you mean 'policy_lr' at the top level?",
        ),
        ("hidden_dims: [64]\n", "'hidden_dims': did you mean 'policy_kwargs.hidden_dims'?"),
        (
            "device: gpu\n",
            "'device' must be one of auto, cpu, cuda, got 'gpu': did you mean 'cuda'",
        ),
        ("n_threads: 2\n", "unknown key 'n_threads': did you mean 'n_workers'?"),
        ("activation: relu\n", "'activation': did you mean 'policy_kwargs.activation'?"),
        ("use_baseline: true\n", "unknown key 'use_baseline': it is a setting of reinforce only"),
        ("clip_range: {strat: 1, end: 0}\n", "in 'clip_range': did you mean 'clip_range.start'?"),
        ("xyzzy: 1\n", "unknown key 'xyzzy'"),
        ("config_id: a:b\n", "'config_id' is not a setting: the program writes it"),
        ("video: off\n", "'video' must be one of none, best, last, every, got 'off'"),
        ("early_stop_on_eval_reward: off\n", "true or false, got 'off': did you mean false?"),
        ("description: false\n", "'description' must be text, got false: put it in quotes"),
        ("eval_episodes: 12:30\n", "'eval_episodes' must be a whole number, got '12:30'"),
        ("gae_lambda: 1.2\n", "'gae_lambda' must stay between 0 and 1, got 1.2"),
        ("max_grad_norm: 0\n", "'max_grad_norm' must stay above 0 (null: none), got 0"),
        ("resize_obs: [84]\n", "'resize_obs' must have more than 1 entries"),
        ("resize_obs: [1, 2, 3]\n", "'resize_obs' must have 2 entries, got 3"),
        ("spec: 3\n", "'spec' must be a mapping of keys to values, got 3"),
        ("env_wrappers: [{scale: 1}]\n", "'env_wrappers.0' names no wrapper"),
        ("clip_range: lin_abc\n", "must be a number >= 0, lin_<start>, or a mapping"),
        ("clip_range: {start: 1, end: x}\n", "'clip_range.end' must be a number >= 0, got 'x'"),
    ],
)
def test_what_a_slip_is_told(tmp_path, extra, expected):
    (line,) = ppo_problems(tmp_path, extra)
    assert expected in line
    assert "Toy-v0.yaml:10: variant 'ppo': " in line


def test_missing_keys_are_named_at_the_variant(tmp_path):
    write_variants(tmp_path, ppo="algo_id: ppo\nn_envs: 4\npolicy_lr: 1e-3\nbatch_size: 4\n")
    lines = refusal("Toy-v0:ppo", folder=tmp_path)
    assert [line.partition("Toy-v0.yaml")[2] for line in lines] == [
        ":3: variant 'ppo': missing key 'max_timesteps'",
        ":3: variant 'ppo': missing key 'n_steps'",
    ]


def test_the_algorithm_must_be_known(tmp_path):
    known = ", ".join(CONFIG_CLASSES)
    write_variants(tmp_path, a="n_envs: 4\n", b="algo_id: pppo\n")
    (line,) = refusal("Toy-v0:a", folder=tmp_path)
    assert line.endswith(f"missing key 'algo_id' (known: {known})")
    (line,) = refusal("Toy-v0:b", folder=tmp_path)
    assert line.endswith(f"unknown algo_id 'pppo': did you mean 'ppo'? (known: {known})")


def test_a_setting_inside_a_number_is_refused(tmp_path):
    (line,) = ppo_problems(tmp_path, "", "n_envs.x=3")
    assert line == "--set n_envs.x=3: 'n_envs' must be a whole number, got {'x': 3}"


def test_overrides_that_cannot_be_read_are_told_together(tmp_path):
    lines = ppo_problems(tmp_path, "env_wrappers: []\n", "n_envs", "gamma=[", "env_wrappers.3.id=A")
    assert len(lines) == 3


def test_overrides_reach_into_schedules_and_lists(tmp_path):
    extra = "clip_range: {start: 0.3, end: 0.1}\nenv_wrappers: [{id: A, scale: 1}]\n"
    config = load_ppo(tmp_path, extra, "clip_range.end=0.2", "env_wrappers.0.scale=2")
    assert config.clip_range == ScheduleSpec(0.3, 0.2)
    assert config.env_wrappers == ({"id": "A", "scale": 2},)


def test_the_period_of_evaluation_from_the_later_layer_wins(tmp_path):
    by_epochs = load_ppo(tmp_path, "eval_freq_timesteps: 500\n", "eval_freq_epochs=3")
    assert (by_epochs.eval_freq_epochs, by_epochs.eval_freq_timesteps) == (3, None)
    extra = "eval_freq_epochs: 3\neval_warmup_epochs: 3\n"
    by_timesteps = load_ppo(tmp_path, extra, "eval_freq_timesteps=500")
    assert (by_timesteps.eval_freq_epochs, by_timesteps.eval_freq_timesteps) == (None, 500)
    (line,) = ppo_problems(tmp_path, "eval_freq_epochs: 3\neval_freq_timesteps: 500\n")
    assert "exclude each other" in line


def test_an_option_without_effect_is_refused_unless_a_later_layer_switched_it_off(tmp_path):
    (line,) = ppo_problems(tmp_path, "video: none\nvideo_max_steps: 100\n")
    assert line.endswith(
        "Toy-v0.yaml:11: variant 'ppo': 'video_max_steps' has no effect: video is none"
    )
    assert load_ppo(tmp_path, "video_max_steps: 100\n", "video=none").video == "none"
    (line,) = ppo_problems(tmp_path, "video: none\n", "video_max_steps=100")
    assert line == "--set video_max_steps=100: 'video_max_steps' has no effect: video is none"


def test_ids_with_a_slash(tmp_path):
    write_variants(tmp_path, "ALE/Toy-v5", ppo=PPO)
    config = load_config("ALE/Toy-v5:ppo", config_dir=tmp_path)
    assert (config.config_id, config.env_id) == ("ALE/Toy-v5:ppo", "ALE/Toy-v5")
    assert load_config("ALE-Toy-v5:ppo", config_dir=tmp_path) == config
    (line,) = refusal("ALE/Toy-v4:ppo", folder=tmp_path)
    assert line == "unknown environment 'ALE/Toy-v4': did you mean 'ALE/Toy-v5'?"


def test_loading_twice_gives_equal_configs(tmp_path):
    assert load_ppo(tmp_path) == load_ppo(tmp_path)


def test_overrides_that_cannot_be_applied_do_not_hide_other_problems(tmp_path):
    overrides = ["n_envs", "env_wrappers.0.id=A", "gama=1"]
    lines = ppo_problems(tmp_path, "env_wrappers: []", *overrides)
    assert [line.partition(": ")[0] for line in lines] == [f"--set {text}" for text in overrides]
