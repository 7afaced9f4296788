"""Fast vector environments of others, that take part where they are installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

Advance = Callable[[], int]


def missing_peers() -> list[str]:
    """Return the names of those that are not installed."""
    return [name for name in ("envpool", "gymnax") if importlib.util.find_spec(name) is None]


def envpool_contestant(env_id: str, actions: list[np.ndarray], *, n_threads: int) -> Advance:
    """Step EnvPool's environments with given actions; `reset` is among what they do by themselves.

    Args:
        env_id: Gymnasium id.
        actions: One batch (N, ...) for each step.
        n_threads: Threads of its pool.
    """
    import envpool

    n_envs = len(actions[0])
    env = envpool.make_gymnasium(env_id, num_envs=n_envs, num_threads=n_threads)
    env.reset()
    dtype = np.int32 if actions[0].dtype.kind == "i" else np.float32
    batches = [batch.astype(dtype) for batch in actions]

    def advance() -> int:
        for batch in batches:
            env.step(batch)
        return len(batches) * n_envs

    return advance


def gymnax_contestant(env_id: str, actions: list[np.ndarray]) -> Advance:
    """Step gymnax's environments with given actions, all steps in one compiled scan.

    Args:
        env_id: Gymnasium id.
        actions: One batch (N, ...) for each step.
    """
    import gymnax
    import jax
    import jax.numpy as jnp

    env, parameters = gymnax.make(env_id)
    n_envs = len(actions[0])
    stacked = jnp.asarray(np.stack(actions))
    step_all = jax.vmap(env.step, in_axes=(0, 0, 0, None))

    def one_step(carry: Any, batch: Any) -> tuple[Any, Any]:
        key, state = carry
        key, drawn = jax.random.split(key)
        observation, state, reward, *rest = step_all(
            jax.random.split(drawn, n_envs), state, batch, parameters
        )
        return (key, state), (observation, reward, rest[0])

    @jax.jit
    def run(carry: Any) -> tuple[Any, Any]:
        return jax.lax.scan(one_step, carry, stacked)

    key = jax.random.key(0)
    _, state = jax.vmap(env.reset, in_axes=(0, None))(jax.random.split(key, n_envs), parameters)
    carry = [(key, state)]

    def advance() -> int:
        carry[0], outputs = run(carry[0])
        jax.block_until_ready(outputs)
        return len(actions) * n_envs

    return advance
