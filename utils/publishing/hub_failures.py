"""What the Hub's client raises, as one line for a person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

# 412: somebody else has made a commit meanwhile; the next attempt begins with what is there now.
_PASSING_STATUS = frozenset({408, 412, 429, 500, 502, 503, 504})


class FailedCallError(Exception):
    """A call of the client that failed; the text says why, without the address."""

    def __init__(self, text: str, *, is_passing: bool = False) -> None:
        """Hold the text, and whether another attempt may succeed."""
        super().__init__(text)
        self.is_passing = is_passing


@contextmanager
def hub_failures() -> Iterator[None]:
    """Turn what the client raises in the body into a `FailedCallError`."""
    import httpx2

    try:
        yield
    # Whatever the client raises is one of these: its own errors are kinds of OSError, refused
    # cards and answers that are no JSON of ValueError, failed parts of an upload of RuntimeError.
    except (OSError, ValueError, RuntimeError, httpx2.HTTPError) as error:
        raise _explain(error) from error


def _explain(error: BaseException) -> FailedCallError:
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    chain = list(_chain(error))
    for cause in chain:
        if isinstance(cause, OfflineModeIsEnabled):
            return FailedCallError("HF_HUB_OFFLINE is set")
        if isinstance(cause, HfHubHTTPError):
            return _explain_status(cause)
        if isinstance(cause, httpx2.TransportError):
            reason = _first_line(cause) or type(cause).__name__
            return FailedCallError(f"no answer: {reason}", is_passing=True)
    return FailedCallError(_first_line(error) or type(error).__name__)


def _explain_status(error: BaseException) -> FailedCallError:
    from huggingface_hub.errors import (
        GatedRepoError,
        RemoteEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    status = error.response.status_code
    told = " ".join((error.server_message or "").split())
    match error:
        case GatedRepoError():
            return FailedCallError("its owner has not let you in: ask for access on its page")
        case RepositoryNotFoundError():
            return FailedCallError(
                "there is no such repository, or it is private and this login may not see it"
            )
        case RevisionNotFoundError():
            return FailedCallError("there is no such revision")
        case RemoteEntryNotFoundError():
            return FailedCallError("it has no such file")
    if status == 401:
        return FailedCallError(
            "the token is not accepted (401), it is wrong or has expired: run `hf auth login`, or "
            "set HF_TOKEN to another"
        )
    if status == 403:
        return FailedCallError(
            "the token has no right to do that (403): use one that may write there, or another "
            f"--repo-id{f' ({told})' if told else ''}"
        )
    reason = f"the Hub answered {status}" + (f": {told}" if told else "")
    return FailedCallError(reason, is_passing=status in _PASSING_STATUS)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Follow an error to what it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), "")
