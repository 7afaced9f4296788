"""A policy that believes: it acts on the state of a world model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from utils.buffers import StateField
from utils.normalization import ObservationNormalizer
from utils.policies.actor_critic import Observation, PolicyStep
from utils.world_models import Head, ScalarHead, State, WorldModel
from utils.world_models.actions import ActionCode
from utils.world_models.dreaming import Choose


class Belief(nn.Module):
    """What a world model remembers of an episode, as one row of numbers for each environment.

    A row is deterministic state, latent and the action that was chosen, encoded; zeros where an
    episode begins. Policies that act on a world model inherit it.
    """

    has_memory = True
    has_masks = False

    def __init__(self, world_model: WorldModel, code: ActionCode) -> None:
        """Hold the model and the code of its actions."""
        super().__init__()
        self.normalizer = ObservationNormalizer()
        self.world_model, self.code = world_model, code
        rssm = world_model.rssm
        self._widths = [rssm.deter, rssm.latent.width, code.width]

    def initial_state(self, n: int) -> Tensor:
        """Return the memory of n environments at the start of an episode, zeros."""
        like = next(self.parameters())
        return like.new_zeros((n, sum(self._widths)))

    def normalize(self, observation: Observation) -> Observation:
        """Return raw observations as they are: the encoder brings numbers down to size."""
        return observation

    def split(self, state: Tensor) -> tuple[State, Tensor]:
        """Return rows (B, state_dim) as state and encoded last action."""
        deter, stoch, action = state.split(self._widths, dim=-1)
        return State(deter, stoch), action

    def join(self, state: State, action: Tensor) -> Tensor:
        """Return state and encoded action as rows (B, state_dim)."""
        return torch.cat([state.deter.float(), state.stoch.float(), action], dim=-1)

    def choose(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None,
        deterministic: bool,
        mask: Tensor | None,
        state: Tensor | None,
    ) -> tuple[Tensor, State, Any]:
        """Return drawn actions, what is believed, and what the choice rests on; see `act`."""
        raise NotImplementedError

    def kept_fields(self, device: torch.device) -> dict[str, StateField]:
        """Return what a buffer on `device` keeps of the memory at every step, by name."""
        rssm = self.world_model.rssm
        dtype = torch.float32 if device.type == "cpu" else torch.bfloat16
        return {
            "deter": StateField((rssm.deter,), dtype),
            "stoch": StateField((rssm.latent.stored_width,), rssm.latent.stored_dtype),
        }

    def keep(self, state: Tensor) -> dict[str, Tensor]:
        """Return these fields, (N, ...) each, of rows of memory (N, state_dim)."""
        belief, _ = self.split(state)
        return {"deter": belief.deter, "stoch": self.world_model.rssm.latent.pack(belief.stoch)}

    def take_in(self, observation: Observation, state: Tensor, noise: Tensor | None) -> State:
        """Return what is believed once an observation (B, ...) was seen.

        Args:
            observation: (B, ...) raw.
            state: (B, state_dim) before it.
            noise: Of the latent; None for the likeliest.
        """
        embedding = self.world_model.encoder(observation, n_leading=1)
        before, action = self.split(state)
        return self.world_model.rssm.observe_step(before, action, embedding, noise=noise)[0]

    def latent_noise(self, n: int, generator: torch.Generator | None) -> Tensor:
        """Draw the noise of n latents."""
        if generator is None:
            like = next(self.parameters())
            generator = torch.default_generator if like.device.type == "cpu" else None
            assert generator is not None, "a generator is needed on a GPU"
        return self.world_model.rssm.latent.draw_noise((n,), generator)

    def action_std(self) -> float | None:
        """Return None: deviations depend on the state."""
        return None

    def choose_in_dreams(self, generator: torch.Generator | None) -> Choose:
        """Return how it acts where nothing is seen.

        Args:
            generator: Draws the actions; None takes the likeliest ones.
        """
        raise NotImplementedError

    def value_of(self, state: State) -> Tensor | None:
        """Return what states (B, ...) are worth to it, (B,); None where it has no critic."""
        del state
        return None


class WorldModelPolicy(Belief):
    """World model, actor and critic."""

    def __init__(
        self,
        world_model: WorldModel,
        code: ActionCode,
        build_actor: Callable[[int, int], Head],
        build_critic: Callable[[int], ScalarHead],
    ) -> None:
        """Build the heads.

        Args:
            world_model: What it believes with.
            code: Of its actions.
            build_actor: Width of features and of outputs -> actor.
            build_critic: Width of features -> critic.
        """
        super().__init__(world_model, code)
        n_features = world_model.rssm.n_features
        self.actor = build_actor(n_features, code.n_parameters)
        self.critic = build_critic(n_features)

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> PolicyStep:
        """Choose an action for each row; see `ActorCritic.act`.

        Deterministic means both: the likeliest latent, and the likeliest action upon it.
        """
        drawn, belief, parameters = self.choose(
            observation, generator=generator, deterministic=deterministic, mask=mask, state=state
        )
        distribution = self.code.distribution
        return PolicyStep(
            self.code.to_env(drawn),
            distribution.logprob(parameters, drawn),
            self.critic.mean(self.critic(belief.features)),
            self.join(belief, self.code.encode(drawn)),
        )

    @override
    def choose(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None,
        deterministic: bool,
        mask: Tensor | None,
        state: Tensor | None,
    ) -> tuple[Tensor, State, tuple[Tensor, ...]]:
        """Return drawn actions, what is believed, and the parameters of the actions."""
        assert mask is None, "a world model knows no masks"
        assert state is not None, "a policy with a memory needs its state"
        noise = None if deterministic else self.latent_noise(len(state), generator)
        belief = self.take_in(observation, state, noise)
        parameters = self.code.parameters_of(self.actor(belief.features))
        distribution = self.code.distribution
        if deterministic:
            return distribution.mode(parameters), belief, parameters
        return distribution.sample(parameters, generator), belief, parameters

    @override
    def choose_in_dreams(self, generator: torch.Generator | None) -> Choose:
        def choose(state: State, step: int) -> tuple[Tensor, Tensor]:
            del step
            parameters = self.code.parameters_of(self.actor(state.features))
            distribution = self.code.distribution
            if generator is None:
                action = distribution.mode(parameters)
            else:
                action = distribution.sample(parameters, generator)
            return action, self.code.encode(action)

        return choose

    @override
    def value_of(self, state: State) -> Tensor:
        return self.critic.mean(self.critic(state.features))

    def explain(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return what a choice rests on, by name; the memory stays as it is."""
        _, belief, parameters = self.choose(
            observation, generator=None, deterministic=True, mask=mask, state=state
        )
        distribution = self.code.distribution
        return distribution.describe(parameters) | {
            "entropy": distribution.entropy(parameters),
            "value": self.critic.mean(self.critic(belief.features)),
        }

    def export_outputs(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return all that an exported policy tells of each row; see `Policy`."""
        drawn, belief, parameters = self.choose(
            observation, generator=None, deterministic=True, mask=mask, state=state
        )
        return {
            "action": self.code.to_env(drawn),
            **self.code.distribution.describe(parameters),
            "value": self.critic.mean(self.critic(belief.features)),
            "state": self.join(belief, self.code.encode(drawn)),
        }
