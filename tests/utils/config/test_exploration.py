"""Settings of exploration and value normalisation: strict, and none without effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents import build_agent
from agents.ppo.exploration import build_exploration
from tests.helpers.agents import make_agent
from utils.config import config_from_dict, load_config
from utils.errors import ConfigError
from utils.schedules import ScheduleSpec

BLOCK = """
_base: {env_id: Toy-v0}
ppo:
  algo_id: ppo
  max_timesteps: 1e4
  n_envs: 2
  n_steps: 8
  batch_size: 8
  policy_lr: 1e-3
"""


def load(folder: Path, *overrides: str):
    (folder / "Toy-v0.yaml").write_text(BLOCK, encoding="utf-8")
    return load_config("Toy-v0:ppo", overrides, config_dir=folder)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["exploration.coef=2"], "'exploration.coef' has no effect: exploration.kind is none"),
        (["popart_beta=0.5"], "'popart_beta' has no effect: value_normalization is none"),
        (
            ["exploration.kind=rnd", "exploration.forward_weight=0.5"],
            "'exploration.forward_weight' has no effect: exploration.kind is rnd",
        ),
        (["exploration.kind=rnd", "exploration.coef=0"], "no weight: raise it or set kind to none"),
        (["exploration.kind=rndd"], "'exploration.kind' must be one of none, rnd, icm"),
        (["exploration.kind=icm", "exploration.forward_weight=1"], "must be < 1.0, got 1"),
        (["exploration.kind=icm", "exploration.forward_weight=0"], "must be > 0.0, got 0"),
        (["exploration.kind=rnd", "exploration.update_proportion=0"], "must be > 0.0, got 0"),
        (["exploration.kind=rnd", "exploration.gamma=1.5"], "must be <= 1.0, got 1.5"),
        (["exploration.kind=rnd", "exploration.lr=0.1"], "unknown key 'lr' in 'exploration'"),
        (["value_normalization=popart", "popart_beta=0"], "'popart_beta' must be > 0"),
        (["exploration=rnd"], "'exploration' must be a mapping of keys to values"),
    ],
)
def test_faults_are_told_in_a_sentence(tmp_path: Path, overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as told:
        load(tmp_path, *overrides)
    (line,) = str(told.value).splitlines()
    assert message in line


def test_coefficients_follow_schedules(tmp_path: Path) -> None:
    config = load(tmp_path, "exploration.kind=icm", "exploration.coef=lin_0.5")
    assert config.hyperparameters["exploration.coef"] == ScheduleSpec(start=0.5, end=0.0)
    assert config.hyperparameters["exploration.extrinsic_coef"] == 1.0
    assert config_from_dict(config.to_dict()) == config
    assert "exploration.coef" not in load(tmp_path).hyperparameters


def test_a_clip_without_anything_to_clip_is_refused(tmp_path: Path) -> None:
    env = "tests.helpers.space_envs:Drawn-v0"
    settings = [f"env_id={env}", "env_kwargs.sees=discrete", "exploration.kind=rnd"]
    with pytest.raises(ConfigError, match=r"exploration\.clip_obs' has no effect on the obs"):
        build_agent(load(tmp_path, *settings, "exploration.clip_obs=3.0"))
    # A run's config spells the default out, and whoever resumes it has not written that.
    build_agent(config_from_dict(load(tmp_path, *settings).to_dict())).close()
    agent = make_agent(env, env_kwargs={"sees": "discrete"})
    assert build_exploration(agent.config, agent.train_env, device=agent.compute_device) is None
    agent.close()
