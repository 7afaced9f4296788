"""From spaces and settings to a policy module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym
import torch
from torch import Tensor, nn

from utils.distributions import (
    ActionDistribution,
    Bernoulli,
    Categorical,
    DiagonalNormal,
    MultiCategorical,
    Parameters,
)
from utils.errors import ConfigError
from utils.models import (
    NormalHead,
    ObservationEncoder,
    SharedTrunk,
    TwinTrunks,
    has_analytic_backward,
    linear_head,
    twin_forward,
    twin_network,
)
from utils.normalization import ObservationNormalizer, build_observation_normalizer
from utils.spaces import is_picture

Observation = Tensor | dict[str, Tensor]

# The first action head has nearly equal probabilities everywhere (Andrychowicz et al. 2021,
# "What Matters In On-Policy RL", section 3.2); the critic starts at the scale of its features.
ACTOR_HEAD_GAIN = 0.01
CRITIC_HEAD_GAIN = 1.0


class PolicyStep(NamedTuple):
    """What a policy says about a batch of observations while it acts; B environments."""

    action: Tensor
    """(B, ...) as drawn: int64 counting from 0, or unclipped float32."""
    logprob: Tensor
    """(B,) log-probability of `action`."""
    value: Tensor
    """(B,) V(observation), zeros without a critic."""


class PolicyEvaluation(NamedTuple):
    """What a policy says about stored actions while it learns."""

    logprob: Tensor
    """(B,)"""
    entropy: Tensor
    """(B,) nats."""
    value: Tensor
    """(B,) V(observation), zeros without a critic."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicySettings:
    """How a policy is built; the values mean what the config keys of the same names say."""

    hidden_dims: Sequence[int]
    activation: str
    orthogonal_init: bool
    share_trunk: bool
    log_std_init: float
    feature_dim: int
    normalize_obs: str
    clip_obs: float
    has_critic: bool
    written: frozenset[str] = frozenset()
    """Names of the settings that somebody wrote: one of them that does nothing is refused."""


class ActorCritic(nn.Module):
    """Normaliser, encoder, trunks and heads of a policy and, where there is one, its critic.

    Every method reads *normalised* observations, the ones that the buffer stores; `normalize`
    makes them from raw ones. Parameters are grouped by name: those under `actor_head` and
    `critic_head` are the heads, all others the trunk.
    """

    def __init__(
        self,
        observation_space: gym.Space,
        distribution: ActionDistribution,
        n_parameters: int,
        settings: PolicySettings,
    ) -> None:
        """Build the networks; weights are drawn from torch's global generator."""
        super().__init__()
        self.distribution = distribution
        self.has_critic = settings.has_critic
        self.normalizer: ObservationNormalizer = build_observation_normalizer(
            observation_space, mode=settings.normalize_obs, limit=settings.clip_obs
        )
        self.encoder = ObservationEncoder(
            observation_space,
            feature_dim=settings.feature_dim,
            orthogonal_init=settings.orthogonal_init,
        )
        width = (list(settings.hidden_dims) or [self.encoder.output_dim])[-1]
        is_twin = settings.has_critic and not settings.share_trunk
        self.trunk: SharedTrunk | TwinTrunks = (TwinTrunks if is_twin else SharedTrunk)(
            self.encoder.output_dim,
            settings.hidden_dims,
            activation=settings.activation,
            orthogonal_init=settings.orthogonal_init,
        )
        gain = ACTOR_HEAD_GAIN if settings.orthogonal_init else None
        self.actor_head: nn.Module = (
            NormalHead(width, n_parameters, gain=gain, log_std_init=settings.log_std_init)
            if isinstance(distribution, DiagonalNormal)
            else linear_head(width, n_parameters, gain=gain)
        )
        self.critic_head: nn.Module | None = None
        if settings.has_critic:
            gain = CRITIC_HEAD_GAIN if settings.orthogonal_init else None
            self.critic_head = linear_head(width, 1, gain=gain)
        self.has_analytic_backward = has_analytic_backward(self.trunk)

    def normalize(self, observation: Observation) -> Observation:
        """Return raw observations (B, ...) as the other methods read them."""
        return observation if self.normalizer.is_identity else self.normalizer(observation)

    def forward(self, observation: Observation) -> tuple[Parameters, Tensor]:
        """Return the parameters of the action distribution and V(observation), (B,)."""
        features = self.encoder(observation)
        if self.has_analytic_backward:
            return self._evaluate_twin(features)
        actor_features, critic_features = self.trunk(features)
        parameters = self.actor_head(actor_features)
        if not isinstance(parameters, tuple):
            parameters = (parameters,)
        if self.critic_head is None:
            return parameters, parameters[0].new_zeros(parameters[0].shape[0])
        return parameters, self.critic_head(critic_features).squeeze(-1)

    def _evaluate_twin(self, features: Tensor) -> tuple[Parameters, Tensor]:
        """Do the same in one operation, for separate trunks with a plain activation."""
        head = self.actor_head
        linear = head.mean if isinstance(head, NormalHead) else head
        if torch.is_grad_enabled():
            output, value = twin_network(features, self.trunk, linear, self.critic_head)
        else:
            output, value, _ = twin_forward(features, self.trunk, linear, self.critic_head)
        parameters = (output, head.log_std) if isinstance(head, NormalHead) else (output,)
        return parameters, value.squeeze(-1)

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
    ) -> PolicyStep:
        """Choose an action for each row.

        Args:
            observation: (B, ...) normalised.
            generator: Source of randomness; torch's global one if None.
            deterministic: Take the mode rather than a sample.
        """
        parameters, value = self(observation)
        if deterministic:
            action = self.distribution.mode(parameters)
        else:
            action = self.distribution.sample(parameters, generator)
        return PolicyStep(action, self.distribution.logprob(parameters, action), value)

    def evaluate_actions(self, observation: Observation, action: Tensor) -> PolicyEvaluation:
        """Return log-probability and entropy of stored actions (B, ...) and the values."""
        parameters, value = self(observation)
        logprob, entropy = self.distribution.logprob_and_entropy(parameters, action)
        return PolicyEvaluation(logprob, entropy, value)

    def action_std(self) -> float | None:
        """Return the mean standard deviation of continuous actions; None for discrete ones."""
        if not isinstance(self.actor_head, NormalHead):
            return None
        return float(self.actor_head.log_std.detach().exp().mean())

    def predict_value(self, observation: Observation) -> Tensor:
        """Return V(observation), (B,); zeros without a critic."""
        if self.critic_head is None:
            return self(observation)[1]
        features = self.trunk.critic_features(self.encoder(observation))
        return self.critic_head(features).squeeze(-1)


