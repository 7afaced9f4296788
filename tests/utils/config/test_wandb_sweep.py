import pytest

from tests.helpers.config_files import load_ppo, ppo_problems
from utils.config.cli import parse_train_args
from utils.config.wandb_sweep import read_wandb_sweep
from utils.errors import ConfigError, UserError

TRIAL = """\
wandb_version: 1

_wandb:
  value: {cli_version: 0}
policy_lr:
  desc: null
  value: 1e-3
policy_kwargs.activation:
  value: relu
policy_kwargs:
  value: {hidden_dims: [32]}
"""


def test_the_trial_of_the_agent(tmp_path):
    path = tmp_path / "trial.yaml"
    path.write_text(TRIAL)
    overrides = read_wandb_sweep({"WANDB_SWEEP_PARAM_PATH": str(path)}).overrides()
    assert [(override.path, override.value) for override in overrides] == [
        (("wandb",), True),
        (("policy_lr",), 0.001),
        (("policy_kwargs", "activation"), "relu"),
        (("policy_kwargs", "hidden_dims"), [32]),
    ]
    config = load_ppo(tmp_path, "", *overrides)
    assert config.wandb
    assert (config.policy_kwargs.activation, config.policy_kwargs.hidden_dims) == ("relu", (32,))


def test_an_agent_whose_file_is_gone(tmp_path):
    with pytest.raises(ConfigError, match=r"gone\.yaml: there is no such file"):
        read_wandb_sweep({"WANDB_SWEEP_PARAM_PATH": str(tmp_path / "gone.yaml")})


def agent_environment(tmp_path, text=TRIAL):
    path = tmp_path / "trial.yaml"
    path.write_text(text)
    return {"WANDB_SWEEP_ID": "s1", "WANDB_SWEEP_PARAM_PATH": str(path)}


def test_an_agent_is_noticed_without_an_option_and_its_arguments_say_nothing_new(tmp_path):
    environ = agent_environment(tmp_path)
    argv = ["CartPole-v1:ppo", "--policy_lr=0.001", "--policy_kwargs.activation=relu"]
    args = parse_train_args(argv, environ=environ)
    assert args.config_id == "CartPole-v1:ppo"
    assert [".".join(override.path) for override in args.overrides] == [
        "wandb",
        "policy_lr",
        "policy_kwargs.activation",
        "policy_kwargs.hidden_dims",
    ]
    with pytest.raises(UserError, match="unknown option '--gama'"):
        parse_train_args(["CartPole-v1:ppo", "--gama=0.9"], environ=environ)


def test_a_sweep_may_choose_the_config_and_a_resumed_run_does_not_ask_it(tmp_path):
    environ = agent_environment(tmp_path, "config_id:\n  value: CartPole-v1:reinforce\n")
    args = parse_train_args(["--config_id=CartPole-v1:reinforce", "-q"], environ=environ)
    assert args.config_id == "CartPole-v1:reinforce"
    assert parse_train_args(["--resume", "@last"], environ=environ).overrides == ()


def test_an_agent_without_a_file_is_a_mistake():
    with pytest.raises(UserError, match="WANDB_SWEEP_PARAM_PATH is not set"):
        parse_train_args(["CartPole-v1:ppo"], environ={"WANDB_SWEEP_ID": "s1"})


def test_schedules_and_whole_floats_get_the_right_types(tmp_path):
    text = "policy_lr.start: {value: 0.01}\npolicy_lr.end: {value: 0}\nn_steps: {value: 16.0}\n"
    environ = agent_environment(tmp_path, text + "ent_coef: {value: lin_0.01}\n")
    args = parse_train_args(["CartPole-v1:ppo"], environ=environ)
    config = load_ppo(tmp_path, "", *args.overrides)
    assert (config.policy_lr.start, config.policy_lr.end) == (0.01, 0.0)
    assert (config.ent_coef.start, config.ent_coef.end) == (0.01, 0.0)
    assert config.n_steps == 16
    assert isinstance(config.n_steps, int)


def test_only_the_swept_part_of_a_block_changes_and_a_wrong_key_is_named(tmp_path):
    base = "policy_kwargs: {hidden_dims: [32, 16], activation: tanh}\n"
    environ = agent_environment(tmp_path, "policy_kwargs: {value: {activation: relu}}\n")
    args = parse_train_args(["CartPole-v1:ppo"], environ=environ)
    config = load_ppo(tmp_path, base, *args.overrides)
    assert (config.policy_kwargs.hidden_dims, config.policy_kwargs.activation) == ((32, 16), "relu")
    environ = agent_environment(tmp_path, "policy_kwargs.activatoin: {value: relu}\n")
    args = parse_train_args(["CartPole-v1:ppo"], environ=environ)
    (line,) = ppo_problems(tmp_path, base, *args.overrides)
    assert "sweep policy_kwargs.activatoin=relu: unknown key" in line
    assert "did you mean 'policy_kwargs.activation'?" in line
