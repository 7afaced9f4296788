"""Fetches a published policy: a config and weights, read as data and never run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from utils.config import Config, load_config_json
from utils.errors import UserError
from utils.publishing.hub import Hub
from utils.publishing.names import CONFIG, WEIGHTS, check_repo_id

_MAIN = "main"


@dataclass(frozen=True, slots=True)
class PublishedPolicy:
    """A policy of the Hub as files on this machine."""

    repo_id: str
    commit: str
    """The commit that the files belong to."""
    config: Config
    weights: Path
    """A checkpoint for `load_policy`."""

    @property
    def id(self) -> str:
        """Repository and commit, which name the policy for good."""
        return f"{self.repo_id}@{self.commit[:7]}"

    @property
    def name(self) -> str:
        """The repository's name without its owner."""
        return self.repo_id.rpartition("/")[2]

    @property
    def videos_dir(self) -> Path:
        """Where films of it go: the cache of the Hub's client is no place for them."""
        return Path("videos")


def fetch_policy(reference: str) -> PublishedPolicy:
    """Fetch a policy that `run_publish.py` published.

    Two files are fetched, both of one commit, into the cache of the Hub's client; without a network
    the cache alone answers. Nothing of the repository is executed.

    Args:
        reference: `<user>/<name>`, with `@` and a branch, tag or commit after it or without.

    Raises:
        HubError: The repository or a file of it cannot be had.
        UserError: The reference is no name, or the repository holds no policy of this program.
    """
    repo_id, _, revision = reference.partition("@")
    if problems := check_repo_id(repo_id, option="--repo"):
        raise UserError("\n".join(problems))
    hub = Hub()
    config_path = hub.download(repo_id, CONFIG, revision=revision or _MAIN)
    commit = config_path.parent.name
    weights = hub.download(repo_id, WEIGHTS, revision=commit)
    return PublishedPolicy(repo_id, commit, load_config_json(config_path), weights)
