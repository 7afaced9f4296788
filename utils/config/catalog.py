"""The config files that there are: finding one by its id, and listing all."""

from __future__ import annotations

import contextlib
import fnmatch
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from utils.config.problems import did_you_mean, nearest
from utils.config.yaml_reader import YamlDocument, read_yaml
from utils.errors import ConfigError

CONFIG_DIR = Path(__file__).resolve().parents[2] / "config" / "environments"
BASE_BLOCK = "_base"
_FAMILIES = "families"
"""Folder beside that of the environments."""
_MOST_NAMED = 4
_GAP = "  "
_LEAST_ROOM = 48
"""Columns of the table of configs for variants and tasks; with fewer, tasks stand below."""
_Row = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class EnvironmentFile:
    """One environment's config file: its `_base` block and its variants."""

    name: str
    """The part of a config id before the colon."""
    document: YamlDocument
    base: dict[str, Any]
    variants: dict[str, dict[str, Any]]
    family: EnvironmentFile | None = None
    """What all environments of its family can do, where there is a file of that."""

    @property
    def config_ids(self) -> list[str]:
        """The ids of its own variants, in the order of the file, and of those of its family."""
        return [f"{self.name}:{variant}" for variant in (*self.variants, *self.inherited)]

    @property
    def inherited(self) -> dict[str, dict[str, Any]]:
        """The variants of the family that it does not have itself."""
        of_family = {} if self.family is None else self.family.variants
        return {name: block for name, block in of_family.items() if name not in self.variants}

    def settings(self, variant: str) -> dict[str, Any]:
        """Return the settings at the top level of a variant, as the files have them."""
        return {"env_id": self.name, **self.base, **self.origin_of(variant).variants[variant]}

    def origin_of(self, variant: str) -> EnvironmentFile:
        """Return the file that a variant stands in: this one or the family's."""
        if variant in self.variants or self.family is None:
            return self
        return self.family


def find_variant(config_id: str, *, config_dir: Path) -> tuple[EnvironmentFile, str]:
    """Find the file and the variant that a config id names.

    An environment whose id begins with a family and a slash, such as `dm_control/`, has the
    variants of the family's file too, and needs no file of its own.

    Args:
        config_id: `<env>:<variant>`; the environment may contain slashes. Or the path of a config
            file in place of the environment, such as `tuned/CartPole-v1.yaml:ppo`.
        config_dir: Folder of the config files.

    Returns:
        The file and the name of the variant.

    Raises:
        ConfigError: There is no such file or variant (the nearest are named), or the file is
            faulty.
    """
    name, colon, variant = config_id.rpartition(":")
    if not colon:
        name, variant = config_id, ""
    if not name:
        raise ConfigError(f"'{config_id}' is no config id: write <env>:<variant>")
    file = _find_file(name, config_dir)
    variants = [*file.variants, *file.inherited]
    if variant in variants:
        return file, variant
    known = ", ".join(file.config_ids) or "none"
    if not variant:
        raise ConfigError(f"config id '{config_id}' names no variant; there are: {known}")
    others = _environments_with(variant, config_dir)
    hint = f": there is one for {', '.join(others)}" if others else did_you_mean(variant, variants)
    raise ConfigError(f"unknown variant '{variant}' of {file.name}{hint} (there are: {known})")


def _environments_with(variant: str, config_dir: Path) -> list[str]:
    """Return the first environments that have a variant, and how many more there are."""
    paths = sorted(config_dir.glob("*.yaml"), key=lambda path: path.stem.lower())
    found = []
    for path in paths:
        with contextlib.suppress(ConfigError):  # a fault of another file is not what is asked for
            file = _with_family(read_environment_file(path), config_dir)
            found += [file.name] * (variant in {*file.variants, *file.inherited})
    more = len(found) - _MOST_NAMED
    return found[:_MOST_NAMED] + ([f"and {more} more"] if more > 0 else [])


def _find_file(name: str, config_dir: Path) -> EnvironmentFile:
    if name.endswith(".yaml"):
        return _read_by_path(Path(name), config_dir)
    paths = {path.stem: path for path in config_dir.glob("*.yaml")}
    stem = name.replace("/", "-")
    if stem in paths:
        return _with_family(read_environment_file(paths[stem]), config_dir)
    family = _find_family(name, config_dir)
    if family is None:
        raise ConfigError(_unknown_environment(name, paths, config_dir))
    return _member(family, name)


