"""A policy that plans each action in a learnt latent space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from utils.normalization import ObservationNormalizer
from utils.planning.mppi import (
    PathIntegralSettings,
    Planned,
    PlanNoise,
    draw_plan_noise,
    plan,
    shift,
)
from utils.planning.plan import Stage, Watch
from utils.policies.actor_critic import Observation, PolicyStep
from utils.policies.fused_planning.availability import why_not
from utils.policies.plan_trace import Foreseen, PlanTrace
from utils.world_models.actions import ActionCode
from utils.world_models.latent_dynamics import LatentDynamics

if TYPE_CHECKING:
    from utils.policies.fused_planning.planner import FusedPlanner

_SEED = 0
"""Of the noise of a policy that draws nothing: the same for every action and every row."""


class LatentPlanningPolicy(nn.Module):
    """A model of latent states, and plans that are made in it.

    Hansen et al. 2024, "TD-MPC2: Scalable, robust world models for continuous control", section 3.
    A plan is worth its rewards and, from its horizon on, what the critics say of the prior's action
    there. What is remembered from step to step is the mean of the last plan, as one row of H A
    numbers for each environment; zeros, at the start of an episode, are a fresh one.

    Actions lie in [-1, 1]; `choose` returns them so, `act` in the units of the environment.
    """

    has_memory = True
    has_masks = False
    discount: Tensor
    min_std: Tensor
    still_candidates: Tensor
    still_proposals: Tensor

    def __init__(
        self,
        model: LatentDynamics,
        code: ActionCode,
        settings: PathIntegralSettings,
        *,
        n_proposals: int,
        critics_are: Literal["mean", "least"],
    ) -> None:
        """Hold the model and how to plan with it.

        Args:
            model: Of latent states.
            code: Of the actions of a Box.
            settings: Of the planner.
            n_proposals: Candidates that come from the prior.
            critics_are: What is made of the critics.
        """
        super().__init__()
        assert code.is_continuous, code
        self.normalizer = ObservationNormalizer()
        self.model, self.code, self.settings = model, code, settings
        self.n_proposals, self.takes_least = n_proposals, critics_are == "least"
        self._fused: FusedPlanner | None = None
        self.register_buffer("discount", torch.tensor(1.0))
        self.register_buffer("min_std", torch.tensor(0.0))
        generator = torch.Generator().manual_seed(_SEED)
        drawn, proposed = self.draw_noise(1, generator, torch.device("cpu"), explores=False)
        self.register_buffer("still_candidates", drawn.candidates, persistent=False)
        self.register_buffer("still_proposals", proposed, persistent=False)

    def initial_state(self, n: int) -> Tensor:
        """Return the memory of n environments at the start of an episode, zeros."""
        return self.discount.new_zeros((n, self.settings.horizon * self.code.width))

    def normalize(self, observation: Observation) -> Observation:
        """Return raw observations as they are: the encoder brings numbers down to size."""
        return observation

    def kept_fields(self, device: torch.device) -> dict[str, Any]:
        """Return nothing: plans are made anew with what the model has become."""
        del device
        return {}

    def keep(self, state: Tensor) -> dict[str, Tensor]:
        """Return nothing; see `kept_fields`."""
        del state
        return {}

    def draw_noise(
        self, n: int, generator: torch.Generator | None, device: torch.device, *, explores: bool
    ) -> tuple[PlanNoise, Tensor]:
        """Draw the noise of n plans, and of what the prior proposes to them, (H, n, P, A)."""
        settings, width = self.settings, self.code.width
        noise = draw_plan_noise(
            settings,
            n_problems=n,
            n_proposals=self.n_proposals,
            width=width,
            generator=generator,
            device=device,
            explores=explores,
        )
        shape = (settings.horizon, n, self.n_proposals, width)
        return noise, torch.randn(shape, generator=generator, device=device)

    def choose(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None,
        deterministic: bool,
        mask: Tensor | None,
        state: Tensor | None,
        watch: Watch | None = None,
    ) -> tuple[Tensor, Tensor, Planned]:
        """Return actions (B, A), what is remembered (H, B, A), and the plans; see `act`."""
        assert mask is None, "plans know no masks"
        assert state is not None, "a policy with a memory needs its state"
        if deterministic:
            noise, proposed = PlanNoise(self.still_candidates), self.still_proposals
        else:
            noise, proposed = self.draw_noise(len(state), generator, state.device, explores=True)
        planned = self.plan_with(observation, state, noise, proposed, watch=watch)
        return planned.action, planned.mean, planned

    def plan_with(
        self,
        observation: Observation,
        state: Tensor,
        noise: PlanNoise,
        proposed: Tensor,
        *,
        watch: Watch | None = None,
    ) -> Planned:
        """Plan for observations (B, ...) with given noise.

        Args:
            observation: Raw.
            state: (B, H A) what is remembered.
            noise: Of the plans.
            proposed: (H, B or 1, P, A) of what the prior proposes.
            watch: Is told of every iteration.
        """
        latent = self.model.encoder(observation, n_leading=1)
        mean = state.unflatten(1, (self.settings.horizon, -1)).transpose(0, 1)
        if watch is None and why_not(self) is None:
            return self._planner().plan(self, latent, mean, noise, proposed)
        return plan(
            lambda actions: self.returns_of(latent, actions),
            mean=shift(mean),
            proposals=self.propose(latent, proposed) if self.n_proposals else None,
            noise=noise,
            min_std=self.min_std,
            settings=self.settings,
            watch=watch,
        )

    def _planner(self) -> FusedPlanner:
        if self._fused is None:
            from utils.policies.fused_planning.planner import FusedPlanner  # needs Triton

            self._fused = FusedPlanner()
        return self._fused

    def propose(self, latent: Tensor, noise: Tensor) -> Tensor:
        """Let the prior act where its own actions lead, (H, B, P, A).

        Args:
            latent: (B, L)
            noise: (H, B or 1, P, A) standard normal.
        """
        state = latent.unsqueeze(1).expand(-1, noise.shape[2], -1)
        actions = []
        for step in noise:
            actions.append(self.model.prior(state, step, self.min_std).action)
            if len(actions) < len(noise):
                state = self.model.next(state, actions[-1])
        return torch.stack(actions)

    def returns_of(self, latent: Tensor, actions: Tensor) -> Tensor:
        """Return what sequences of actions promise, (B, K).

        ``sum_t gamma^t r_t + gamma^H Q(z_H, prior(z_H))``; where the model expects the episode to
        be over nothing counts any more.

        Args:
            latent: (B, L) where they begin.
            actions: (H, B, K, A) in [-1, 1].
        """
        foreseen = self.foresee(latent, actions)
        return (foreseen.weight * foreseen.worth).sum(dim=0)

    def foresee(self, latent: Tensor, actions: Tensor) -> Foreseen:
        """Return what the terms of `returns_of` are, (H + 1, B, K) each."""
        model = self.model
        states = model.roll_out(latent.unsqueeze(1).expand(-1, actions.shape[2], -1), actions)
        pairs, last = torch.cat([states[:-1], actions], dim=-1), states[-1]
        likeliest = model.prior(last, None, self.min_std).action
        of_critics = model.critics(torch.cat([last, likeliest], dim=-1))
        # One reading of all distributions takes as long as that of a few.
        numbers = model.number.mean(torch.cat([model.reward(pairs), of_critics]))
        reward, values = numbers.split([len(pairs), len(of_critics)])
        worth = torch.cat([reward, self._together(values).unsqueeze(0)])
        steps = torch.arange(len(worth), device=worth.device)
        weight = (self.discount**steps).view(-1, 1, 1)
        if model.end is not None:
            goes_on = (~model.has_ended(states[1:])).float().cumprod(dim=0)
            weight = weight * torch.cat([torch.ones_like(goes_on[:1]), goes_on])
        return Foreseen(worth, weight)

    def judge(self, latent: Tensor, action: Tensor) -> Tensor:
        """Return what the critics together say of actions, (...)."""
        output = self.model.critics(torch.cat([latent, action], dim=-1))
        return self._together(self.model.number.mean(output))

    def _together(self, values: Tensor) -> Tensor:
        """Return what the values of all critics, (E, ...), are together, (...)."""
        return values.min(dim=0).values if self.takes_least else values.mean(dim=0)

    def join(self, mean: Tensor, action: Tensor) -> Tensor:
        """Return what is remembered as rows (B, H A); `action` is part of it already."""
        del action
        return mean.transpose(0, 1).flatten(1)

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> PolicyStep:
        """Plan an action for each row; see `ActorCritic.act`.

        Deterministic means the best of the last elites, found with the same candidates at every
        step and for every row; else one of them is drawn by its weight, and noise of the plan's
        deviation added. The value is the mean that the elites promise, by their weights. A plan has
        no density: the log-density is 0.
        """
        drawn, mean, planned = self.choose(
            observation, generator=generator, deterministic=deterministic, mask=mask, state=state
        )
        value = (planned.scores * planned.values).sum(dim=1)
        memory = self.join(mean, drawn)
        return PolicyStep(self.code.to_env(drawn), torch.zeros_like(value), value, memory)

    def explain(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return what a choice rests on, by name; the memory stays as it is."""
        drawn, _, planned = self.choose(
            observation, generator=None, deterministic=True, mask=mask, state=state
        )
        latent = self.model.encoder(observation, n_leading=1)
        return {
            "action_planned": drawn,
            "action_proposed": self.model.prior(latent, None, self.min_std).action,
            "plan_std": planned.std[0],
            "value": (planned.scores * planned.values).sum(dim=1),
        }

    @torch.no_grad()
    def trace_plan(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None,
        deterministic: bool,
        state: Tensor,
    ) -> PlanTrace:
        """Plan as `act` does and tell how; see `Planner`."""
        stages: list[Stage] = []
        drawn, mean, planned = self.choose(
            observation,
            generator=generator,
            deterministic=deterministic,
            mask=None,
            state=state,
            watch=stages.append,
        )
        sequence = planned.elites[:, :, 0]
        latent = self.model.encoder(observation, n_leading=1)
        foreseen = self.foresee(latent, sequence.unsqueeze(2))
        return PlanTrace(
            drawn,
            self.join(mean, drawn),
            stages,
            sequence,
            Foreseen(foreseen.worth[..., 0], foreseen.weight.expand_as(foreseen.worth)[..., 0]),
            self.n_proposals,
        )

    def export_outputs(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return all that an exported policy tells of each row; see `Policy`."""
        drawn, mean, planned = self.choose(
            observation, generator=None, deterministic=True, mask=mask, state=state
        )
        return {
            "action": self.code.to_env(drawn),
            "value": (planned.scores * planned.values).sum(dim=1),
            "state": self.join(mean, drawn),
        }

    def action_std(self) -> float | None:
        """Return None: deviations depend on the plan."""
        return None
