"""YAML files read by the rules of YAML 1.2, with the line of every key.

PyYAML follows YAML 1.1, in which `1e-3` is text, `off` is false, `12:30` is 750, `010` is 8 and a
key given twice counts once. Here `1e-3` is a number, only `true` and `false` are truth values,
what looks odd stays text (and so fails where a number is wanted), and a second key is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import yaml

from utils.errors import ConfigError

KeyPath = tuple[str, ...]
"""The keys that lead to a value; list entries by their number as text."""

_TAG = "tag:yaml.org,2002:"
_MERGE = _TAG + "merge"


class _Loader(yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):  # type: ignore[misc]
    """Gives plain words the types of YAML 1.2, and nothing else."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}


for _name, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9](?:_?[0-9])*)", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+.0123456789",
    ),
    ("merge", "<<", "<"),
):
    _firsts = [*_first, ""] if _name == "null" else list(_first)
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(f"(?:{_pattern})$"), _firsts)


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A YAML file's content and the line of each key."""

    label: str
    """How messages name the file."""
    data: dict[str, Any]
    lines: dict[KeyPath, int]
    """Line of each key and list entry, from 1."""

    def place(self, path: KeyPath) -> str:
        """Return `file:line` of a key; of the nearest key above it where it has no line."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.label}:{self.lines.get(path, 1)}"


def display_path(path: Path) -> str:
    """Return how messages name a file: from the current folder if it lies in it, else whole."""
    try:
        return path.resolve().relative_to(Path.cwd().resolve()).as_posix()
    except ValueError:
        return str(path)


def read_yaml(path: Path) -> YamlDocument:
    """Read a YAML file that holds one mapping.

    Raises:
        ConfigError: The file cannot be read, is not YAML or no mapping, has a key twice, or uses
            a tag; one line per problem.
    """
    label = display_path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ConfigError(f"{label}: there is no such file") from error
    except OSError as error:
        raise ConfigError(f"{label}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{label}: cannot be read: {error}") from error
    return parse_yaml(text, label=label)


def parse_yaml(text: str, *, label: str) -> YamlDocument:
    """Read YAML text that holds one mapping; see read_yaml."""
    node = _compose(text, label)
    if not isinstance(node, yaml.MappingNode):
        raise ConfigError(f"{label}:1: the file must hold a mapping of keys to values")
    builder = _Builder(label)
    data = builder.build(node, ())
    if builder.problems:
        raise ConfigError("\n".join(dict.fromkeys(builder.problems)))
    return YamlDocument(label=label, data=data, lines=builder.lines)


def parse_value(text: str, *, label: str) -> Any:
    """Read one value as it would be read after `key: ` in a file.

    Args:
        text: The value: a scalar, or a list or mapping in brackets.
        label: How messages name the place.

    Raises:
        ConfigError: The text is not YAML.
    """
    node = _compose(text, label, has_lines=False)
    if node is None:
        return None
    builder = _Builder(label, has_lines=False)
    value = builder.build(node, ())
    if builder.problems:
        raise ConfigError("\n".join(dict.fromkeys(builder.problems)))
    return value


def _compose(text: str, label: str, *, has_lines: bool = True) -> Any:
    try:
        return yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{label}:{mark.line + 1}:{mark.column + 1}" if mark and has_lines else label
        told = ", ".join(part for part in (error.context, error.problem) if part)
        raise ConfigError(f"{where}: not valid YAML: {told}") from error
    except yaml.YAMLError as error:
        told = " ".join(str(error).split())
        raise ConfigError(f"{label}: not valid YAML: {told}") from error


class _Builder:
    """Turns nodes into plain values, and notes the line of each key and every problem."""

    def __init__(self, label: str, *, has_lines: bool = True) -> None:
        self.label = label
        self.has_lines = has_lines
        self.problems: list[str] = []
        self.lines: dict[KeyPath, int] = {}
        self._open: set[int] = set()

    def build(self, node: Any, path: KeyPath) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if id(node) in self._open:
            self._report(node, "an anchor must not contain itself")
            return None
        self._open.add(id(node))
        if isinstance(node, yaml.MappingNode):
            value: Any = self._mapping(node, path)
        else:
            value = [self._item(item, (*path, str(i))) for i, item in enumerate(node.value)]
        self._open.remove(id(node))
        return value

    def _item(self, node: Any, path: KeyPath) -> Any:
        self.lines[path] = _line(node)
        return self.build(node, path)

    def _mapping(self, node: Any, path: KeyPath) -> dict[str, Any]:
        self._check_tag(node, "map")
        result = {}
        for key_node, value_node in self._pairs(node).values():
            key_path = (*path, key_node.value)
            self.lines[key_path] = _line(key_node)
            result[key_node.value] = self.build(value_node, key_path)
        return result

    def _pairs(self, node: Any) -> dict[str, tuple[Any, Any]]:
        """Return a mapping's own pairs, then those of its `<<` that it does not have itself."""
        pairs: dict[str, tuple[Any, Any]] = {}
        merged: list[Any] = []
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                merged.extend(self._merge_sources(value_node))
            elif key_node.tag != _TAG + "str":
                self._report(key_node, f"a key must be text; quote it: {_written(key_node)}")
            elif key_node.value in pairs:
                first = _line(pairs[key_node.value][0])
                told = f" (first on line {first})" if self.has_lines else ""
                self._report(key_node, f"duplicate key '{key_node.value}'{told}")
            else:
                pairs[key_node.value] = (key_node, value_node)
        for source in merged:
            if id(source) in self._open:
                self._report(source, "an anchor must not contain itself")
                continue
            self._open.add(id(source))
            for key, pair in self._pairs(source).items():
                pairs.setdefault(key, pair)
            self._open.remove(id(source))
        return pairs

    def _merge_sources(self, node: Any) -> Iterator[Any]:
        for source in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if isinstance(source, yaml.MappingNode):
                yield source
            else:
                self._report(source, "'<<' takes a mapping or a list of mappings")

    def _scalar(self, node: Any) -> Any:
        kind = node.tag.removeprefix(_TAG)
        text = node.value
        try:
            match kind:
                case "str":
                    return text
                case "null":
                    return None
                case "bool":
                    return {"true": True, "false": False}[text.lower()]
                case "int":
                    return int(text)
                case "float":
                    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        except (KeyError, ValueError):
            self._report(node, f"'{text}' is no {kind}")
            return None
        if node.tag == _MERGE:
            return text
        self._report(node, f"the tag '{node.tag}' is not allowed")
        return None

    def _check_tag(self, node: Any, kind: str) -> None:
        if node.tag != _TAG + kind:
            self._report(node, f"the tag '{node.tag}' is not allowed")

    def _report(self, node: Any, message: str) -> None:
        where = f"{self.label}:{_line(node)}" if self.has_lines else self.label
        self.problems.append(f"{where}: {message}")


def _line(node: Any) -> int:
    line: int = node.start_mark.line + 1
    return line


def _written(node: Any) -> str:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else "a list or a mapping"
