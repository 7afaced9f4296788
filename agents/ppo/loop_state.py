"""The random generators of an iteration, saved with the run."""

from __future__ import annotations

from typing import Any

from agents.ppo.device_iteration import DeviceIteration


def export_generators(iteration: DeviceIteration) -> dict[str, Any]:
    """Return the states of both generators, as tensors, and whose they are."""
    return {
        "device": iteration.device.type,
        "action_generator": iteration.action_generator.get_state(),
        "order_generator": iteration.order_generator.get_state(),
    }


def load_generators(iteration: DeviceIteration, state: dict[str, Any]) -> None:
    """Restore what `export_generators` returned.

    A state of another kind of loop, or of another device, whose generators draw other numbers,
    leads to another stretch of numbers that this run has not used.
    """
    generators = {
        "action_generator": iteration.action_generator,
        "order_generator": iteration.order_generator,
    }
    is_ours = generators.keys() <= state.keys() and state["device"] == iteration.device.type
    for name, generator in generators.items():
        if is_ours:
            generator.set_state(state[name])
        else:
            n_vec_steps = iteration.agent.counters.vec_steps
            generator.manual_seed(generator.initial_seed() + n_vec_steps)
