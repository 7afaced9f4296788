"""Where a publication goes: who is logged in, and the repository."""

from __future__ import annotations

from dataclasses import dataclass

from utils.publishing.hub import Hub
from utils.publishing.names import default_name
from utils.publishing.plan import PublishPlan

_NOBODY = "your-name"


@dataclass(frozen=True, slots=True)
class Target:
    """A repository on the Hub, or its name alone for a dry run."""

    repo_id: str
    hub: Hub | None
    """A connection whose token was accepted; None for a dry run."""


def find_target(plan: PublishPlan) -> Target:
    """Log in, unless nothing will be sent, and name the repository.

    This comes before anything heavy is imported: a missing or wrong token costs no time.

    Raises:
        HubError: There is no token, or the Hub does not accept it or does not answer.
    """
    hub = None if plan.args.is_dry_run else Hub()
    user = _NOBODY if hub is None else hub.log_in()
    repo_id = plan.args.repo_id
    if repo_id is None:
        repo_id = f"{user}/{default_name(plan.config.env_id, plan.config.algo_id)}"
    return Target(repo_id, hub)
