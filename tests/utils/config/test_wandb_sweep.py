import pytest

from tests.helpers.config_files import load_ppo
from utils.config.wandb_sweep import read_wandb_sweep
from utils.errors import ConfigError

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
    overrides = read_wandb_sweep({"WANDB_SWEEP_PARAM_PATH": str(path)})
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
    with pytest.raises(ConfigError, match=r"gone\.yaml: cannot be read"):
        read_wandb_sweep({"WANDB_SWEEP_PARAM_PATH": str(tmp_path / "gone.yaml")})
