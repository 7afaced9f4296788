"""The network of an actor and, where there is one, its critic."""

from __future__ import annotations

from typing import NamedTuple

import gymnasium as gym
import torch
from torch import Tensor, nn

from utils.distributed.share import Share
from utils.distributions import (
    ActionDistribution,
    DiagonalNormal,
    Parameters,
    mask_parameters,
    sample_rows,
)
from utils.models import (
    Memory,
    NormalHead,
    ObservationEncoder,
    SharedTrunk,
    TwinTrunks,
    has_analytic_backward,
    linear_head,
    twin_forward,
    twin_network,
)
from utils.normalization import (
    ObservationNormalizer,
    PopArtHead,
    build_observation_normalizer,
)
from utils.policies.sequences import Sequences
from utils.policies.settings import PolicySettings

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
    state: Tensor | None = None
    """(B, state_dim) of the memory, this observation taken in; None without a memory."""


class PolicyEvaluation(NamedTuple):
    """What a policy says about stored actions while it learns."""

    logprob: Tensor
    """(B,)"""
    entropy: Tensor
    """(B,) nats."""
    value: Tensor
    """(B,) V(observation), zeros without a critic."""


class ActorCritic(nn.Module):
    """Normaliser, encoder, trunks, memory and heads of a policy and its critic, if it has one.

    Every method reads *normalised* observations, the ones that the buffer stores; `normalize`
    makes them from raw ones. Parameters are grouped by name: those under `actor_head` and
    `critic_head` are the heads, all others the trunk.

    A memory lies between trunks and heads: all that does not depend on time is computed for all
    steps at once, and what is left to the loop over time is as narrow as it can be. Actor and
    critic have a memory each unless they share the trunk. Its state is an argument and a result:
    whoever steps environments keeps it, and empties it where an episode begins.
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
        self.has_masks = settings.action_masks
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
        self.memory: Memory | None = None
        if settings.memory != "none":
            self.memory = Memory(
                settings.memory,
                width,
                settings.memory_dim,
                n_cells=2 if is_twin else 1,
                orthogonal_init=settings.orthogonal_init,
            )
            width = settings.memory_dim
        gain = ACTOR_HEAD_GAIN if settings.orthogonal_init else None
        self.actor_head: nn.Module = (
            NormalHead(width, n_parameters, gain=gain, log_std_init=settings.log_std_init)
            if isinstance(distribution, DiagonalNormal)
            else linear_head(width, n_parameters, gain=gain)
        )
        self.critic_head: nn.Module | None = None
        if settings.has_critic:
            gain = CRITIC_HEAD_GAIN if settings.orthogonal_init else None
            self.critic_head = (
                PopArtHead(width, gain=gain)
                if settings.normalizes_value
                else linear_head(width, 1, gain=gain)
            )
        self.has_analytic_backward = (
            self.memory is None
            and not settings.normalizes_value
            and has_analytic_backward(self.trunk)
        )

    @property
    def normalizes_value(self) -> bool:
        """Whether the critic learns values of mean 0 and deviation 1."""
        return isinstance(self.critic_head, PopArtHead)

    @property
    def has_memory(self) -> bool:
        """Whether what the policy does depends on what it saw before."""
        return self.memory is not None

    def initial_state(self, n: int) -> Tensor | None:
        """Return the memory of n environments at the start of an episode; None without one."""
        return None if self.memory is None else self.memory.initial_state(n)

    def normalize(self, observation: Observation) -> Observation:
        """Return raw observations (B, ...) as the other methods read them."""
        return observation if self.normalizer.is_identity else self.normalizer(observation)

    def forward(
        self,
        observation: Observation,
        *,
        mask: Tensor | None = None,
        sequences: Sequences | None = None,
    ) -> tuple[Parameters, Tensor]:
        """Return the parameters of the action distribution and V(observation), (B,).

        Args:
            observation: (B, ...)
            mask: (B, n) bool, which choices are allowed; with action masks only.
            sequences: Where the rows lie in time; with a memory only.
        """
        features = self.encoder(observation)
        if self.has_analytic_backward:
            parameters, value = self._evaluate_twin(features)
        elif self.memory is None:
            parameters, value = self._apply_heads(*self.trunk(features))
        else:
            assert sequences is not None, "a policy with a memory reads sequences"
            parameters, value = self._apply_heads(*self._reread(features, sequences))
        return self._mask(parameters, mask), value

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
        share: Share | None = None,
    ) -> PolicyStep:
        """Choose an action for each row.

        Args:
            observation: (B, ...) normalised.
            generator: Source of randomness; torch's global one if None.
            deterministic: Take the mode rather than a sample.
            mask: (B, n) bool, which choices are allowed; with action masks only.
            state: (B, state_dim) of the memory before this observation; with a memory only.
            share: Which rows of a larger batch these are: they get the actions that they would
                get in it. None: they are all.
        """
        parameters, value, new_state = self._decide(observation, mask, state)
        if deterministic:
            action = self.distribution.mode(parameters)
        elif share is None:
            action = self.distribution.sample(parameters, generator)
        else:
            action = sample_rows(
                self.distribution, parameters, generator, first=share.first, total=share.total
            )
        logprob = self.distribution.logprob(parameters, action)
        return PolicyStep(action, logprob, value, new_state)

    def explain(
        self,
        observation: Observation,
        *,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Return what the policy thinks of each row, for people; nothing is drawn or changed.

        See `act` for the arguments; the state of a memory stays as it is.

        Returns:
            The parameters of the action's distribution by name (see `describe` of the
            distributions), `entropy` (B,) in nats and, with a critic, `value` (B,).
        """
        parameters, value, _ = self._decide(observation, mask, state)
        thoughts = self.distribution.describe(parameters)
        thoughts["entropy"] = self.distribution.entropy(parameters)
        return thoughts if self.critic_head is None else thoughts | {"value": value}

    def export_outputs(
        self,
        observation: Observation,
        *,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Return all that an exported policy tells of each row, by name; see `utils.export`.

        `action` is the most likely one, as `act` returns it. With it come the parameters of its
        distribution (see `describe` of the distributions), `value` where there is a critic, and
        `state` of the memory, this observation taken in.

        See `act` for the arguments.
        """
        parameters, value, new_state = self._decide(observation, mask, state)
        outputs = {"action": self.distribution.mode(parameters)}
        outputs |= self.distribution.describe(parameters)
        if self.critic_head is not None:
            outputs["value"] = value
        if new_state is not None:
            outputs["state"] = new_state
        return outputs

    def evaluate_actions(
        self,
        observation: Observation,
        action: Tensor,
        *,
        mask: Tensor | None = None,
        sequences: Sequences | None = None,
    ) -> PolicyEvaluation:
        """Return log-probability and entropy of stored actions (B, ...) and the values.

        See `forward` for the arguments.
        """
        parameters, value = self(observation, mask=mask, sequences=sequences)
        logprob, entropy = self.distribution.logprob_and_entropy(parameters, action)
        return PolicyEvaluation(logprob, entropy, value)

    def predict_value(self, observation: Observation, *, state: Tensor | None = None) -> Tensor:
        """Return V(observation), (B,); zeros without a critic.

        Args:
            observation: (B, ...) normalised.
            state: (B, state_dim) of the memory before this observation; with a memory only. It
                stays as it is.
        """
        if self.critic_head is None:
            first = (
                next(iter(observation.values())) if isinstance(observation, dict) else observation
            )
            return torch.zeros(first.shape[0], device=first.device)
        if self.memory is None:
            features = self.trunk.critic_features(self.encoder(observation))
        else:
            (_, features), _ = self._remember(observation, state)
        return self.critic_head(features).squeeze(-1)

    def action_std(self) -> float | None:
        """Return the mean standard deviation of continuous actions; None for discrete ones."""
        if not isinstance(self.actor_head, NormalHead):
            return None
        return float(self.actor_head.log_std.detach().exp().mean())

    def _evaluate_twin(self, features: Tensor) -> tuple[Parameters, Tensor]:
        """Evaluate in one operation, for separate trunks with a plain activation."""
        head = self.actor_head
        linear = head.mean if isinstance(head, NormalHead) else head
        if torch.is_grad_enabled():
            output, value = twin_network(features, self.trunk, linear, self.critic_head)
        else:
            output, value, _ = twin_forward(features, self.trunk, linear, self.critic_head)
        parameters = (output, head.log_std) if isinstance(head, NormalHead) else (output,)
        return parameters, value.squeeze(-1)

    def _decide(
        self, observation: Observation, mask: Tensor | None, state: Tensor | None
    ) -> tuple[Parameters, Tensor, Tensor | None]:
        """Return distribution parameters, values and the new state of a memory; see `act`."""
        if self.memory is None:
            parameters, value = self(observation, mask=mask)
            return parameters, value, None
        streams, new_state = self._remember(observation, state)
        parameters, value = self._apply_heads(*streams)
        return self._mask(parameters, mask), value, new_state

    def _remember(
        self, observation: Observation, state: Tensor | None
    ) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """Take in one observation; return what the two heads read, and the new state."""
        assert self.memory is not None
        assert state is not None, "a policy with a memory needs its state"
        streams = self.trunk.streams(self.encoder(observation))
        outputs, state = self.memory.step(streams, state)
        return (outputs[0], outputs[-1]), state

    def _reread(self, features: Tensor, sequences: Sequences) -> tuple[Tensor, Tensor]:
        """Read sequences from their stored states; return what the two heads read, (B, H) each."""
        assert self.memory is not None
        streams = self.trunk.streams(features)
        cells = streams.index_select(1, sequences.row_of_cell)
        cells = cells.unflatten(1, sequences.is_start.shape)
        outputs = self.memory.unroll(cells, sequences.state, sequences.is_start)
        rows = outputs.flatten(1, 2).index_select(1, sequences.cell_of_row)
        return rows[0], rows[-1]

    def _apply_heads(self, of_actor: Tensor, of_critic: Tensor) -> tuple[Parameters, Tensor]:
        parameters = self.actor_head(of_actor)
        if not isinstance(parameters, tuple):
            parameters = (parameters,)
        if self.critic_head is None:
            return parameters, parameters[0].new_zeros(parameters[0].shape[0])
        return parameters, self.critic_head(of_critic).squeeze(-1)

    def _mask(self, parameters: Parameters, mask: Tensor | None) -> Parameters:
        assert self.has_masks == (mask is not None), (self.has_masks, mask)
        return parameters if mask is None else mask_parameters(parameters, mask)
