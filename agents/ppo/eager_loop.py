"""The loop that runs each iteration as it is written: the reference of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.ppo.device_iteration import DeviceIteration
from agents.ppo.device_loop import LoopReport
from agents.ppo.loop_state import export_generators, load_generators
from utils.optimization import set_learning_rate

if TYPE_CHECKING:
    from agents.ppo.ppo_agent import PPOAgent


class EagerLoop:
    """Carries out iterations operation by operation, for any model on any device."""

    name = "eager"

    def __init__(self, agent: PPOAgent) -> None:
        """Prepare the iteration; the agent's environment is a `TorchVectorEnv`."""
        self.iteration = DeviceIteration(agent)

    def run(self, n_iterations: int, hyperparameters: dict[str, float]) -> LoopReport:
        """Carry out iterations with the same hyperparameters; see `DeviceLoop`."""
        iteration = self.iteration
        set_learning_rate(iteration.agent.optimizer, hyperparameters["policy_lr"])
        iteration.begin()
        for _ in range(n_iterations):
            iteration.carry_out(hyperparameters)
        return iteration.report(n_iterations, n_updates=iteration.n_steps_taken)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the random generators."""
        return export_generators(self.iteration)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned, of this kind of loop or of another."""
        load_generators(self.iteration, state)