def _read_by_path(path: Path, config_dir: Path) -> EnvironmentFile:
    """Read a config file by its path; its environment has the variants of its family too.

    Raises:
        ConfigError: It is the file of a family, which is of no environment by itself.
    """
    if path.resolve() in [of_family.resolve() for of_family in _family_paths(config_dir)]:
        raise ConfigError(
            f"'{path}' is what all environments of {path.stem}/ can be trained with: name one of "
            f"them, as train.py --list-envs {path.stem} does"
        )
    return _with_family(read_environment_file(path), config_dir)


def _find_family(name: str, config_dir: Path) -> EnvironmentFile | None:
    """Return the file of the family that an environment belongs to, None where there is none."""
    family, slash, _ = name.partition("/")
    paths = {path.stem: path for path in _family_paths(config_dir)} if slash else {}
    return read_environment_file(paths[family]) if family in paths else None


def _family_paths(config_dir: Path) -> list[Path]:
    return sorted(config_dir.with_name(_FAMILIES).glob("*.yaml"))


def _with_family(file: EnvironmentFile, config_dir: Path) -> EnvironmentFile:
    return replace(file, family=_find_family(file.name, config_dir))


def _member(family: EnvironmentFile, name: str) -> EnvironmentFile:
    """Return the file that an environment of a family would have, had it one."""
    base = {"env_id": name, **family.base}
    return EnvironmentFile(name, family.document, base, variants={}, family=family)


def read_environment_file(path: Path) -> EnvironmentFile:
    """Read a config file and part it into its base and its variants.

    Raises:
        ConfigError: The file is no YAML, or a block at the top is no mapping.
    """
    document = read_yaml(path)
    problems = [
        f"{document.place((key,))}: '{key}' at the top of the file is no variant (a mapping): "
        f"it belongs under '{BASE_BLOCK}' or under a variant"
        for key, value in document.data.items()
        if not isinstance(value, dict) and (key == BASE_BLOCK or not key.startswith("_"))
    ]
    if problems:
        raise ConfigError("\n".join(problems))
    base = document.data.get(BASE_BLOCK, {})
    env_id = base.get("env_id")
    # A file name cannot hold the slash of an id such as ALE/Pong-v5.
    is_own = isinstance(env_id, str) and env_id.replace("/", "-") == path.stem
    return EnvironmentFile(
        name=str(env_id) if is_own else path.stem,
        document=document,
        base=base,
        variants={key: block for key, block in document.data.items() if not key.startswith("_")},
    )


def environment_files(config_dir: Path) -> Iterator[EnvironmentFile]:
    """Yield every config file of a folder, by name.

    Raises:
        ConfigError: The folder holds none, or a file is faulty.
    """
    paths = sorted(config_dir.glob("*.yaml"), key=lambda path: path.stem.lower())
    if not paths:
        raise ConfigError(f"no config files in {config_dir}")
    for path in paths:
        yield _with_family(read_environment_file(path), config_dir)


def list_configs(
    pattern: str = "",
    *,
    config_dir: Path | None = None,
    missing_extras: Callable[[Mapping[str, Any]], list[str]] = lambda _: [],
    width: int | None = None,
) -> str:
    """Write a table of environments: id, variants, solved threshold and summary.

    Args:
        pattern: Text that an id must contain, or a glob such as `*:reinforce`; case does not
            matter; "" for all.
        config_dir: Folder of the config files; None for the project's own.
        missing_extras: Names the extras that the settings of a variant need and that are not
            installed.
        width: Columns that there are, into which variants and summaries are wrapped; None for one
            line each.

    Returns:
        The table, without a final line break; what needs an extra that is missing is marked, and
        a last line says how to install it.

    Raises:
        ConfigError: Nothing matches, or a file is faulty.
    """
    directory = config_dir or CONFIG_DIR
    files = list(environment_files(directory))
    families = map(read_environment_file, _family_paths(directory))
    files += [_member(family, f"{family.name}/*") for family in families]
    rows: list[_Row] = []
    missing: set[str] = set()
    for file in files:
        shown = _matching(file, pattern)
        if shown:
            needs = {name: missing_extras(file.settings(name)) for name in shown}
            rows.append(_row(file, needs))
            missing.update(*needs.values())
    if not rows:
        hint = did_you_mean(pattern, [file.name for file in files])
        raise ConfigError(f"no environment matches '{pattern}'{hint}")
    lines = _lay_out([("environment", "variants", "solved at", "task"), *rows], width)
    if missing:
        names = ",".join(sorted(missing))
        lines += ["", f"what is missing installs with  pip install 'gymnasium-solver[{names}]'"]
    return "\n".join(lines)


