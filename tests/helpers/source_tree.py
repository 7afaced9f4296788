"""Read the project's own source as a graph of imports, without importing or running any of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("gym_envs", "gym_wrappers", "utils", "trainer_callbacks", "agents")


@dataclass(frozen=True)
class ImportedName:
    """One name that one module takes from another."""

    importer: str
    line: int
    target: str
    """The module imported from, as a dotted name."""
    name: str | None
    """The name taken from `target`; None for a plain `import target`."""
    is_at_import_time: bool
    """False inside a function and under `if TYPE_CHECKING:`."""

    def __str__(self) -> str:
        what = self.target if self.name is None else f"{self.target}.{self.name}"
        return f"{self.importer}:{self.line} imports {what}"


@dataclass(frozen=True)
class SourceTree:
    """Every module of the packages, the entry scripts in the root and the folder `scripts`."""

    root: Path
    paths: dict[str, Path]
    imports: dict[str, tuple[ImportedName, ...]]

    @classmethod
    def read(cls, root: Path) -> SourceTree:
        """Parse the modules below `root`."""
        files = sorted(root.glob("*.py"))
        for folder in (*PACKAGES, "scripts"):
            files += sorted((root / folder).rglob("*.py"))
        paths = {_dotted_name(path.relative_to(root)): path for path in files}
        imports = {name: tuple(_read_imports(name, path)) for name, path in paths.items()}
        return cls(root, paths, imports)

    @property
    def entry_scripts(self) -> dict[str, Path]:
        """The modules that lie in the root itself."""
        return {name: path for name, path in self.paths.items() if path.parent == self.root}

    def all_imports(self) -> Iterator[ImportedName]:
        """Yield every import of every module."""
        for names in self.imports.values():
            yield from names

    def imported_module(self, item: ImportedName) -> str:
        """Return the dotted module that `item` leads to: `from a import b` may mean `a.b`."""
        submodule = f"{item.target}.{item.name}"
        return submodule if submodule in self.paths else item.target

    def is_ours(self, module: str) -> bool:
        """Tell whether a dotted name belongs to this project."""
        top = module.partition(".")[0]
        return top in PACKAGES or top == "scripts" or top in self.entry_scripts

    def loaded_with(self, module: str) -> list[str]:
        """List the modules that run when `module` is imported: its parent packages and itself."""
        parts = module.split(".")
        prefixes = [".".join(parts[: size + 1]) for size in range(len(parts))]
        return [prefix for prefix in prefixes if prefix in self.paths]


def _dotted_name(relative: Path) -> str:
    parts = relative.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _read_imports(module: str, path: Path) -> Iterator[ImportedName]:
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    for node, is_at_import_time in _walk(tree, is_at_import_time=True):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield ImportedName(module, node.lineno, alias.name, None, is_at_import_time)
        elif isinstance(node, ast.ImportFrom):
            target = _absolute_target(node, package)
            for alias in node.names:
                yield ImportedName(module, node.lineno, target, alias.name, is_at_import_time)


def _absolute_target(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        assert node.module is not None
        return node.module
    parts = package.split(".")
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


def _walk(node: ast.AST, *, is_at_import_time: bool) -> Iterator[tuple[ast.AST, bool]]:
    for child in ast.iter_child_nodes(node):
        runs = is_at_import_time and not isinstance(
            child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
        )
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            runs = False
        yield child, runs
        yield from _walk(child, is_at_import_time=runs)
