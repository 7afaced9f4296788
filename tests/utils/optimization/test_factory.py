from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from utils.errors import ConfigError
from utils.optimization import build_optimizer, set_learning_rate


def build(name: str = "AdamW", **kwargs: Any) -> torch.optim.Optimizer:
    return build_optimizer(name, [nn.Parameter(torch.ones(2, 2))], lr=0.01, kwargs=kwargs)


@pytest.mark.parametrize(
    "name", ["Adadelta", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "SGD", "Muon"]
)
def test_torchs_optimisers_by_name_take_a_step(name: str) -> None:
    optimizer = build(name)
    assert type(optimizer) is getattr(torch.optim, name)
    (group,) = optimizer.param_groups
    assert group["lr"] == 0.01
    (parameter,) = group["params"]
    parameter.grad = torch.eye(2)
    optimizer.step()
    assert not torch.equal(parameter, torch.ones(2, 2))


def test_arguments_reach_the_optimiser() -> None:
    (group,) = build("AdamW", betas=[0.8, 0.9], eps=1e-5, weight_decay=0.3).param_groups
    assert list(group["betas"]) == [0.8, 0.9]
    assert (group["eps"], group["weight_decay"]) == (1e-5, 0.3)


def test_the_fused_kernel_is_taken_unless_asked_otherwise() -> None:
    assert build("AdamW").param_groups[0]["fused"] is True
    assert build("AdamW", fused=False).param_groups[0]["fused"] is False
    assert not build("AdamW", foreach=True).param_groups[0]["fused"]
    assert "fused" not in build("RMSprop").param_groups[0]


def test_an_unknown_name_is_told_its_nearest() -> None:
    with pytest.raises(ConfigError, match=r"'AdmaW' .* did you mean AdamW\?"):
        build("AdmaW")
    for name in ("Optimizer", "lr_scheduler", ""):
        with pytest.raises(ConfigError, match=r"not in torch\.optim"):
            build(name)


@pytest.mark.parametrize("name", ["LBFGS", "SparseAdam"])
def test_optimisers_that_cannot_train_a_policy_are_refused_at_once(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} cannot train a policy"):
        build(name)


@pytest.mark.parametrize("key", ["momentum", "lr", "params"])
def test_an_unknown_argument_is_named_with_those_that_exist(key: str) -> None:
    with pytest.raises(ConfigError, match=rf"AdamW takes no argument {key}; .*weight_decay"):
        build("AdamW", **{key: 0.9})


@pytest.mark.parametrize(
    "kwargs", [{"betas": [2.0, 0.9]}, {"weight_decay": "much"}, {"differentiable": True}]
)
def test_values_that_the_optimiser_refuses_are_config_errors(kwargs: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="optimizer_kwargs: AdamW: "):
        build("AdamW", **kwargs)


def test_learning_rate_of_every_group() -> None:
    optimizer = build("SGD")
    optimizer.add_param_group({"params": [nn.Parameter(torch.ones(1))], "lr": 5.0})
    set_learning_rate(optimizer, 0.25)
    assert [group["lr"] for group in optimizer.param_groups] == [0.25, 0.25]
