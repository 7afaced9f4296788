"""The candidates of a generation in real environments: whole episodes, on the same seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from torch import Tensor

from utils.rollouts.stepper import Stepper


class PopulationPlay(NamedTuple):
    """What P candidates reached in R episodes each."""

    returns: np.ndarray
    """(P, R) float64, of what the learner is paid."""
    raw_returns: np.ndarray
    """(P, R) float64, as the game pays it."""
    lengths: np.ndarray
    """(P, R) int64"""
    n_vec_steps: int
    """Vector steps that were made."""


def seeds_of_waves(seeds: list[int], n_candidates: int, n_envs: int) -> list[np.ndarray]:
    """Share episodes out: waves of at most `n_envs` pairs, (n, 2) int64 of episode and candidate.

    Every candidate plays every episode; those of one episode are next to each other, so that the
    environments of a wave are busy for about equally long.
    """
    pairs = [(r, c) for r in range(len(seeds)) for c in range(n_candidates)]
    table = np.array(pairs, dtype=np.int64)
    return [table[first : first + n_envs] for first in range(0, len(table), n_envs)]


@torch.inference_mode()
def play_population(
    env: VectorEnv,
    policy_of_rows: Callable[[Tensor], Any],
    parameters: Tensor,
    *,
    seeds: list[int],
    device: torch.device,
    max_steps: int | None = None,
    on_wave: Callable[[int, int], object] | None = None,
) -> PopulationPlay:
    """Let P candidates play an episode of each seed, N environments at a time.

    All begin at once and go on until the last of a wave has ended, so that every episode begins
    with its own seed; an environment whose episode is over meanwhile plays on for nothing.

    Args:
        env: N environments that take a list of seeds.
        policy_of_rows: Rows of parameters (N, n) -> a policy whose row i has parameters i.
        parameters: (P, n) of the candidates.
        seeds: Of the R episodes, the same for all candidates.
        device: Of the policies.
        max_steps: An episode that is longer counts as far as that; None for whole ones.
        on_wave: Is told how many waves are done, and of how many.
    """
    n_candidates, n_envs = len(parameters), env.num_envs
    shape = (n_candidates, len(seeds))
    returns, raw_returns = np.zeros(shape), np.zeros(shape)
    lengths, n_vec_steps = np.zeros(shape, np.int64), 0
    waves = seeds_of_waves(seeds, n_candidates, n_envs)
    for number, pairs in enumerate(waves):
        # Environments without an episode of their own repeat the first one.
        filled = np.concatenate([pairs, np.repeat(pairs[:1], n_envs - len(pairs), axis=0)])
        episode, candidate = filled[:, 0], filled[:, 1]
        policy = policy_of_rows(parameters[torch.from_numpy(candidate)])
        stepper = Stepper(env, policy, device=device)
        stepper.reset(seed=[seeds[r] for r in episode])  # type: ignore[arg-type]
        is_running = np.arange(n_envs) < len(pairs)
        while is_running.any() and (max_steps is None or stepper.n_vec_steps < max_steps):
            action = stepper.decide(stepper.observation, generator=None, deterministic=True)
            # Some environments reward an action that is no number.
            assert bool(action.action.isfinite().all()), action.action
            outcome = stepper.step(action.action)
            cells = (candidate[is_running], episode[is_running])
            returns[cells] += outcome.reward[is_running]
            raw_returns[cells] += outcome.infos.get("raw_reward", outcome.reward)[is_running]
            lengths[cells] += 1
            is_running &= ~(outcome.terminated | outcome.truncated)
        n_vec_steps += stepper.n_vec_steps
        if on_wave is not None:
            on_wave(number + 1, len(waves))
    return PopulationPlay(returns, raw_returns, lengths, n_vec_steps)
