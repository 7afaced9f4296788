"""The repository keeps its own rules. Each rule is also shown to find a breach in a small tree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers import document_rules, source_rules
from tests.helpers.source_tree import SourceTree

ROOT = Path(__file__).resolve().parents[1]

SOURCE_RULES = [
    source_rules.layer_breaches,
    source_rules.purity_breaches,
    source_rules.agent_breaches,
    source_rules.underscore_breaches,
    source_rules.name_breaches,
    source_rules.size_breaches,
    source_rules.package_breaches,
    source_rules.heavy_import_breaches,
]
DOCUMENT_RULES = [
    document_rules.home_path_breaches,
    document_rules.link_breaches,
    document_rules.task_breaches,
    document_rules.guide_breaches,
]


@pytest.fixture(scope="module")
def repository() -> SourceTree:
    return SourceTree.read(ROOT)


@pytest.mark.parametrize("rule", SOURCE_RULES, ids=lambda rule: rule.__name__)
def test_source_keeps_the_rule(
    repository: SourceTree, rule: Callable[[SourceTree], list[str]]
) -> None:
    assert rule(repository) == []


@pytest.mark.parametrize("rule", DOCUMENT_RULES, ids=lambda rule: rule.__name__)
def test_documents_keep_the_rule(rule: Callable[[Path], list[str]]) -> None:
    assert rule(ROOT) == []


def write_tree(root: Path, files: dict[str, str]) -> Path:
    """Write a small project; every folder of modules becomes a package with a purpose."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        for folder in path.relative_to(root).parents:
            init = root / folder / "__init__.py"
            if path.suffix == ".py" and folder.name and not init.exists():
                init.write_text('"""A package for a purpose."""\n', encoding="utf-8")
    return root


KEPT = {
    "train.py": "from utils.config import load\nfrom agents import build_agent\n",
    "scripts/benchmark.py": "import torch\nfrom utils.returns.gae import compute_gae\n",
    "agents/ppo/ppo_agent.py": "from agents.base_agent import BaseAgent\nimport utils.returns\n",
    "agents/base_agent.py": "import torch\nfrom trainer_callbacks.stop import Stop\n",
    "trainer_callbacks/stop.py": "import lightning\nfrom utils.schedules import schedule_value\n",
    "gym_wrappers/registry.py": "from utils.errors import ConfigError\n",
    "gym_envs/bandit/env.py": "from .constants import _N_ARMS\n",
    "gym_envs/bandit/constants.py": "_N_ARMS = 3\n",
    "utils/errors.py": "import sys\n",
    "utils/config/loader.py": "from utils.schedules import value\nfrom ..errors import E\n",
    "utils/schedules/linear.py": "def load():\n    import torch\n",
    "utils/returns/gae.py": "import torch\n",
    "utils/run/run.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import numpy, torch\n"
    ),
}

BREACHES = {
    source_rules.layer_breaches: [
        {"utils/rollouts/collector.py": "from agents.base_agent import BaseAgent\n"},
        {"utils/loggers/csv.py": "def write():\n    import trainer_callbacks.stop\n"},
        {"gym_envs/bandit/env.py": "from utils.returns import gae\n"},
        {"gym_envs/bandit/env.py": "import gym_wrappers.registry\n"},
        {"trainer_callbacks/stop.py": "from agents.ppo import ppo_agent\n"},
        {"agents/base_agent.py": "import train\n"},
    ],
    source_rules.purity_breaches: [
        {"utils/returns/gae.py": "from utils.config import load\n"},
        {"utils/distributions/normal.py": "from ..returns.gae import compute_gae\n"},
        {"utils/schedules/linear.py": "import utils.config.loader\n"},
    ],
    source_rules.agent_breaches: [
        {"agents/reinforce/reinforce_agent.py": "from agents.ppo.ppo_losses import loss\n"},
        {"agents/base_agent.py": "from agents import ppo\n"},
    ],
    source_rules.underscore_breaches: [
        {"utils/config/loader.py": "from utils.returns.gae import _scan\n"},
        {"agents/ppo/ppo_agent.py": "from agents.base_agent import _step\n"},
        {"utils/run/run.py": "import utils.config._cache\n"},
    ],
    source_rules.name_breaches: [
        {"utils/run/helpers.py": ""},
        {"agents/common/networks.py": ""},
        {"misc.py": ""},
    ],
    source_rules.size_breaches: [
        {"train.py": "x = 1\n" * 81},
        {"utils/returns/gae.py": "x = 1\n" * 501},
    ],
    source_rules.package_breaches: [
        {"utils/returns/__init__.py": "from utils.returns.gae import compute_gae\n"},
    ],
    source_rules.heavy_import_breaches: [
        {"utils/config/loader.py": "import torch.nn\n"},
        {"utils/run/run.py": "from utils.returns import gae\n"},
        {"utils/schedules/linear.py": "class A:\n    from lightning import Trainer\n"},
        {"agents/__init__.py": '"""Agents."""\nfrom agents.base_agent import BaseAgent\n'},
    ],
}


