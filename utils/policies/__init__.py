"""What acts and learns: networks, distribution, memory and action masks of a policy as one."""

from utils.policies.actor_critic import ActorCritic, PolicyEvaluation, PolicyStep
from utils.policies.distribution import build_distribution
from utils.policies.sequences import Sequences, sequences_of
from utils.policies.settings import PolicySettings, policy_settings_from_config

__all__ = [
    "ActorCritic",
    "PolicyEvaluation",
    "PolicySettings",
    "PolicyStep",
    "Sequences",
    "build_distribution",
    "policy_settings_from_config",
    "sequences_of",
]
