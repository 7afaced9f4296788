"""A policy without an actor: it plans each action in the dreams of a world model."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from typing_extensions import override

from utils.planning import Bounds, Plan, first_plan
from utils.planning.cem import follow_elites
from utils.planning.plan import Stage, Watch
from utils.policies.actor_critic import Observation, PolicyStep
from utils.policies.plan_trace import Foreseen, PlanTrace
from utils.policies.world_model_policy import Belief
from utils.world_models import State, WorldModel
from utils.world_models.actions import ActionCode
from utils.world_models.dreaming import Choose

_SEED = 0
"""Of the candidates of a policy that draws nothing: the same for every action and every row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanningSettings:
    """How far and how long it plans; see `utils.config.algos.planet`."""

    horizon: int
    n_iterations: int
    n_candidates: int
    n_elites: int
    gamma: float


class PlanningPolicy(Belief):
    """Believes with a world model, and plans by the cross-entropy method.

    Hafner et al. 2019, "Learning latent dynamics for planning from pixels", algorithm 2: candidates
    of H actions are drawn from a normal distribution, dreamt, and valued by the sum of the mean
    rewards; the best say what the next are drawn from. The first action of the last mean is done.

    Actions lie in [-1, 1]; `choose` returns them so, `act` in the units of the environment.
    """

    still_candidates: Tensor

    def __init__(
        self, world_model: WorldModel, code: ActionCode, settings: PlanningSettings
    ) -> None:
        """Hold the model and how to plan with it.

        Args:
            world_model: What it believes and dreams with.
            code: Of the actions of a Box.
            settings: Of the planner.
        """
        super().__init__(world_model, code)
        assert code.is_continuous, code
        self.settings = settings
        generator = torch.Generator()
        generator.manual_seed(_SEED)
        drawn = [self.draw_candidates(generator) for _ in range(settings.n_iterations)]
        self.register_buffer("still_candidates", torch.stack(drawn), persistent=False)

    @override
    @torch.no_grad()
    def choose(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None,
        deterministic: bool,
        mask: Tensor | None,
        state: Tensor | None,
    ) -> tuple[Tensor, State, Tensor]:
        """Return planned actions (B, A), what is believed, and what each plan promises, (B,).

        Deterministic means the likeliest latents, and the same candidates at every step.
        """
        belief, plan = self._believe_and_plan(
            observation, generator=generator, deterministic=deterministic, mask=mask, state=state
        )
        return plan.action, belief, self.returns_of(belief, plan.mean.unsqueeze(2))[:, 0]

    def _believe_and_plan(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None,
        deterministic: bool,
        mask: Tensor | None,
        state: Tensor | None,
        watch: Watch | None = None,
    ) -> tuple[State, Plan]:
        assert mask is None, "a world model knows no masks"
        assert state is not None, "a policy with a memory needs its state"
        if not deterministic and generator is None:
            generator = torch.default_generator
        draws = None if deterministic else generator
        noise = None if draws is None else self.latent_noise(len(state), draws)
        belief = self.take_in(observation, state, noise)
        return belief, self.plan(belief, draws, watch=watch)

    @override
    def choose_in_dreams(self, generator: torch.Generator | None) -> Choose:
        def choose(state: State, step: int) -> tuple[Tensor, Tensor]:
            del step
            action = self.plan(state, generator).action
            return action, self.code.encode(action)

        return choose

    def plan(
        self, belief: State, generator: torch.Generator | None, *, watch: Watch | None = None
    ) -> Plan:
        """Plan from what is believed, (B, ...).

        All rows have the same noise, so that no plan depends on how many others there are.

        Args:
            belief: Where the plans begin.
            generator: Draws the candidates and what the dreams of them lead to; None for the same
                candidates every time and the likeliest dreams.
            watch: Is told of every iteration.
        """
        settings, n = self.settings, belief.deter.shape[0]  # len() would fix it in an export
        limit = torch.ones(self.code.width, device=belief.deter.device)
        bounds = Bounds(-limit, limit)
        plan = first_plan(bounds, n_steps=settings.horizon, n=n)
        for iteration in range(settings.n_iterations):
            drawn = (
                self.still_candidates[iteration]
                if generator is None
                else self.draw_candidates(generator)
            )
            plan, _ = follow_elites(
                lambda actions: self.returns_of(belief, actions, generator=generator),
                plan,
                drawn.expand(-1, n, -1, -1),
                bounds,
                n_elites=settings.n_elites,
                watch=watch,
            )
        return plan

    def draw_candidates(self, generator: torch.Generator) -> Tensor:
        """Draw the noise of one iteration's candidates, (H, 1, K, A)."""
        shape = (self.settings.horizon, 1, self.settings.n_candidates, self.code.width)
        return torch.randn(shape, generator=generator, device=generator.device)

    def returns_of(
        self, belief: State, actions: Tensor, *, generator: torch.Generator | None = None
    ) -> Tensor:
        """Dream what sequences of actions lead to, and sum up the mean rewards, (B, K).

        ``sum_t gamma^t c_1 ... c_t r_t+1``, c being the probabilities of going on; 1 without a head
        for it.

        Args:
            belief: (B, ...) where the dreams begin.
            actions: (H, B, K, A) in [-1, 1].
            generator: Draws the latents; None for the likeliest.
        """
        worth, weight = self.foresee(belief, actions, generator=generator)
        total = torch.zeros_like(worth[0])
        for paid, factor in zip(worth.unbind(0), weight.unbind(0), strict=True):
            total = total + factor * paid
        return total

    def foresee(
        self, belief: State, actions: Tensor, *, generator: torch.Generator | None = None
    ) -> Foreseen:
        """Return what the terms of `returns_of` are, (H, B, K) each."""
        model, (n_rows, n_candidates) = self.world_model, actions.shape[1:3]
        n_dreams = n_rows * n_candidates
        state = State(*(part.repeat_interleave(n_candidates, dim=0) for part in belief))
        features = []
        for action in actions.flatten(1, 2):
            noise = None if generator is None else self.latent_noise(n_dreams, generator)
            state = model.rssm.imagine_step(state, action, noise)
            features.append(state.features)
        reached = torch.stack(features)
        reward = model.reward.mean(model.reward(reached))
        goes_on = torch.full_like(reward, self.settings.gamma)
        if model.goes_on is not None:
            goes_on = goes_on * model.goes_on.probability(model.goes_on(reached))
        weights = [torch.ones_like(reward[0])]
        for factor in goes_on[:-1]:
            weights.append(weights[-1] * factor)
        shape = (-1, n_rows, n_candidates)
        return Foreseen(reward.view(shape), torch.stack(weights).view(shape))

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

        The value is what the plan promises until its horizon. A plan has no density: the
        log-density is 0.
        """
        drawn, belief, value = self.choose(
            observation, generator=generator, deterministic=deterministic, mask=mask, state=state
        )
        memory = self.join(belief, self.code.encode(drawn))
        return PolicyStep(self.code.to_env(drawn), torch.zeros_like(value), value, memory)

    def explain(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return what a choice rests on: the planned action and what the plan promises.

        The promise (B,) ends at the horizon, so that it is no value, which goes on behind it.
        """
        drawn, _, value = self.choose(
            observation, generator=None, deterministic=True, mask=mask, state=state
        )
        return {"action_planned": drawn, "promise": value}

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
        belief, plan = self._believe_and_plan(
            observation,
            generator=generator,
            deterministic=deterministic,
            mask=None,
            state=state,
            watch=stages.append,
        )
        foreseen = self.foresee(belief, plan.mean.unsqueeze(2))
        return PlanTrace(
            plan.action,
            self.join(belief, self.code.encode(plan.action)),
            stages,
            plan.mean,
            Foreseen(foreseen.worth[..., 0], foreseen.weight[..., 0]),
            n_proposals=0,
        )

    def export_outputs(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return all that an exported policy tells of each row; see `Policy`."""
        drawn, belief, value = self.choose(
            observation, generator=None, deterministic=True, mask=mask, state=state
        )
        return {
            "action": self.code.to_env(drawn),
            "value": value,
            "state": self.join(belief, self.code.encode(drawn)),
        }
