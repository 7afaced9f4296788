"""Names of repositories on the Hub, and of the files that this program puts there."""

from __future__ import annotations

import re

LIBRARY = "gymnasium-solver"
"""What a card names as the program that reads the repository."""

CARD = "README.md"
CONFIG = "config.json"
WEIGHTS = "model.safetensors"
ONNX = "model.onnx"
RESULTS = "results.json"
VIDEO = "replay.mp4"

PUBLISHED_NAMES = (CARD, CONFIG, WEIGHTS, ONNX, RESULTS, VIDEO)
"""All that is ever published; everything else in a repository belongs to its owner."""

_LONGEST = 96


def check_repo_id(repo_id: str, *, option: str) -> list[str]:
    """Say what is wrong with the name of a repository, one line for a problem.

    Args:
        repo_id: What should be `<user or organisation>/<name>`.
        option: Where it was written.
    """
    parts = repo_id.split("/")
    is_fine = len(parts) == 2 and all(
        re.fullmatch(r"[A-Za-z0-9_](?:[\w.-]*[A-Za-z0-9_])?", part, re.ASCII)
        and "--" not in part
        and ".." not in part
        and not part.endswith(".git")
        for part in parts
    )
    if not is_fine:
        return [f"{option} {repo_id}: must be <user>/<name> of letters, digits, '-', '_' and '.'"]
    if len(repo_id) > _LONGEST:
        return [f"{option} {repo_id}: longer than {_LONGEST} characters"]
    return []


def default_name(env_id: str, algo_id: str) -> str:
    """Return `<env>-<algo>` as the Hub allows it: `ALE/Pong-v5` becomes `ALE-Pong-v5-ppo`."""
    env = env_id.rpartition(":")[2]
    return re.sub(r"[^A-Za-z0-9_.]+", "-", f"{env}-{algo_id}").strip("-.")[:_LONGEST]
