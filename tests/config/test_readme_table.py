"""The README's table of environments and variants is whole."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from utils.config.catalog import CONFIG_DIR, environment_files

FILES = {file.name: file for file in environment_files(CONFIG_DIR)}
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def _rows() -> list[tuple[str, set[str]]]:
    """Return the first cell of each row and the variants that its second one names."""
    table = README.split("## Environments and variants\n")[1].split("\n\n")[0].strip()
    cells = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return [(first, set(re.findall(r"`(\w+)`", second))) for first, second, *_ in cells]


def _names(cell: str, env_id: str) -> bool:
    """Say whether a cell names an environment, be it by a short form such as `-Gaussian`."""
    if env_id.startswith("VizDoom-"):
        return cell.startswith("VizDoom-")  # and eleven more
    whole, *words = (_bare(word) for word in [env_id, *cell.split(", ")])
    short_forms = {whole, whole.split("/")[-1], whole.split("/")[-1].split("-")[-1]}
    return not short_forms.isdisjoint(words)


def _bare(name: str) -> str:
    return re.sub(r"-v\d+$", "", name.removeprefix("-"))


@pytest.mark.parametrize("env_id", FILES)
def test_every_variant_is_in_the_table(env_id: str) -> None:
    told = set().union(*(variants for cell, variants in _rows() if _names(cell, env_id)))
    there = {config_id.split(":")[1] for config_id in FILES[env_id].config_ids}
    assert there <= told, f"{env_id}: README lacks {sorted(there - told)}"


def test_every_extra_is_in_the_table() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    table = README.split("## Extras\n")[1].split("\n## ")[0]
    told = set(re.findall(r"^\| `([\w-]+)` \|", table, flags=re.MULTILINE))
    assert set(project["project"]["optional-dependencies"]) == told
