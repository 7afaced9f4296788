"""The rules for text files: links lead somewhere, guides name what exists; one line per breach."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.helpers.source_tree import PACKAGES

TEXT_SUFFIXES = {".cfg", ".csv", ".ini", ".json", ".md", ".py", ".sh", ".toml", ".txt", ".yaml"}
TEXT_NAMES = {"Makefile", "LICENSE", ".gitignore", "run"}
OUTPUT_FOLDERS = {"build", "dist", "runs", "wandb", "_vizdoom", "__pycache__"}

GUIDE = Path("VIBES/ARCHITECTURE_GUIDE.md")
TASK_FOLDER = Path("VIBES/tasks")

# Written in two parts so that this line is no breach of its own rule.
_HOME_PATH = re.compile(r"(?:^|[\s'\"=(`:])/(?:" + "root|home|" + r"Users)/[A-Za-z.]")
_LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"`([^`\s]+)`")


def text_files(root: Path) -> Iterator[Path]:
    """Yield the text files that belong to the project, not what running it leaves behind."""
    for path in sorted(root.iterdir()):
        is_hidden = path.name.startswith(".") and path.name not in {".ci", ".gitignore"}
        if is_hidden or path.is_symlink():
            continue
        if path.is_dir():
            if path.name not in OUTPUT_FOLDERS and path.suffix != ".egg-info":
                yield from text_files(path)
        elif path.suffix in TEXT_SUFFIXES or path.name in TEXT_NAMES:
            yield path


def home_path_breaches(root: Path) -> list[str]:
    """Find absolute paths into somebody's home."""
    found = []
    for path in text_files(root):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if _HOME_PATH.search(line):
                found.append(f"{path.relative_to(root)}:{number}: {line.strip()}")
    return found


def link_breaches(root: Path) -> list[str]:
    """Find relative links in Markdown files that lead nowhere."""
    found = []
    for path in text_files(root):
        if path.suffix != ".md":
            continue
        for link in _LINK.findall(_CODE.sub("", path.read_text(encoding="utf-8"))):
            target = link.partition("#")[0]
            is_elsewhere = re.match(r"[a-z][a-z0-9+.-]*:", link) is not None
            if target and not is_elsewhere and not (path.parent / target).exists():
                found.append(f"{path.relative_to(root)}: {link}")
    return found


def task_breaches(root: Path) -> list[str]:
    """Find tasks that AGENTS.md names and that do not exist, and the other way round."""
    text = (root / "AGENTS.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| \[(\w+)\]", text, re.MULTILINE))
    existing = {path.stem for path in (root / TASK_FOLDER).glob("*.md")}
    return [f"AGENTS.md names {name}: no such playbook" for name in sorted(named - existing)] + [
        f"{TASK_FOLDER / name}.md: not named in AGENTS.md" for name in sorted(existing - named)
    ]


def guide_breaches(root: Path) -> list[str]:
    """Find packages that the architecture guide leaves out and paths in it that do not exist."""
    words = set(_QUOTED.findall((root / GUIDE).read_text(encoding="utf-8")))
    found = []
    # Single wrappers and environments, and packages within a package, may go unnamed.
    patterns = [*PACKAGES, "utils/*", "agents/*"]
    inits = [path for pattern in patterns for path in root.glob(f"{pattern}/__init__.py")]
    folders = sorted(path.parent.relative_to(root) for path in inits)
    found += [f"{GUIDE}: no `{name}/`" for name in folders if f"{name}/" not in words]
    for word in sorted(words):
        is_path = word.partition("/")[0] in PACKAGES and "/" in word and "<" not in word
        if is_path and not (root / word).exists():
            found.append(f"{GUIDE}: `{word}` does not exist")
    return found
