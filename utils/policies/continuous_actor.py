"""Actors of bounded continuous actions, for agents whose critics value actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import gymnasium as gym
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.distributions.squashed_normal import squash
from utils.errors import ConfigError
from utils.models import ObservationEncoder, build_mlp
from utils.models.action_scale import ActionScale
from utils.models.critic_ensemble import CriticEnsemble, has_picture
from utils.normalization import ObservationNormalizer, build_observation_normalizer
from utils.policies.actor_critic import Observation, PolicyStep

LOG_STD_RANGE = (-20.0, 2.0)
"""Bounds of the logarithm of a standard deviation: Haarnoja et al.'s own implementation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ContinuousActorSettings:
    """How an actor is built; the values mean what the config keys of the same names say."""

    algorithm: str
    hidden_dims: Sequence[int]
    activation: str
    orthogonal_init: bool
    feature_dim: int
    normalize_obs: str = "none"
    clip_obs: float = 10.0
    written: frozenset[str] = frozenset()
    """Names of the settings that somebody wrote: one of them that does nothing is refused."""


class ContinuousActor(nn.Module):
    """Normaliser, encoder, hidden layers and output of an actor; see `utils.policies.Policy`.

    Its own actions lie in [-1, 1]; `act`, `explain` and `export_outputs` speak the units of the
    environment. All methods but `normalize` read *normalised* observations.
    """

    has_memory = False
    has_masks = False
    has_critic = False
    memory = None

    def __init__(
        self,
        observation_space: gym.Space,
        action_space: gym.spaces.Box,
        settings: ContinuousActorSettings,
        *,
        outputs_per_dimension: int,
    ) -> None:
        """Build the layers; weights are drawn from torch's global generator.

        Raises:
            ConfigError: Actions without bounds, or a setting that does nothing for these spaces.
        """
        super().__init__()
        if "feature_dim" in settings.written and not has_picture(observation_space):
            raise ConfigError(
                f"'policy_kwargs.feature_dim' has no effect on the observation space "
                f"{' '.join(str(observation_space).split())}: it holds no picture for convolutions"
            )
        self.settings = settings
        self.scale = ActionScale(action_space, algorithm=settings.algorithm)
        self.normalizer: ObservationNormalizer = build_observation_normalizer(
            observation_space, mode=settings.normalize_obs, limit=settings.clip_obs
        )
        self.encoder = ObservationEncoder(
            observation_space,
            feature_dim=settings.feature_dim,
            orthogonal_init=settings.orthogonal_init,
        )
        self.trunk = build_mlp(
            self.encoder.output_dim,
            settings.hidden_dims,
            activation=settings.activation,
            orthogonal_init=settings.orthogonal_init,
        )
        self._critics: tuple[CriticEnsemble, ...] = ()  # in a tuple they are no part of the actor
        width = (list(settings.hidden_dims) or [self.encoder.output_dim])[-1]
        self.head = nn.Linear(width, outputs_per_dimension * self.scale.size)

    def initial_state(self, n: int) -> None:
        """Return the memory of n environments: there is none."""
        del n

    def normalize(self, observation: Observation) -> Observation:
        """Return raw observations (B, ...) as the other methods read them."""
        return observation if self.normalizer.is_identity else self.normalizer(observation)

    def take_critic(self, critic: CriticEnsemble) -> None:
        """Let `explain` tell what the critics of the training say of the greedy action."""
        self._critics = (critic,)

    def judge(self, observation: Observation, action: Tensor) -> dict[str, Tensor]:
        """Return "value" (B,), the lowest critic's; nothing where no critic is known.

        Args:
            observation: (B, ...) normalised.
            action: (B, A) in [-1, 1].
        """
        if not self._critics:
            return {}
        (critic,) = self._critics
        return {"value": critic(observation, action).min(dim=0).values}

    def output(self, observation: Observation) -> Tensor:
        """Return what the last layer says, (B, outputs)."""
        return self.head(self.trunk(self.encoder(observation)))


