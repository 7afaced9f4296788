import importlib.util

import pytest

from utils.benchmarks import require_sb3
from utils.errors import MissingDependencyError


def test_a_missing_peer_is_one_line_with_the_extra(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError) as caught:
        require_sb3("benchmark_x.py")
    assert str(caught.value) == (
        "benchmark_x.py needs the package 'stable-baselines3': "
        "install it with  pip install 'gymnasium-solver[peers]'"
    )
