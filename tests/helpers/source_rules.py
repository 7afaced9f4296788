"""The rules that keep the source in its layers; each returns one line per breach."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.helpers.source_tree import PACKAGES, SourceTree

LAYERS = {"gym_envs": 0, "gym_wrappers": 0, "utils": 1, "trainer_callbacks": 2, "agents": 3}
TOP_LAYER = 4
# Errors lie below everything: an environment may refuse a wrong setting like anyone else.
BOTTOM_MODULE = "utils.errors"

PURE_PACKAGES = {
    "utils.config": ("utils.phases", "utils.schedules"),
    "utils.distributions": (),
    "utils.phases": (),
    "utils.returns": (),
    "utils.schedules": (),
}
BANNED_NAMES = {"utils", "helpers", "common", "misc", "tools", "types"}
MAX_ENTRY_SCRIPT_LINES = 80
MAX_FILE_LINES = 500

# The command line answers `--help`, `--list-envs` and mistakes without loading any of these.
HEAVY_MODULES = {
    "av",
    "cv2",
    "fastapi",
    "gradio",
    "gymnasium",
    "huggingface_hub",
    "lightning",
    "matplotlib",
    "numba",
    "optuna",
    "onnx",
    "onnxruntime",
    "pytorch_lightning",
    "safetensors",
    "tensorboard",
    "torch",
    "trackio",
    "uvicorn",
    "wandb",
}
LIGHT_MODULES = ("utils.errors", "utils.config", "utils.phases", "utils.schedules", "utils.run")


def layer_breaches(tree: SourceTree) -> list[str]:
    """Find imports that do not point down, from a lower layer or between two equal ones."""
    found = []
    for item in tree.all_imports():
        target = tree.imported_module(item)
        own, other = item.importer.partition(".")[0], target.partition(".")[0]
        if not tree.is_ours(target) or own == other or target == BOTTOM_MODULE:
            continue
        if LAYERS.get(other, TOP_LAYER) >= LAYERS.get(own, TOP_LAYER):
            found.append(f"{item}: {own} may not know {other}")
    return found


def purity_breaches(tree: SourceTree) -> list[str]:
    """Find imports by which a pure package knows more of ours than it may."""
    found = []
    for item in tree.all_imports():
        target = tree.imported_module(item)
        for package, allowed in PURE_PACKAGES.items():
            permitted = (package, BOTTOM_MODULE, *allowed)
            if (
                _is_inside(item.importer, package)
                and tree.is_ours(target)
                and not any(_is_inside(target, name) for name in permitted)
            ):
                found.append(f"{item}: {package} is pure")
    return found


def agent_breaches(tree: SourceTree) -> list[str]:
    """Find imports of one algorithm's folder from outside it but within `agents`."""
    found = []
    for item in tree.all_imports():
        target = tree.imported_module(item)
        folder = ".".join(target.split(".")[:2])
        is_algorithm = folder.startswith("agents.") and _is_package(folder, tree)
        is_outside = not _is_inside(item.importer, folder)
        if is_algorithm and is_outside and _is_inside(item.importer, "agents"):
            found.append(f"{item}: an agent never imports a sibling")
    return found


def underscore_breaches(tree: SourceTree) -> list[str]:
    """Find private names and private modules taken from another package."""
    found = []
    for item in tree.all_imports():
        target = tree.imported_module(item)
        if not tree.is_ours(target) or _package_of(item.importer, tree) == _package_of(
            target, tree
        ):
            continue
        words = [*item.target.split("."), item.name or ""]
        if any(word.startswith("_") and not word.startswith("__") for word in words):
            found.append(f"{item}: a private name of another package")
    return found


def name_breaches(tree: SourceTree) -> list[str]:
    """Find modules and inner packages whose name says nothing about what is in them."""
    found = []
    for name, path in tree.paths.items():
        inner = name.split(".")[1:] if name.partition(".")[0] in PACKAGES else name.split(".")
        if BANNED_NAMES & set(inner):
            found.append(f"{path.relative_to(tree.root)}: a name for a drawer, not for a purpose")
    return found


def size_breaches(tree: SourceTree) -> list[str]:
    """Find entry scripts and modules that are too long."""
    found = []
    for name, path in tree.paths.items():
        limit = MAX_ENTRY_SCRIPT_LINES if name in tree.entry_scripts else MAX_FILE_LINES
        n_lines = len(path.read_text(encoding="utf-8").splitlines())
        if n_lines > limit:
            found.append(f"{path.relative_to(tree.root)}: {n_lines} lines, at most {limit}")
    return found


def package_breaches(tree: SourceTree) -> list[str]:
    """Find folders of modules that are no package, and packages that do not say what they are."""
    found = []
    for folder in sorted({path.parent for path in tree.paths.values()}):
        if folder == tree.root or folder.name == "scripts":
            continue
        init = folder / "__init__.py"
        if not init.exists():
            found.append(f"{folder.relative_to(tree.root)}: no __init__.py, so it is not installed")
        elif not ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))):
            found.append(f"{init.relative_to(tree.root)}: no sentence of purpose")
    return found


def heavy_import_breaches(tree: SourceTree) -> list[str]:
    """Find chains of imports by which the command line would load something heavy at once."""
    roots = [
        name
        for name in tree.paths
        if name in tree.entry_scripts or any(_is_inside(name, light) for light in LIGHT_MODULES)
    ]
    return [chain for root in roots for chain in _heavy_chains(tree, root)]


def _heavy_chains(tree: SourceTree, root: str) -> list[str]:
    found = []
    waiting = [(name, (name,)) for name in tree.loaded_with(root)]
    seen = {name for name, _ in waiting}
    while waiting:
        module, chain = waiting.pop()
        for item in tree.imports[module]:
            if not item.is_at_import_time:
                continue
            if item.target.partition(".")[0] in HEAVY_MODULES:
                found.append(f"{' > '.join(chain)}: {item}")
            for loaded in tree.loaded_with(tree.imported_module(item)):
                if loaded not in seen:
                    seen.add(loaded)
                    waiting.append((loaded, (*chain, loaded)))
    return found


def _is_inside(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _package_of(module: str, tree: SourceTree) -> str:
    """Return the package, at most two names deep, that a module belongs to."""
    parts = module.split(".")
    folder = ".".join(parts[:2])
    return folder if _is_package(folder, tree) else parts[0]


def _is_package(module: str, tree: SourceTree) -> bool:
    return tree.paths.get(module, Path()).name == "__init__.py"
