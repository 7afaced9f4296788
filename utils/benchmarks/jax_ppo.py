"""A peer for the GPU: PPO on CartPole, environment and all, as one jitted JAX function.

After the manner of purejaxrl (Lu et al. 2022), with what makes it faster: hardware random bits,
actions drawn by one sigmoid, one sort an epoch for the order of the samples, unrolled scans.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

_GRAVITY, _POLE_MASS, _TOTAL_MASS, _HALF_LENGTH, _FORCE, _TIME_STEP = 9.8, 0.1, 1.1, 0.5, 10.0, 0.02
_POSITION_LIMIT, _ANGLE_LIMIT, _MAX_STEPS = 2.4, 12 * 2 * math.pi / 360, 500
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8


@dataclass(frozen=True, kw_only=True, slots=True)
class JaxSettings:
    """The settings of a training; the values mean what the config keys of the same names say."""

    n_envs: int
    n_steps: int = 32
    n_epochs: int = 4
    n_minibatches: int = 4
    policy_lr: float = 1e-3
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    width: int = 64
    unroll: int = 8
    """Steps of a scan that are compiled one after another."""


class _Rollout(NamedTuple):
    observation: Array  # (T, N, 4)
    action: Array  # (T, N)
    logprob: Array
    value: Array
    final: Array  # (T, N, 4)
    terminated: Array
    done: Array


def prepare_jax_training(settings: JaxSettings, *, seed: int) -> Callable[[int], float]:
    """Build networks and environments; returns the function that carries out iterations.

    That function compiles anew for every other number of iterations, and returns the mean length
    of the episodes that ended.
    """
    key = jax.random.key(seed, impl="rbg")
    key, actor_key, critic_key, state_key = jax.random.split(key, 4)
    shape = (4, settings.width, settings.width)
    parameters = {
        "actor": _init_network(actor_key, (*shape, 2), last_gain=0.01),
        "critic": _init_network(critic_key, (*shape, 1), last_gain=1.0),
    }
    first, second = (jax.tree.map(jnp.zeros_like, parameters) for _ in range(2))
    state = _first_states(state_key, settings.n_envs)
    elapsed = jnp.zeros(settings.n_envs, jnp.int32)
    carry: Any = (key, parameters, (first, second, jnp.zeros(())), (state, elapsed))

    def train(carry: Any, n_iterations: int) -> Any:
        return lax.scan(lambda c, _: _iterate(c, settings), carry, None, length=n_iterations)

    compiled = jax.jit(train, static_argnums=1, donate_argnums=0)

    def advance(n_iterations: int) -> float:
        nonlocal carry
        carry, (length_sum, n_episodes) = compiled(carry, n_iterations)
        return float(length_sum.sum() / jnp.maximum(n_episodes.sum(), 1))

    return advance


def _init_network(key: Array, widths: tuple[int, ...], *, last_gain: float) -> list[Any]:
    layers = []
    for i, (n_in, n_out) in enumerate(itertools.pairwise(widths)):
        gain = last_gain if i == len(widths) - 2 else math.sqrt(2.0)
        init = jax.nn.initializers.orthogonal(gain)
        layers.append((init(jax.random.fold_in(key, i), (n_in, n_out)), jnp.zeros(n_out)))
    return layers


def _apply(layers: list[Any], x: Array) -> Array:
    for weight, bias in layers[:-1]:
        x = jnp.tanh(x @ weight + bias)
    weight, bias = layers[-1]
    return x @ weight + bias


def _first_states(key: Array, n: int) -> Array:
    return jax.random.uniform(key, (n, 4), minval=-0.05, maxval=0.05)


def _step_env(state: Array, elapsed: Array, action: Array, fresh: Array) -> tuple[Array, ...]:
    x, x_dot, theta, theta_dot = state.T
    force = jnp.where(action == 1, _FORCE, -_FORCE)
    cosine, sine = jnp.cos(theta), jnp.sin(theta)
    push = (force + _POLE_MASS * _HALF_LENGTH * theta_dot**2 * sine) / _TOTAL_MASS
    theta_acc = (_GRAVITY * sine - cosine * push) / (
        _HALF_LENGTH * (4.0 / 3.0 - _POLE_MASS * cosine**2 / _TOTAL_MASS)
    )
    x_acc = push - _POLE_MASS * _HALF_LENGTH * theta_acc * cosine / _TOTAL_MASS
    after = jnp.stack(
        (
            x + _TIME_STEP * x_dot,
            x_dot + _TIME_STEP * x_acc,
            theta + _TIME_STEP * theta_dot,
            theta_dot + _TIME_STEP * theta_acc,
        ),
        axis=-1,
    )
    elapsed = elapsed + 1
    terminated = (jnp.abs(after[:, 0]) > _POSITION_LIMIT) | (jnp.abs(after[:, 2]) > _ANGLE_LIMIT)
    done = terminated | (elapsed >= _MAX_STEPS)
    length = jnp.where(done, elapsed, 0)
    state = jnp.where(done[:, None], fresh, after)
    return state, jnp.where(done, 0, elapsed), after, terminated, done, length


def _collect(parameters: Any, env: Any, key: Array, settings: JaxSettings) -> Any:
    def step(carry: Any, _: None) -> Any:
        state, elapsed, key, length_sum, n_episodes = carry
        key, action_key, reset_key = jax.random.split(key, 3)
        logits = _apply(parameters["actor"], state)
        value = _apply(parameters["critic"], state)[:, 0]
        advantage_of_one = logits[:, 1] - logits[:, 0]
        uniform = jax.random.uniform(action_key, (settings.n_envs,))
        action = (uniform < jax.nn.sigmoid(advantage_of_one)).astype(jnp.int32)
        logprob = jax.nn.log_sigmoid(jnp.where(action == 1, advantage_of_one, -advantage_of_one))
        fresh = _first_states(reset_key, settings.n_envs)
        after, elapsed, final, terminated, done, length = _step_env(state, elapsed, action, fresh)
        row = _Rollout(state, action, logprob, value, final, terminated, done)
        return (after, elapsed, key, length_sum + length.sum(), n_episodes + done.sum()), row

    zero = jnp.zeros((), jnp.int32)
    (state, elapsed, _, length_sum, n_episodes), rollout = lax.scan(
        step, (*env, key, zero, zero), None, length=settings.n_steps, unroll=settings.unroll
    )
    return (state, elapsed), rollout, (length_sum, n_episodes)


def _advantages(parameters: Any, rollout: _Rollout, settings: JaxSettings) -> Array:
    next_value = _apply(parameters["critic"], rollout.final)[..., 0]
    delta = 1.0 + settings.gamma * (1.0 - rollout.terminated) * next_value - rollout.value
    decay = settings.gamma * settings.gae_lambda * (1.0 - rollout.done)

    def step(running: Array, row: Any) -> Any:
        running = row[0] + row[1] * running
        return running, running

    _, advantage = lax.scan(
        step, jnp.zeros_like(delta[0]), (delta, decay), reverse=True, unroll=settings.unroll
    )
    return advantage


def _loss(parameters: Any, batch: Any, settings: JaxSettings) -> Array:
    observation, action, old_logprob, advantage, returns = batch
    logits = _apply(parameters["actor"], observation)
    value = _apply(parameters["critic"], observation)[:, 0]
    difference = logits[:, 1] - logits[:, 0]
    logprob = jax.nn.log_sigmoid(jnp.where(action == 1, difference, -difference))
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    ratio = jnp.exp(logprob - old_logprob)
    low, high = 1.0 - settings.clip_range, 1.0 + settings.clip_range
    gain = jnp.minimum(ratio * advantage, jnp.clip(ratio, low, high) * advantage)
    return -gain.mean() + settings.vf_coef * jnp.square(value - returns).mean()


def _adam(parameters: Any, moments: Any, gradient: Any, settings: JaxSettings) -> Any:
    first, second, count = moments
    norm = jnp.sqrt(sum(jnp.square(leaf).sum() for leaf in jax.tree.leaves(gradient)))
    scale = jnp.minimum(1.0, settings.max_grad_norm / (norm + 1e-6))
    gradient = jax.tree.map(lambda g: g * scale, gradient)
    count = count + 1
    first = jax.tree.map(lambda m, g: _BETA1 * m + (1 - _BETA1) * g, first, gradient)
    second = jax.tree.map(lambda v, g: _BETA2 * v + (1 - _BETA2) * g * g, second, gradient)
    rate = settings.policy_lr * jnp.sqrt(1 - _BETA2**count) / (1 - _BETA1**count)
    parameters = jax.tree.map(
        lambda p, m, v: p - rate * m / (jnp.sqrt(v) + _EPSILON), parameters, first, second
    )
    return parameters, (first, second, count)


def _iterate(carry: Any, settings: JaxSettings) -> Any:
    key, parameters, moments, env = carry
    key, rollout_key, order_key = jax.random.split(key, 3)
    env, rollout, episodes = _collect(parameters, env, rollout_key, settings)
    advantage = _advantages(parameters, rollout, settings)
    fields = (rollout.observation, rollout.action, rollout.logprob)
    fields = (*fields, advantage, advantage + rollout.value)
    n_samples = settings.n_steps * settings.n_envs
    samples = jax.tree.map(lambda x: x.reshape(n_samples, *x.shape[2:]), fields)

    def epoch(carry: Any, key: Array) -> Any:
        order = jnp.argsort(jax.random.bits(key, (n_samples,)))
        batches = jax.tree.map(
            lambda x: x[order].reshape(settings.n_minibatches, -1, *x.shape[1:]), samples
        )

        def minibatch(carry: Any, batch: Any) -> Any:
            parameters, moments = carry
            gradient = jax.grad(_loss)(parameters, batch, settings)
            return _adam(parameters, moments, gradient, settings), None

        return lax.scan(minibatch, carry, batches)

    keys = jax.random.split(order_key, settings.n_epochs)
    (parameters, moments), _ = lax.scan(epoch, (parameters, moments), keys)
    return (key, parameters, moments, env), episodes
