"""What acts and learns: networks, distribution, memory and action masks of a policy as one."""

from utils.policies.actor_critic import ActorCritic, PolicyEvaluation, PolicyStep
from utils.policies.distribution import build_distribution
from utils.policies.policy import Policy
from utils.policies.q_network import QNetwork, QNetworkSettings, build_q_network
from utils.policies.sequences import Sequences, sequences_of
from utils.policies.settings import PolicySettings, policy_settings_from_config

__all__ = [
    "ActorCritic",
    "Policy",
    "PolicyEvaluation",
    "PolicySettings",
    "PolicyStep",
    "QNetwork",
    "QNetworkSettings",
    "Sequences",
    "build_distribution",
    "build_q_network",
    "policy_settings_from_config",
    "sequences_of",
]