def build_policy(
    observation_space: gym.Space, action_space: gym.Space, settings: PolicySettings
) -> ActorCritic:
    """Build the policy for a pair of single spaces.

    Raises:
        ConfigError: A space that no policy can read or act in, or a setting that somebody wrote
            and that does nothing for these spaces.
    """
    distribution, n_parameters = build_distribution(action_space)
    if faults := _ineffective_settings(settings, observation_space, action_space):
        raise ConfigError("\n".join(faults))
    return ActorCritic(observation_space, distribution, n_parameters, settings)


def _ineffective_settings(
    settings: PolicySettings, observation_space: gym.Space, action_space: gym.Space
) -> list[str]:
    """Say of each setting that only some spaces give a meaning why it has no effect here."""
    faults = []
    if "log_std_init" in settings.written and not isinstance(action_space, gym.spaces.Box):
        faults.append(
            f"'policy_kwargs.log_std_init' has no effect on the action space {action_space}: only "
            "actions of a Box have a standard deviation"
        )
    is_dict = isinstance(observation_space, gym.spaces.Dict)
    parts = observation_space.spaces.values() if is_dict else [observation_space]
    if "feature_dim" in settings.written and not any(map(is_picture, parts)):
        faults.append(
            f"'policy_kwargs.feature_dim' has no effect on the observation space "
            f"{' '.join(str(observation_space).split())}: it holds no picture for convolutions"
        )
    return faults


def build_distribution(action_space: gym.Space) -> tuple[ActionDistribution, int]:
    """Return the distribution over an action space and the number of outputs that it needs.

    For a Box that is the number of means; the standard deviations are parameters of their own.
    """
    match action_space:
        case gym.spaces.Discrete():
            n = int(action_space.n)
            return Categorical(n), n
        case gym.spaces.MultiDiscrete() if action_space.nvec.ndim == 1:
            sizes = tuple(int(n) for n in action_space.nvec)
            return MultiCategorical(sizes), sum(sizes)
        case gym.spaces.MultiBinary() if len(action_space.shape) == 1:
            n = int(action_space.shape[0])
            return Bernoulli(n), n
        case gym.spaces.Box():
            distribution = DiagonalNormal(tuple(action_space.shape))
            n = 1
            for size in action_space.shape:
                n *= size
            return distribution, n
    raise ConfigError(
        f"action space {action_space} is not supported: use Discrete, MultiDiscrete, MultiBinary "
        "(one dimension each) or Box"
    )


def policy_settings_from_config(config: Any, *, has_critic: bool) -> PolicySettings:
    """Pick the settings of a policy out of a config."""
    kwargs = config.policy_kwargs
    return PolicySettings(
        hidden_dims=tuple(kwargs.hidden_dims),
        activation=kwargs.activation,
        orthogonal_init=kwargs.orthogonal_init,
        share_trunk=kwargs.share_trunk,
        log_std_init=kwargs.log_std_init,
        feature_dim=kwargs.feature_dim,
        normalize_obs=config.normalize_obs,
        clip_obs=config.clip_obs,
        has_critic=has_critic,
        written=frozenset(kwargs.model_fields_set),
    )
