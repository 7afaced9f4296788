import pytest

from utils.config import load_config
from utils.metrics.advice import fixes_that_apply
from utils.metrics_config import load_metrics_config

CONSTANT = ("policy_lr=0.001", "clip_range=0.2")
LEFT_OUT, TOLD = False, True


@pytest.mark.parametrize(
    ("fix", "overrides", "told"),
    [
        ("set policy_lr: lin_... (a rate that falls)", (), LEFT_OUT),  # lin_0.001 in the file
        ("set policy_lr: lin_... (a rate that falls)", CONSTANT, TOLD),
        ("set target_kl: 0.02", (), TOLD),
        ("set target_kl: 0.02", ("target_kl=0.02",), LEFT_OUT),
        ("set target_kl: 0.02", ("target_kl=0.01",), LEFT_OUT),
        ("set target_kl: 0.02", ("target_kl=0.5",), TOLD),
        ("set normalize_reward: true", (), TOLD),
        ("set normalize_reward: true", ("normalize_reward=true",), LEFT_OUT),
        ("set normalize_obs: rolling", ("normalize_obs=rolling",), LEFT_OUT),
        ("set policy_kwargs.share_trunk: false", (), LEFT_OUT),
        ("set policy_kwargs.share_trunk: false", ("policy_kwargs.share_trunk=true",), TOLD),
        ("set max_grad_norm", (), LEFT_OUT),
        ("set max_grad_norm", ("max_grad_norm=null",), TOLD),
        ("set ent_coef: 0", (), LEFT_OUT),
        ("set ent_coef: 0", ("ent_coef=0.01",), TOLD),
        ("lower n_epochs", (), TOLD),
        ("lower n_epochs", ("n_epochs=1",), LEFT_OUT),
        ("lower policy_lr", (), TOLD),
        ("lower n_workers", (), LEFT_OUT),
        ("raise ent_coef to explore", (), TOLD),
        ("check the reward", (), TOLD),
    ],
)
def test_only_what_would_change_something_is_advised(fix, overrides, told):
    config = load_config("CartPole-v1:ppo", overrides)
    assert fixes_that_apply([fix], config) == ((fix,) if told else ())


def test_settings_of_another_algorithm_are_not_advised():
    config = load_config("CartPole-v1:reinforce")
    fixes = ("set target_kl: 0.02", "lower n_epochs", "set clip_range_vf: 0.2", "lower policy_lr")
    assert fixes_that_apply(fixes, config) == ("lower policy_lr",)


def test_every_setting_that_an_alert_names_exists():
    """With every switch open, nothing is left out: so no name is misspelt."""
    open_ = ("target_kl=null", "max_grad_norm=null", "clip_range_vf=null", "ent_coef=0.1")
    more = ("policy_kwargs.share_trunk=true", "vectorization=async", "n_workers=2", *CONSTANT)
    dreams = ("ent_coef=0.1", "normalize_returns=false", "actor_lr=1e-4")
    configs = (
        load_config("CartPole-v1:ppo", [*open_, *more]),
        load_config("CartPole-v1:dreamer", dreams),
        load_config("Spotlight-v0:world_models"),
    )
    for alert in load_metrics_config().alerts:
        applying = [fixes_that_apply(alert.fixes, config) for config in configs]
        assert alert.fixes in applying, alert