def test_a_sound_tree_breaks_no_source_rule(tmp_path: Path) -> None:
    tree = SourceTree.read(write_tree(tmp_path, KEPT))
    assert {rule.__name__: rule(tree) for rule in SOURCE_RULES} == {
        rule.__name__: [] for rule in SOURCE_RULES
    }


@pytest.mark.parametrize(
    ("rule", "fault"),
    [(rule, fault) for rule, faults in BREACHES.items() for fault in faults],
    ids=lambda value: value.__name__ if callable(value) else next(iter(value)),
)
def test_a_source_rule_finds_its_breach(
    tmp_path: Path, rule: Callable[[SourceTree], list[str]], fault: dict[str, str]
) -> None:
    tree = SourceTree.read(write_tree(tmp_path, KEPT | fault))
    place = next(iter(fault)).removesuffix(".py").removesuffix("/__init__")
    found = rule(tree)
    assert any(place in line or place.replace("/", ".") in line for line in found), found


def test_a_folder_without_init_is_no_package(tmp_path: Path) -> None:
    write_tree(tmp_path, KEPT)
    (tmp_path / "utils/returns/__init__.py").unlink()
    found = source_rules.package_breaches(SourceTree.read(tmp_path))
    assert found == ["utils/returns: no __init__.py, so it is not installed"]


def test_home_paths_are_found_in_text_and_not_in_output(tmp_path: Path) -> None:
    home = "/" + "home/ann/data"
    files = {"notes.md": f"see\n`{home}`\n", "runs/a/run.txt": home, "fine.md": "a/home/ann\n"}
    found = document_rules.home_path_breaches(write_tree(tmp_path, files))
    assert found == [f"notes.md:2: `{home}`"]


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    text = "[a](b.md#part) [c](gone.md) [d](#here) [e](mailto:x@y) `[f](g.md)`\n```\n[h](i)\n```\n"
    found = document_rules.link_breaches(write_tree(tmp_path, {"a.md": text, "b.md": ""}))
    assert found == ["a.md: gone.md"]


def test_tasks_and_playbooks_must_agree(tmp_path: Path) -> None:
    rows = [f"| [{name}](VIBES/tasks/{name}.md) | its goal |" for name in ("lost", "kept")]
    table = "\n".join(["| Task | Goal |", "| --- | --- |", *rows])
    files = {"AGENTS.md": table, "VIBES/tasks/kept.md": "", "VIBES/tasks/extra.md": ""}
    found = document_rules.task_breaches(write_tree(tmp_path, files))
    assert found == [
        "AGENTS.md names lost: no such playbook",
        "VIBES/tasks/extra.md: not named in AGENTS.md",
    ]


def test_the_guide_names_packages_and_only_what_exists(tmp_path: Path) -> None:
    guide = "`utils/` `utils/returns/gae.py` `utils/returns/gone.py` `agents/<algo>/`\n"
    files = {
        "VIBES/ARCHITECTURE_GUIDE.md": guide,
        "utils/returns/gae.py": "",
        "agents/a/b/c.py": "",
    }
    found = document_rules.guide_breaches(write_tree(tmp_path, files))
    assert found == [
        "VIBES/ARCHITECTURE_GUIDE.md: no `agents/`",
        "VIBES/ARCHITECTURE_GUIDE.md: no `agents/a/`",
        "VIBES/ARCHITECTURE_GUIDE.md: no `utils/returns/`",
        "VIBES/ARCHITECTURE_GUIDE.md: `utils/returns/gone.py` does not exist",
    ]
