"""The Hugging Face Hub: every call is tried a few times, every failure told in one line."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from utils.errors import MissingDependencyError, UserError
from utils.publishing.hub_failures import FailedCallError, hub_failures
from utils.publishing.names import CONFIG, LIBRARY, ONNX, PUBLISHED_NAMES, WEIGHTS

_T = TypeVar("_T")

WAITS_SECONDS = (1.0, 2.0, 4.0)
"""Pauses before the second, third and fourth attempt of a call."""
PATIENCE_SECONDS = 15.0
"""After so long no further attempt begins; the client has some of its own within a call."""
TIMEOUT_SECONDS = 60.0
"""Silence of the server after which an attempt has failed."""
_MADE_BY_THE_HUB = ".gitattributes"


class HubError(UserError):
    """The Hub cannot be reached, or does not do what it was asked for."""


@dataclass(frozen=True, slots=True)
class Upload:
    """What came of an upload."""

    url: str
    """Of the repository."""
    commit: str
    """The commit that holds the files."""
    is_new: bool
    """Whether the commit was made now; the repository held the same before otherwise."""


class Hub:
    """A connection to the Hub that `HF_ENDPOINT` names, huggingface.co otherwise."""

    def __init__(self) -> None:
        """Load the client.

        Raises:
            MissingDependencyError: huggingface_hub is not installed.
        """
        # The older protocol is enough for files of this size, and it says when it fails: the
        # client repeats the newer one's first request without end and without a word.
        os.environ.setdefault("HF_HUB_DISABLE_XET", "1")
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        try:
            import huggingface_hub
        except ImportError as error:
            raise MissingDependencyError(
                "huggingface_hub", extra="hub", needed_for="the Hugging Face Hub"
            ) from error
        huggingface_hub.logging.set_verbosity_error()
        self._client = huggingface_hub
        self._api = huggingface_hub.HfApi()
        self.endpoint: str = self._api.endpoint

    @property
    def token(self) -> str | None:
        """What opens the Hub for this person; None without a login."""
        return self._client.get_token()

    def log_in(self) -> str:
        """Return the name of the person whose token it is.

        Raises:
            HubError: There is no token, or the Hub does not accept it or does not answer.
        """
        if self.token is None:
            raise HubError(
                "there is no token for the Hugging Face Hub: run `hf auth login`, or set HF_TOKEN "
                "to a token that may write (--dry-run needs none)"
            )
        answer = self._try("log in to", self._api.whoami)
        return str(answer["name"])

    def upload(
        self, repo_id: str, files: Mapping[str, Path], *, is_private: bool, summary: str
    ) -> Upload:
        """Put files into a repository as one commit; all of them arrive or none.

        The repository is made where there is none, and removed again where the files do not arrive.
        Files of this program that a former upload left and that are not among these are deleted in
        the same commit; all others stay. Where nothing has changed no commit is made.

        Args:
            repo_id: `<user or organisation>/<name>`.
            files: By name in the repository, see `PUBLISHED_NAMES`.
            is_private: Make a private repository; one that exists and is public is refused.
            summary: First line of the commit.

        Raises:
            HubError: What was asked for is not done.
        """
        assert files.keys() <= set(PUBLISHED_NAMES), files.keys()
        info = self._try("look for", self._find, repo_id)
        if info is not None:
            self._check_repository(repo_id, info, is_private=is_private)
        is_made = info is None
        if is_made:
            self._try(
                "make", self._api.create_repo, repo_id, private=is_private or None, exist_ok=True
            )
        try:
            return self._try("upload to", self._commit, repo_id, files, summary)
        except BaseException as error:
            if is_made:
                left = self._remove_unused(repo_id)
                if isinstance(error, HubError):
                    raise HubError(f"{error}; {left}") from error
            raise

    def download(self, repo_id: str, name: str, *, revision: str) -> Path:
        """Return a file of a repository, from this machine's cache where it is there already.

        Args:
            repo_id: `<user or organisation>/<name>`.
            name: Of the file.
            revision: Branch, tag or commit.

        Raises:
            HubError: It cannot be had.
        """
        path = self._try(
            "read", self._client.hf_hub_download, repo_id, name, revision=revision, file=name
        )
        return Path(path)

    def _find(self, repo_id: str) -> Any:
        """Return what the Hub knows of a repository; None where there is none."""
        from huggingface_hub.errors import RepositoryNotFoundError

        try:
            return self._api.model_info(repo_id)
        except RepositoryNotFoundError:
            return None

    def _check_repository(self, repo_id: str, info: Any, *, is_private: bool) -> None:
        """Refuse a repository that others can see, if none may, and one of another program."""
        address = f"{self.endpoint}/{repo_id}"
        if is_private and not info.private:
            raise HubError(
                f"{address} is public: make it private there, or leave --private out; nothing was "
                "published"
            )
        names = {sibling.rfilename for sibling in info.siblings or ()}
        held = sorted(names & {CONFIG, WEIGHTS, ONNX})
        if held and info.library_name != LIBRARY:
            raise HubError(
                f"{address} holds the {held[0]} of another program: choose another --repo-id; "
                "nothing was published"
            )

    def _commit(self, repo_id: str, files: Mapping[str, Path], summary: str) -> Upload:
        info = self._api.model_info(repo_id)
        there = {sibling.rfilename for sibling in info.siblings or ()}
        operations = [
            *(self._client.CommitOperationAdd(name, path) for name, path in files.items()),
            *(
                self._client.CommitOperationDelete(name)
                for name in PUBLISHED_NAMES
                if name in there and name not in files
            ),
        ]
        made = self._api.create_commit(
            repo_id, operations, commit_message=summary, parent_commit=info.sha
        )
        return Upload(f"{self.endpoint}/{repo_id}", made.oid, made.oid != info.sha)

    def _remove_unused(self, repo_id: str) -> str:
        """Remove a repository that was made for an upload, unless something arrived in it."""
        address = f"{self.endpoint}/{repo_id}"
        try:
            with hub_failures():
                info = self._api.model_info(repo_id)
                there = {sibling.rfilename for sibling in info.siblings or ()}
                if there - {_MADE_BY_THE_HUB}:
                    return f"{address} holds files all the same"
                self._api.delete_repo(repo_id)
        except FailedCallError:
            return f"{address} was made and may be left there, empty; publishing again fills it"
        return "nothing is left of it there"

    def _try(
        self, verb: str, call: Callable[..., _T], *arguments: Any, file: str = "", **options: Any
    ) -> _T:
        """Call until it succeeds, a few times while it may; the first argument is a repository."""
        target = f"{self.endpoint}/{arguments[0]}" if arguments else self.endpoint
        what = f"cannot {verb} {target}" + (f" ({file})" if file else "")
        started = time.monotonic()
        for attempt, wait in enumerate((*WAITS_SECONDS, None), start=1):
            # The client begins without any limit, and begins anew after a lost connection.
            self._client.get_session().timeout = TIMEOUT_SECONDS
            try:
                with hub_failures():
                    return call(*arguments, **options)
            except FailedCallError as failure:
                is_late = time.monotonic() - started > PATIENCE_SECONDS
                if failure.is_passing and wait is not None and not is_late:
                    time.sleep(wait)
                    continue
                tries = f" ({attempt} attempts)" if attempt > 1 else ""
                raise HubError(f"{what}: {failure}{tries}") from failure
        raise AssertionError("the last attempt returns or raises")
