"""Policies of Stable-Baselines3 as policies of this project: the same numbers, no code of theirs.

Names of parameters are those that `utils.sb3_policies.layout` gives them.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import torch
from torch import Tensor, nn

from utils.errors import ConfigError
from utils.models.action_scale import ActionScale
from utils.normalization import ObservationNormalizer
from utils.policies.actor_critic import PolicyStep
from utils.policies.distribution import build_distribution
from utils.sb3_policies.features import Observation, SB3Encoder, VecNormalizer

LOG_STD_RANGE = (-20.0, 2.0)
_LEAST_VARIANCE = 1e-6


class SB3Policy(nn.Module):
    """What all of them share; see `utils.policies.Policy`.

    `normalize` applies the statistics of a `VecNormalize`; what else stands before the networks
    (bytes of pictures, one-hot choices) is theirs.
    """

    has_memory = False
    has_masks = False
    has_critic = True
    memory = None

    def __init__(self, observation_space: gym.Space, action_space: gym.Space, kwargs: Any) -> None:
        """Build what reads observations.

        Args:
            observation_space: Single observation space.
            action_space: Single action space.
            kwargs: `utils.config.algos.sb3.SB3Kwargs`.

        Raises:
            ConfigError: Spaces that such a policy cannot have been trained with.
        """
        super().__init__()
        for space in (action_space, observation_space):
            if isinstance(space, gym.spaces.Discrete) and space.start != 0:
                raise ConfigError(
                    f"Stable-Baselines3 counts choices from 0, and {space} begins with "
                    f"{space.start}: what its policies say there has no meaning here"
                )
        self.kwargs, self.action_space = kwargs, action_space
        self.normalizer = ObservationNormalizer()
        self.vec_normalizer: VecNormalizer | None = None
        if kwargs.vec_normalize:
            self.vec_normalizer = VecNormalizer(
                observation_space, epsilon=kwargs.vec_epsilon, clip=kwargs.vec_clip
            )
        self.actor_encoder = self._build_encoder(observation_space)

    def _build_encoder(self, space: gym.Space) -> SB3Encoder:
        kwargs = self.kwargs
        return SB3Encoder(
            space,
            kind=kwargs.encoder,
            feature_dim=kwargs.feature_dim,
            normalize_images=kwargs.normalize_images,
            float_pictures=kwargs.float_pictures,
        )

    def _build_critics(self, observation_space: gym.Space) -> None:
        """Build critics that value actions."""
        self.critic_encoder = self._build_encoder(observation_space)
        width = self.critic_encoder.width + _size(self.action_space)
        self.critics = nn.ModuleList(
            layers(width, [*self.kwargs.critic_dims, 1], self.kwargs.activation, has_end=True)
            for _ in range(self.kwargs.n_critics)
        )

    def initial_state(self, n: int) -> None:
        """Return the memory of n environments: there is none."""
        del n

    def normalize(self, observation: Observation) -> Observation:
        """Return raw observations (B, ...) as the other methods read them."""
        return observation if self.vec_normalizer is None else self.vec_normalizer(observation)

    def judge(self, observation: Observation, action: Tensor) -> dict[str, Tensor]:
        """Return "value" (B,), the lowest critic's, of actions (B, A) in [-1, 1]."""
        pairs = torch.cat([self.critic_encoder(observation), action], dim=1)
        return {"value": torch.cat([critic(pairs) for critic in self.critics], dim=1).amin(dim=1)}

    def export_outputs(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return all that an exported policy tells: the greedy "action", and see `explain`."""
        thoughts = self.explain(observation, mask=mask, state=state)
        return {"action": self.act(observation, deterministic=True).action, **thoughts}

    def action_std(self) -> float | None:
        """Return None: nothing is learnt any more."""
        return None


class ActorCriticPolicy(SB3Policy):
    """Of PPO and A2C: a distribution over actions, and the value of a state."""

    def __init__(self, observation_space: gym.Space, action_space: gym.Space, kwargs: Any) -> None:
        """Build the layers; see `SB3Policy`."""
        super().__init__(observation_space, action_space, kwargs)
        self.critic_encoder = self._build_encoder(observation_space)
        self.actor = layers(self.actor_encoder.width, kwargs.actor_dims, kwargs.activation)
        self.critic = layers(self.critic_encoder.width, kwargs.critic_dims, kwargs.activation)
        self.distribution, n_outputs = build_distribution(action_space)
        width = [self.actor_encoder.width, *kwargs.actor_dims][-1]
        self.head = nn.Linear(width, n_outputs)
        self.value_head = nn.Linear([self.critic_encoder.width, *kwargs.critic_dims][-1], 1)
        self.scale: ActionScale | None = None
        if isinstance(action_space, gym.spaces.Box):
            shape = (width, n_outputs if kwargs.full_std else 1)
            of_noise = shape if kwargs.state_dependent_noise else (n_outputs,)
            self.log_std = nn.Parameter(torch.zeros(of_noise))
            if kwargs.squash_output:
                self.scale = ActionScale(action_space, algorithm=kwargs.algorithm)

    def parameters_of(self, observation: Observation) -> tuple[Tensor, ...]:
        """Return what the distribution reads."""
        latent = self.actor(self.actor_encoder(observation))
        output = self.head(latent)
        if not isinstance(self.action_space, gym.spaces.Box):
            return (output,)
        if not self.kwargs.state_dependent_noise:
            return output, self.log_std
        return output, noise_of(latent, self.log_std).expand_as(output).log()

    def value_of(self, observation: Observation) -> Tensor:
        """Return the value of each row, (B,)."""
        return self.value_head(self.critic(self.critic_encoder(observation))).squeeze(1)

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> PolicyStep:
        """Choose an action for each row; see `Policy.act`.

        Differs: noise that depends on the state (gSDE) is drawn anew at every step, not kept for
        some. The log-density of squashed actions is that before the tangent.
        """
        del mask, state
        parameters = self.parameters_of(observation)
        if deterministic:
            action = self.distribution.mode(parameters)
        else:
            action = self.distribution.sample(parameters, generator)
        logprob = self.distribution.logprob(parameters, action)
        return PolicyStep(self._in_units(action), logprob, self.value_of(observation))

    def _in_units(self, action: Tensor) -> Tensor:
        return action if self.scale is None else self.scale.to_env(action.tanh())

    def explain(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return the distribution's parameters by name, "entropy" and "value"."""
        del mask, state
        parameters = self.parameters_of(observation)
        thoughts = self.distribution.describe(parameters)
        if self.scale is not None:
            greedy = self.scale.to_env(parameters[0].tanh())
            thoughts = {"action_mean": greedy}
        else:
            thoughts["entropy"] = self.distribution.entropy(parameters)
        return thoughts | {"value": self.value_of(observation)}


class QPolicy(SB3Policy):
    """Of DQN: the value of every action."""

    def __init__(self, observation_space: gym.Space, action_space: gym.Space, kwargs: Any) -> None:
        """Build the layers; see `SB3Policy`."""
        super().__init__(observation_space, action_space, kwargs)
        assert isinstance(action_space, gym.spaces.Discrete), action_space
        self._n = int(action_space.n)
        dims = [*kwargs.actor_dims, self._n]
        self.actor = layers(self.actor_encoder.width, dims, kwargs.activation, has_end=True)

    def forward(self, observation: Observation) -> Tensor:
        """Return the values of all actions, (B, n)."""
        return self.actor(self.actor_encoder(observation))

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> PolicyStep:
        """Choose the best action; not deterministic means a random one now and then."""
        del mask, state
        values = self(observation)
        action = values.argmax(dim=1)
        zero = values.new_zeros(len(values))
        if not deterministic and self.kwargs.exploration_rate > 0.0:
            where = {"generator": generator, "device": values.device}
            is_random = torch.rand(len(values), **where) < self.kwargs.exploration_rate
            action = torch.where(is_random, torch.randint(self._n, action.shape, **where), action)
        return PolicyStep(action, zero, values.amax(dim=1))

    def explain(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return "q_values" (B, n) and "value" (B,), the highest of them."""
        del mask, state
        values = self(observation)
        return {"q_values": values, "value": values.amax(dim=1)}


class SquashedPolicy(SB3Policy):
    """Of SAC: a normal distribution that is pressed into the bounds."""

    def __init__(self, observation_space: gym.Space, action_space: gym.Space, kwargs: Any) -> None:
        """Build the layers; see `SB3Policy`."""
        super().__init__(observation_space, action_space, kwargs)
        self.scale = ActionScale(action_space, algorithm=kwargs.algorithm)
        self.actor = layers(self.actor_encoder.width, kwargs.actor_dims, kwargs.activation)
        width = [self.actor_encoder.width, *kwargs.actor_dims][-1]
        self.head = nn.Linear(width, self.scale.size)
        if kwargs.state_dependent_noise:
            n_columns = self.scale.size if kwargs.full_std else 1
            self.log_std: Any = nn.Parameter(torch.zeros(width, n_columns))
        else:
            self.log_std = nn.Linear(width, self.scale.size)
        self._build_critics(observation_space)

    def moments(self, observation: Observation) -> tuple[Tensor, Tensor]:
        """Return mean and deviation before the tangent, (B, A) each."""
        latent = self.actor(self.actor_encoder(observation))
        mean = self.head(latent)
        if not self.kwargs.state_dependent_noise:
            return mean, self.log_std(latent).clamp(*LOG_STD_RANGE).exp()
        if self.kwargs.clip_mean > 0.0:
            mean = mean.clamp(-self.kwargs.clip_mean, self.kwargs.clip_mean)
        return mean, noise_of(latent, self.log_std).expand_as(mean)

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> PolicyStep:
        """Choose an action for each row; see `ActorCriticPolicy.act`. No density is told (0)."""
        del mask, state
        mean, std = self.moments(observation)
        if not deterministic:
            mean = mean + std * torch.empty_like(mean).normal_(generator=generator)
        action = mean.tanh()
        value = self.judge(observation, action)["value"]
        return PolicyStep(self.scale.to_env(action), torch.zeros_like(value), value)

    def explain(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return "action_mean" and "action_std" in the units of the environment, and "value".

        The deviation is that of the tangent's slope at the mean.
        """
        del mask, state
        mean, std = self.moments(observation)
        greedy = mean.tanh()
        spread = (std * (1.0 - greedy.square())).reshape(-1, *self.scale.shape)
        thoughts = {
            "action_mean": self.scale.to_env(greedy),
            "action_std": spread * self.scale.half_span,
        }
        return thoughts | self.judge(observation, greedy)


class DeterministicPolicy(SB3Policy):
    """Of TD3 and DDPG: one action for each observation."""

    def __init__(self, observation_space: gym.Space, action_space: gym.Space, kwargs: Any) -> None:
        """Build the layers; see `SB3Policy`."""
        super().__init__(observation_space, action_space, kwargs)
        self.scale = ActionScale(action_space, algorithm=kwargs.algorithm)
        dims = [*kwargs.actor_dims, self.scale.size]
        self.actor = layers(self.actor_encoder.width, dims, kwargs.activation, has_end=True)
        self._build_critics(observation_space)

    def forward(self, observation: Observation) -> Tensor:
        """Return actions in [-1, 1], (B, A)."""
        return self.actor(self.actor_encoder(observation)).tanh()

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
        del generator, deterministic, mask, state
        action = self(observation)
        value = self.judge(observation, action)["value"]
        return PolicyStep(self.scale.to_env(action), torch.zeros_like(value), value)

    def explain(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return "action_mean", the action in the units of the environment, and "value"."""
        del mask, state
        action = self(observation)
        return {"action_mean": self.scale.to_env(action)} | self.judge(observation, action)


def build_sb3_policy(
    observation_space: gym.Space, action_space: gym.Space, kwargs: Any
) -> SB3Policy:
    """Build the networks of a model; weights are loaded afterwards."""
    families = {
        "PPO": ActorCriticPolicy,
        "A2C": ActorCriticPolicy,
        "DQN": QPolicy,
        "SAC": SquashedPolicy,
        "TD3": DeterministicPolicy,
        "DDPG": DeterministicPolicy,
    }
    return families[kwargs.algorithm](observation_space, action_space, kwargs)


def layers(n_inputs: int, dims: Any, activation: str, *, has_end: bool = False) -> nn.Sequential:
    """Return linear layers, a nonlinearity after each; with an end not after the last one."""
    parts: list[nn.Module] = []
    for n_outputs in dims:
        parts += [nn.Linear(n_inputs, n_outputs), getattr(nn, activation)()]
        n_inputs = n_outputs
    return nn.Sequential(*(parts[:-1] if has_end else parts))


def noise_of(latent: Tensor, log_std: Tensor) -> Tensor:
    """Return the deviation of noise that depends on the state, (B, A or 1).

    ``sqrt(h^2 exp(log_std)^2 + 1e-6)`` of features h; Raffin et al. 2022, "Smooth exploration for
    robotic reinforcement learning", equation 6.
    """
    return (latent.square() @ log_std.exp().square() + _LEAST_VARIANCE).sqrt()


def _size(space: gym.Space) -> int:
    assert isinstance(space, gym.spaces.Box), space
    return int(torch.Size(space.shape).numel())
