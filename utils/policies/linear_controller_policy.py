"""A policy whose controller is linear in what a recurrent world model knows."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from typing_extensions import override

from utils.evolution.linear_rows import LinearShape, control_rows
from utils.mdn_rnn.model import MdnRnnModel
from utils.policies.actor_critic import Observation, PolicyStep
from utils.policies.world_model_policy import Belief
from utils.world_models import State
from utils.world_models.actions import ActionCode
from utils.world_models.dreaming import Choose

ControllerInput = Literal["z", "z_h", "z_h_c"]


class LinearControllerPolicy(Belief):
    """V, M and C: Ha and Schmidhuber 2018, "World models", section 2.3.

    The controller reads the latent of the present picture (z) and what the LSTM put out before it
    (h), and its cell as well if asked to (c); Box: tanh of what it puts out, choices: the largest.

    Attributes:
        controller: (n_parameters,) weights, then biases; what an evolution changes.
    """

    controller: Tensor
    has_critic = False

    def __init__(
        self,
        world_model: MdnRnnModel,
        code: ActionCode,
        *,
        reads: ControllerInput,
        clipped_actions: tuple[int, ...] = (),
    ) -> None:
        """Begin with a controller of zeros.

        Args:
            world_model: What it believes with.
            code: Of its actions.
            reads: What the controller sees of a state.
            clipped_actions: Numbers of a Box that are the tanh itself cut at the bounds, where the
                others are spread over them.
        """
        super().__init__(world_model, code)  # type: ignore[arg-type]
        rssm = world_model.rssm
        n_memory = {"z": 0, "z_h": rssm.units, "z_h_c": rssm.deter}[reads]
        self._n_memory = n_memory
        self.shape = LinearShape(rssm.latent.width + n_memory, code.width)
        self.register_buffer("controller", torch.zeros(self.shape.n_parameters))
        is_clipped = torch.zeros(code.width, dtype=torch.bool)
        is_clipped[list(clipped_actions)] = True
        self.register_buffer("is_clipped", is_clipped, persistent=False)

    def read(self, state: State) -> Tensor:
        """Return what the controller sees of states, (..., n_features)."""
        return torch.cat([state.stoch, state.deter[..., : self._n_memory]], dim=-1)

    def read_features(self, features: Tensor) -> Tensor:
        """Return the same out of the features of states."""
        n_latent = self.world_model.rssm.latent.width
        return torch.cat([features[..., -n_latent:], features[..., : self._n_memory]], dim=-1)

    def output(self, parameters: Tensor, seen: Tensor) -> Tensor:
        """Return what controllers put out, (N, R, A), of rows (N, n) and what they see."""
        return control_rows(self.shape, parameters, seen)

    def drawn(self, output: Tensor) -> Tensor:
        """Return actions as they are drawn (see `ActionCode`) of outputs (..., A)."""
        code = self.code
        if not code.is_continuous:
            return code.distribution.mode((output,))
        return self._cut(output.tanh())

    def draw_evenly(self, n: int, generator: torch.Generator) -> Tensor:
        """Draw n actions as a controller without preference would: before the cut evenly."""
        drawn = self.code.draw_evenly(n, generator).to(self.controller.device)
        return self._cut(drawn) if self.code.is_continuous else drawn

    def _cut(self, squashed: Tensor) -> Tensor:
        """Return numbers in [-1, 1] as they are drawn; some of them cut at the bounds."""
        code = self.code
        assert code.scale is not None, code
        low, half_span = code.scale.low.flatten(), code.scale.half_span.flatten()
        # Where the tanh lies between the bounds, in units of [-1, 1] from one to the other.
        cut = ((squashed - low) / half_span.clamp_min(1e-12) - 1.0).clamp(-1.0, 1.0)
        return torch.where(self.is_clipped, cut, squashed)

    def control(self, parameters: Tensor, features: Tensor) -> Tensor:
        """Return what controllers (P, n) do with features (P, R, F), encoded, (P, R, A)."""
        output = self.output(parameters, self.read_features(features))
        return self.code.encode(self.drawn(output))

    @override
    def choose(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None,
        deterministic: bool,
        mask: Tensor | None,
        state: Tensor | None,
    ) -> tuple[Tensor, State, Tensor]:
        """Return actions as drawn, what is believed, and the controller's outputs (B, A).

        Only the latent is drawn; deterministic means its mean.
        """
        return self._choose(self.controller, observation, generator, deterministic, mask, state)

    def _choose(
        self,
        parameters: Tensor,
        observation: Observation,
        generator: torch.Generator | None,
        deterministic: bool,
        mask: Tensor | None,
        state: Tensor | None,
    ) -> tuple[Tensor, State, Tensor]:
        assert mask is None, "a world model knows no masks"
        assert state is not None, "a policy with a memory needs its state"
        noise = None if deterministic else self.latent_noise(len(state), generator)
        belief = self.take_in(observation, state, noise)
        seen = self.read(belief)
        if parameters.ndim == 1:  # one controller for all
            output = self.output(parameters.unsqueeze(0), seen.unsqueeze(0)).squeeze(0)
        else:
            output = self.output(parameters, seen.unsqueeze(1)).squeeze(1)
        return self.drawn(output), belief, output

    @override
    def choose_in_dreams(self, generator: torch.Generator | None) -> Choose:
        del generator  # the controller draws nothing

        def choose(state: State, step: int) -> tuple[Tensor, Tensor]:
            del step
            output = self.output(self.controller.unsqueeze(0), self.read(state).unsqueeze(0))
            action = self.drawn(output.squeeze(0))
            return action, self.code.encode(action)

        return choose

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> PolicyStep:
        """Choose an action for each row; see `ActorCritic.act`. Nothing is valued."""
        return self.act_by(
            self.controller,
            observation,
            generator=generator,
            deterministic=deterministic,
            mask=mask,
            state=state,
        )

    def act_by(
        self,
        parameters: Tensor,
        observation: Observation,
        *,
        generator: torch.Generator | None,
        deterministic: bool,
        mask: Tensor | None,
        state: Tensor | None,
    ) -> PolicyStep:
        """Choose by one controller (n,), or by one for each row (B, n)."""
        drawn, belief, _ = self._choose(
            parameters, observation, generator, deterministic, mask, state
        )
        nothing = belief.deter.new_zeros(belief.deter.shape[0])
        memory = self.join(belief, self.code.encode(drawn))
        return PolicyStep(self.code.to_env(drawn), nothing, nothing, memory)

    def rows(self, parameters: Tensor) -> ControllerRows:
        """Return a policy that has a controller of its own in each row, (B, n)."""
        return ControllerRows(self, parameters)

    def explain(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return what a choice rests on: what the controller puts out."""
        drawn, _, output = self.choose(
            observation, generator=None, deterministic=True, mask=mask, state=state
        )
        if self.code.is_continuous:
            return {"action_planned": drawn}
        return {"controller_output": output}

    def export_outputs(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return all that an exported policy tells of each row; see `Policy`."""
        drawn, belief, output = self.choose(
            observation, generator=None, deterministic=True, mask=mask, state=state
        )
        return {
            "action": self.code.to_env(drawn),
            "controller_output": output,
            "state": self.join(belief, self.code.encode(drawn)),
        }


class ControllerRows:
    """The same policy with another controller in each row; as much of it as steppers need."""

    has_memory = True
    has_masks = False

    def __init__(self, policy: LinearControllerPolicy, parameters: Tensor) -> None:
        """Bind a policy and parameters (B, n)."""
        self._policy, self._parameters = policy, parameters

    def initial_state(self, n: int) -> Tensor:
        """Return the memory of n environments at the start of an episode."""
        return self._policy.initial_state(n)

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> PolicyStep:
        """Choose by each row's own controller; see `LinearControllerPolicy.act`."""
        return self._policy.act_by(
            self._parameters,
            observation,
            generator=generator,
            deterministic=deterministic,
            mask=mask,
            state=state,
        )
