"""Shares a trained policy through the Hugging Face Hub, and fetches what others shared.

The command line and the plan import nothing heavy and are named here; everything else is imported
by its module once torch or the Hub is needed.
"""

from utils.publishing.cli import PublishArgs, parse_publish_args
from utils.publishing.download import PublishedPolicy, fetch_policy
from utils.publishing.plan import PublishPlan, plan_publication
from utils.publishing.target import Target, find_target

__all__ = [
    "PublishArgs",
    "PublishPlan",
    "PublishedPolicy",
    "Target",
    "fetch_policy",
    "find_target",
    "parse_publish_args",
    "plan_publication",
]