def _lay_out(table: list[_Row], width: int | None) -> list[str]:
    """Align the columns; cells of variants and tasks are wrapped, or tasks stand below, at need.

    Args:
        table: Cells of each row, names of the columns first.
        width: Columns of the terminal; None for no bound.
    """
    names, variants, solved, tasks = (max(map(len, column)) for column in zip(*table, strict=True))
    is_narrow = False
    if width is not None:
        room = width - names - solved - 3 * len(_GAP)
        is_narrow = room < _LEAST_ROOM
        variants = min(variants, room if is_narrow else max(room // 2, room - tasks))
        tasks = min(tasks, width - len(_GAP) if is_narrow else room - variants)
    lines = []
    for row in table:
        below = _wrap(row[3], tasks)
        cells = ([row[0]], _wrap(row[1], variants), [row[2]], [] if is_narrow else below)
        for name, variant, threshold, task in zip_longest(*cells, fillvalue=""):
            columns = (f"{name:<{names}}", f"{variant:<{variants}}", f"{threshold:>{solved}}", task)
            lines.append(_GAP.join(columns).rstrip())
        if is_narrow:
            lines += [f"{_GAP}{line}" for line in below]
    return lines


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(1, width), break_on_hyphens=False) or [""]


def find_config_ids(pattern: str = "", *, config_dir: Path | None = None) -> list[str]:
    """Return the config ids that fit a pattern, of the environments that have a file.

    Raises:
        ConfigError: Nothing matches, or a file is faulty.
    """
    files = list(environment_files(config_dir or CONFIG_DIR))
    found = [f"{file.name}:{name}" for file in files for name in _matching(file, pattern)]
    if not found:
        hint = did_you_mean(pattern, [name for file in files for name in file.config_ids])
        raise ConfigError(f"no config matches '{pattern}'{hint}")
    return found


def find_cpu_variants(config_id: str, *, config_dir: Path | None = None) -> list[str]:
    """Return the ids of the variants beside a config that learn on a CPU; none for an unknown one.

    Args:
        config_id: `<env>:<variant>`.
        config_dir: Folder of the config files; None for the project's own.
    """
    try:
        file, _ = find_variant(config_id, config_dir=config_dir or CONFIG_DIR)
    except ConfigError:  # of a run whose file is no longer there
        return []
    settings = {name: file.settings(name) for name in (*file.variants, *file.inherited)}
    return [
        f"{file.name}:{name}"
        for name, of_variant in settings.items()
        if of_variant.get("device", "cpu") == "cpu" and of_variant.get("algo_id") != "random"
    ]


def _matching(file: EnvironmentFile, pattern: str) -> list[str]:
    """Return the variants to show: all if the environment matches, else those that do."""
    variants = [*file.variants, *file.inherited]
    if _fits(file.name, pattern):
        return variants
    return [variant for variant in variants if _fits(f"{file.name}:{variant}", pattern)]


def _fits(name: str, pattern: str) -> bool:
    name, pattern = name.lower(), pattern.lower()
    return pattern in name or fnmatch.fnmatchcase(name, pattern)


def _row(file: EnvironmentFile, needs: Mapping[str, list[str]]) -> _Row:
    """Return the cells of an environment; `needs` has the missing extras of each variant."""
    spec = file.base.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    solved = spec.get("solved_threshold")
    shown = f"{solved:g}" if isinstance(solved, int | float) else "-"
    summary = str(spec.get("summary", ""))
    of_all = set.intersection(*map(set, needs.values()))
    variants = [f"{name}{_needs(set(extras) - of_all)}" for name, extras in needs.items()]
    task = f"{_needs(of_all, what='the extra ')} {summary}".strip()
    return file.name, ", ".join(variants), shown, task


def _needs(extras: set[str], *, what: str = "") -> str:
    """Return " (needs 'a' and 'b')"; nothing for no extra."""
    return f" (needs {what}{' and '.join(map(repr, sorted(extras)))})" if extras else ""


def _without_version(name: str) -> str:
    return re.sub(r"-v\d+$", "", name)


def _unknown_environment(name: str, paths: Mapping[str, Path], config_dir: Path) -> str:
    family, dash, member = name.partition("-")
    if dash and family in {path.stem for path in _family_paths(config_dir)}:
        return f"unknown environment '{name}': did you mean '{family}/{member}'?"
    core = _without_version(name.replace("/", "-")).lower()
    same = [stem for stem in paths if f"-{_without_version(stem).lower()}".endswith(f"-{core}")]
    found = same[:3] or nearest(name.replace("/", "-"), paths, count=3)
    # Only these files are read, to learn where their names have a slash.
    names = [read_environment_file(paths[stem]).name for stem in found]
    if names:
        listed = " or ".join(f"'{name}'" for name in names)
        return f"unknown environment '{name}': did you mean {listed}?"
    return f"unknown environment '{name}': `train.py --list-envs` lists them all"
