"""A network that values every action, and the policy that goes by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import gymnasium as gym
import torch
from torch import Tensor, nn

from utils.errors import ConfigError
from utils.models import ObservationEncoder, build_mlp, linear_head, orthogonal_
from utils.models.mlp import ACTIVATIONS
from utils.models.noisy import NoisyLinear, draw_noise
from utils.normalization import ObservationNormalizer, build_observation_normalizer
from utils.policies.actor_critic import Observation, PolicyStep
from utils.spaces import is_picture


@dataclass(frozen=True, kw_only=True, slots=True)
class QNetworkSettings:
    """How a Q-network is built; the values mean what the config keys of the same names say."""

    hidden_dims: Sequence[int]
    activation: str
    orthogonal_init: bool
    feature_dim: int
    normalize_obs: str = "none"
    clip_obs: float = 10.0
    action_masks: bool = False
    dueling: bool = False
    noisy_std: float | None = None
    """Scale of the noise in the weights of the last two layers; None for plain layers."""
    atoms: tuple[float, float, int] | None = None
    """Smallest and largest return and number of atoms of a distribution; None for means."""
    eval_epsilon: float = 0.0


class QNetwork(nn.Module):
    """Normaliser, encoder, shared layers and one or two streams of a Q-network.

    The layers are those of `hidden_dims`, before them one of `feature_dim` where there are
    pictures. The last one and the output belong to a stream: there is one, or with `dueling` one
    for the value of the state and one for the advantages of the actions (Wang et al. 2016, "Dueling
    network architectures", equation 9). Noise is in the layers of the streams.

    It has the methods of a policy (`normalize`, `act`, `explain`), so whatever plays, judges or
    films a policy takes it. All but `normalize` read *normalised* observations.
    """

    has_memory = False
    has_critic = False
    memory = None

    def __init__(
        self, observation_space: gym.Space, n_actions: int, settings: QNetworkSettings
    ) -> None:
        """Build the layers; weights are drawn from torch's global generator."""
        super().__init__()
        self.settings = settings
        self.n_actions = n_actions
        self.has_masks = settings.action_masks
        self.normalizer: ObservationNormalizer = build_observation_normalizer(
            observation_space, mode=settings.normalize_obs, limit=settings.clip_obs
        )
        self.encoder = ObservationEncoder(
            observation_space, feature_dim=None, orthogonal_init=settings.orthogonal_init
        )
        widths = list(settings.hidden_dims)
        if has_picture(observation_space):
            widths.insert(0, settings.feature_dim)
        *shared, last = [*widths[:-1], widths[-1] if widths else None]
        self.trunk = build_mlp(
            self.encoder.output_dim,
            shared,
            activation=settings.activation,
            orthogonal_init=settings.orthogonal_init,
        )
        width = (shared or [self.encoder.output_dim])[-1]
        n_atoms = 1
        if settings.atoms is not None:
            lowest, highest, n_atoms = settings.atoms
            self.register_buffer(
                "support", torch.linspace(lowest, highest, n_atoms), persistent=False
            )
        self.n_atoms = n_atoms
        self.advantage = Stream(width, last, n_actions * n_atoms, settings)
        self.value = Stream(width, last, n_atoms, settings) if settings.dueling else None

    @property
    def is_noisy(self) -> bool:
        """Whether it explores by noise in its weights."""
        return self.settings.noisy_std is not None

    @property
    def is_distributional(self) -> bool:
        """Whether it learns distributions of returns."""
        return self.settings.atoms is not None

    def initial_state(self, n: int) -> None:
        """Return the memory of n environments: there is none."""
        del n

    def normalize(self, observation: Observation) -> Observation:
        """Return raw observations (B, ...) as the other methods read them."""
        return observation if self.normalizer.is_identity else self.normalizer(observation)

    def draw_noise(self, generator: torch.Generator | None) -> None:
        """Draw the noise of the weights anew; there is some."""
        draw_noise(self.noisy_layers(), generator)

    def noisy_layers(self) -> list[NoisyLinear]:
        """Return the layers with noise in their weights."""
        return [module for module in self.modules() if isinstance(module, NoisyLinear)]

    def forward(
        self, observation: Observation, *, is_noisy: bool = False, is_prepared: bool = False
    ) -> Tensor:
        """Return the outputs for every action, (B, A, K): logits of K atoms, or K = 1 value.

        Args:
            observation: (B, ...)
            is_noisy: With the noise as drawn rather than by the means of the weights.
            is_prepared: The observation comes from `ObservationEncoder.prepare`.
        """
        hidden = self.trunk(self.encoder(observation, is_prepared=is_prepared))
        output = self.advantage(hidden, is_noisy=is_noisy).unflatten(1, (self.n_actions, -1))
        if self.value is None:
            return output
        value = self.value(hidden, is_noisy=is_noisy).unsqueeze(1)
        return value + output - output.mean(dim=1, keepdim=True)

    def q_of(self, output: Tensor) -> Tensor:
        """Return the values (B, A) that outputs (B, A, K) of `forward` stand for."""
        if not self.is_distributional:
            return output.squeeze(2)
        return (output.softmax(dim=2) * self.support).sum(dim=2)

    def q_values(self, observation: Observation, *, is_noisy: bool = False) -> Tensor:
        """Return the value of every action, (B, A); see `forward`."""
        return self.q_of(self(observation, is_noisy=is_noisy))

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> PolicyStep:
        """Choose an action for each row: the best, or a random one with probability `eval_epsilon`.

        Args:
            observation: (B, ...) normalised.
            generator: Source of randomness; torch's global one if None.
            deterministic: Always the best.
            mask: (B, A) bool, which actions are allowed; with action masks only.
            state: None: there is no memory.
        """
        assert state is None, "a Q-network has no memory"
        q = self.q_values(observation)
        allowed = q if mask is None else q.masked_fill(~mask, -torch.inf)
        value, best = allowed.max(dim=1)
        epsilon = 0.0 if deterministic else self.settings.eval_epsilon
        if epsilon == 0:
            return PolicyStep(best, torch.zeros_like(value), value)
        weights = torch.ones_like(q) if mask is None else mask.to(q.dtype)
        drawn = torch.multinomial(weights, 1, generator=generator).squeeze(1)
        is_random = torch.rand(len(q), generator=generator, device=q.device) < epsilon
        action = torch.where(is_random, drawn, best)
        share = epsilon / weights.sum(dim=1)
        return PolicyStep(action, (share + (1.0 - epsilon) * (action == best)).log(), value)

    def explain(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return what a choice rests on: "q_values" (B, A) and their best, "value" (B,).

        Args:
            observation: (B, ...) normalised.
            mask: (B, A) bool, which actions are allowed; forbidden ones have value -inf.
            state: None: there is no memory.
        """
        del state
        q = self.q_values(observation)
        if mask is not None:
            q = q.masked_fill(~mask, -torch.inf)
        return {"q_values": q, "value": q.max(dim=1).values}

    def export_outputs(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return all that an exported policy tells: the best "action", and see `explain`."""
        outputs = self.explain(observation, mask=mask, state=state)
        return {"action": outputs["q_values"].argmax(dim=1), **outputs}

    def action_std(self) -> float | None:
        """Return None: actions are choices."""
        return None


class Stream(nn.Module):
    """The last hidden layer, if there is one, and the output of a Q-network."""

    def __init__(
        self, input_dim: int, hidden_dim: int | None, output_dim: int, settings: QNetworkSettings
    ) -> None:
        """Build the layers, noisy where the settings say so."""
        super().__init__()
        self.activation = ACTIVATIONS[settings.activation]()
        self.hidden: nn.Module | None = None
        if hidden_dim is not None:
            self.hidden = _linear(input_dim, hidden_dim, settings, gain=2.0**0.5)
            input_dim = hidden_dim
        self.output = _linear(input_dim, output_dim, settings, gain=1.0)

    def forward(self, features: Tensor, *, is_noisy: bool) -> Tensor:
        """Map (B, input_dim) to (B, output_dim)."""
        if self.hidden is not None:
            features = self.activation(_apply(self.hidden, features, is_noisy=is_noisy))
        return _apply(self.output, features, is_noisy=is_noisy)


def _linear(
    input_dim: int, output_dim: int, settings: QNetworkSettings, *, gain: float
) -> nn.Module:
    if settings.noisy_std is None:
        return linear_head(input_dim, output_dim, gain=gain if settings.orthogonal_init else None)
    layer = NoisyLinear(input_dim, output_dim, std=settings.noisy_std)
    if settings.orthogonal_init:
        orthogonal_(layer, gain=gain)
    return layer


def _apply(layer: nn.Module, features: Tensor, *, is_noisy: bool) -> Tensor:
    if isinstance(layer, NoisyLinear):
        return layer(features, is_noisy=is_noisy)
    return layer(features)


def has_picture(space: gym.Space) -> bool:
    """Say whether a CNN reads any part of an observation."""
    parts: Mapping[str, gym.Space] = (
        space.spaces if isinstance(space, gym.spaces.Dict) else {"": space}
    )
    return any(is_picture(part) for part in parts.values())


def build_q_network(
    observation_space: gym.Space,
    action_space: gym.Space,
    settings: QNetworkSettings,
    *,
    written: frozenset[str],
) -> QNetwork:
    """Build the Q-network for a pair of single spaces.

    Args:
        observation_space: Read by the encoder.
        action_space: Discrete, any start.
        settings: Of the network.
        written: Names of the settings that somebody wrote.

    Raises:
        ConfigError: Actions that are no choices, or a setting that does nothing for these spaces.
    """
    if not isinstance(action_space, gym.spaces.Discrete):
        raise ConfigError(
            f"dqn values every single action, and the action space is {action_space}: "
            "use an algorithm for it (ppo), or a wrapper that makes it Discrete"
        )
    if "feature_dim" in written and not has_picture(observation_space):
        raise ConfigError(
            f"'policy_kwargs.feature_dim' has no effect on the observation space "
            f"{' '.join(str(observation_space).split())}: it holds no picture for convolutions"
        )
    return QNetwork(observation_space, int(action_space.n), settings)
