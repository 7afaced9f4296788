from __future__ import annotations

import pytest

from utils.config import load_config
from utils.errors import ConfigError


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("n_envs=4", "nothing is collected"),
        ("normalize_obs=rolling", "scaled by the least and the greatest"),
        ("normalize_reward=true", "no reward is learnt from"),
        ("early_stop_on_train_reward=true", "no episode is played in training"),
        ("download_dataset=true", "dataset is scripted"),
        ("policy_kwargs.width=64", "policy_kwargs.network is unet"),
        ("action_horizon=8", "horizon 8 is too short"),
        ("horizon=7", "multiple of 2"),
        ("n_denoise_steps=101", "exceeds n_train_steps 100"),
        ("policy_kwargs.n_groups=3", "does not divide all of the channels"),
        ("policy_kwargs.kernel_size=4", "is not odd"),
        ("policy_kwargs.step_dim=7", "is not even"),
        ("val_fraction=1", "val_fraction"),
    ],
)
def test_what_does_nothing_or_does_not_fit_is_refused(override: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load_config("Obstacle-v0:diffusion", [override])


def test_options_of_the_unet_do_nothing_for_a_transformer() -> None:
    with pytest.raises(ConfigError, match=r"policy_kwargs\.network is transformer"):
        load_config("Obstacle-v0:diffusion_transformer", ["policy_kwargs.channels=[8]"])
    with pytest.raises(ConfigError, match="does not divide the width"):
        load_config("Obstacle-v0:diffusion_transformer", ["policy_kwargs.n_heads=3"])


def test_a_dataset_is_taken_by_an_option() -> None:
    assert load_config("CartPole-v1:bc", ["dataset=mine/best-v3"]).dataset == "mine/best-v3"


def test_diffusion_is_judged_by_what_it_draws_unless_told_otherwise() -> None:
    assert not load_config("Obstacle-v0:diffusion").eval_deterministic
    assert load_config("Obstacle-v0:bc").eval_deterministic