class SquashedNormalActor(ContinuousActor):
    """Draws from a normal distribution that is pressed into [-1, 1]: the actor of SAC."""

    def __init__(
        self,
        observation_space: gym.Space,
        action_space: gym.spaces.Box,
        settings: ContinuousActorSettings,
    ) -> None:
        """Build the layers; see `ContinuousActor`."""
        super().__init__(observation_space, action_space, settings, outputs_per_dimension=2)

    def forward(self, observation: Observation) -> tuple[Tensor, Tensor]:
        """Return mean and logarithm of the deviation before the tangent, (B, A) each."""
        mean, log_std = self.output(observation).chunk(2, dim=1)
        return mean, F.hardtanh(log_std, *LOG_STD_RANGE)  # a clamp with a smaller backward pass

    def sample(self, observation: Observation, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Return an action (B, A) in [-1, 1] and its log-density (B,), with gradients.

        Args:
            observation: (B, ...)
            noise: (B, A) of a standard normal distribution.
        """
        return squash(*self(observation), noise)

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> PolicyStep:
        """Choose an action for each row; the log-density is that of the action in [-1, 1].

        Args:
            observation: (B, ...)
            generator: Source of randomness; torch's global one if None.
            deterministic: Take the tangent of the mean rather than a sample.
            mask: None: continuous actions cannot be forbidden.
            state: None: there is no memory.
        """
        assert mask is None, "continuous actions have no mask"
        assert state is None, "there is no memory"
        mean, log_std = self(observation)
        noise = torch.zeros_like(mean)
        if not deterministic:
            noise.normal_(generator=generator)
        action, logprob = squash(mean, log_std, noise)
        return PolicyStep(self.scale.to_env(action), logprob, torch.zeros_like(logprob))

    def explain(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return "action_mean" and "action_std" in the units of the environment, (B, *shape).

        "value" too where the critics are known, see `take_critic`.

        The mean is the greedy action, and the deviation is that of the tangent's slope there:
        ``std (1 - tanh(mean)^2)``, exact as far as the slope does not change.
        """
        del mask, state
        mean, log_std = self(observation)
        greedy = mean.tanh()
        std = (log_std.exp() * (1.0 - greedy.square())).reshape(-1, *self.scale.shape)
        std = std * self.scale.half_span
        thoughts = {"action_mean": self.scale.to_env(greedy), "action_std": std}
        return thoughts | self.judge(observation, greedy)

    def export_outputs(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return all that an exported policy tells: the greedy "action", and see `explain`."""
        outputs = self.explain(observation, mask=mask, state=state)
        return {"action": outputs["action_mean"], **outputs}

    def action_std(self) -> float | None:
        """Return None: the deviation depends on the observation."""
        return None


class DeterministicActor(ContinuousActor):
    """One action for each observation, the tangent of the last layer: the actor of TD3."""

    def __init__(
        self,
        observation_space: gym.Space,
        action_space: gym.spaces.Box,
        settings: ContinuousActorSettings,
    ) -> None:
        """Build the layers; see `ContinuousActor`."""
        super().__init__(observation_space, action_space, settings, outputs_per_dimension=1)

    def forward(self, observation: Observation) -> Tensor:
        """Return the action in [-1, 1], (B, A)."""
        return self.output(observation).tanh()

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> PolicyStep:
        """Choose the action for each row: there is one, and nothing is drawn."""
        del generator, deterministic
        assert mask is None, "continuous actions have no mask"
        assert state is None, "there is no memory"
        action = self(observation)
        zero = action.new_zeros(action.shape[0])
        return PolicyStep(self.scale.to_env(action), zero, zero)

    def explain(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return "action_mean", the action in the units of the environment, (B, *shape).

        "value" too where the critics are known, see `take_critic`.
        """
        del mask, state
        action = self(observation)
        return {"action_mean": self.scale.to_env(action)} | self.judge(observation, action)

    def export_outputs(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return all that an exported policy tells: the "action"."""
        outputs = self.explain(observation, mask=mask, state=state)
        return {"action": outputs["action_mean"]}

    def action_std(self) -> float | None:
        """Return None: nothing is drawn."""
        return None


def continuous_actor_settings(config: object, *, algorithm: str) -> ContinuousActorSettings:
    """Pick the settings of an actor out of a config."""
    kwargs = config.policy_kwargs  # type: ignore[attr-defined]
    return ContinuousActorSettings(
        algorithm=algorithm,
        hidden_dims=kwargs.hidden_dims,
        activation=kwargs.activation,
        orthogonal_init=kwargs.orthogonal_init,
        feature_dim=kwargs.feature_dim,
        normalize_obs=config.normalize_obs,  # type: ignore[attr-defined]
        clip_obs=config.clip_obs,  # type: ignore[attr-defined]
        written=frozenset(kwargs.model_fields_set),
    )
