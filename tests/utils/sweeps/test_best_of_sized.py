"""The best config of a sweep over a shape is the model that was tried."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from utils.config import load_config
from utils.sweeps.best import best_config_text


@pytest.mark.parametrize(
    ("config_id", "settings"),
    [
        ("Pendulum-v1:dreamer", {"policy_kwargs.hidden": 96}),
        ("Pendulum-v1:dreamer", {"policy_kwargs.size": "1M"}),
        ("Pendulum-v1:dreamer_v1", {"policy_lr": 3e-4}),
        ("Pendulum-v1:planet", {"policy_kwargs.deter": 96}),
        ("Pendulum-v1:tdmpc", {"policy_kwargs.mlp_dim": 96}),
        ("Pendulum-v1:tdmpc_v1", {"policy_lr": 3e-4}),
    ],
)
def test_it_is_loaded_as_it_was_tried(config_id, settings, tmp_path) -> None:
    spec = SimpleNamespace(config_id=config_id, lasting=(), name="sweep")
    path = tmp_path / "Pendulum-v1.yaml"
    path.write_text(best_config_text(spec, settings, comment="the best of a sweep"))
    tried = load_config(config_id, sweep=settings).to_dict()
    loaded = load_config(f"{path}:{config_id.split(':')[1]}_sweep").to_dict()
    differing = {key for key in tried if tried[key] != loaded[key]}
    assert differing <= {"config_id", "description"}
