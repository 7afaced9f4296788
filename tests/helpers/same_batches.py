"""Updates with batches that are the same whoever makes them: one process, or several.

`python -m tests.helpers.same_batches CASE DEVICE FILE` as one of several processes, or alone,
writes what it has learnt to FILE: 30 steps of 4 environments, then 4 updates.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

from agents import build_agent
from agents.base_agent import hyperparameters_at
from agents.replay_agent import ReplayAgent
from agents.together import use_own_gpu
from tests.helpers.sequence_agents import SHAPE
from utils.config import config_from_dict
from utils.distributed import Part, read_ranks
from utils.distributed.team import Team
from utils.rollouts.experience_collector import Decision
from utils.seeding import derive_seed

N_ENVS, N_VEC_STEPS, N_UPDATES, BATCH_SIZE = 4, 30, 4, 8
LENGTH = 6
"""Rows of a sequence, at most."""
_ACTING = {**SHAPE, "actor_layers": 1, "critic_layers": 1}
_LATENT = {
    "size": "tiny",
    "encoder_dim": 16,
    "mlp_dim": 16,
    "latent_dim": 16,
    "n_critics": 3,
    "dropout": 0.5,
}
_SMALL = {"hidden_dims": [16]}
_SEQUENCES = {
    "sequence_length": LENGTH - 1,
    "train_ratio": 12.0,
    "lr_warmup_updates": 0,
    "precision": "float32",
}
_DREAMER = {**_SEQUENCES, "algo_id": "dreamer", "imagination_horizon": 3}
CASES: dict[str, dict[str, Any]] = {
    "dreamer": {
        **_DREAMER,
        "env_id": "CartPole-v1",
        "policy_kwargs": {**_ACTING, "classes": 4, "blocks": 4},
    },
    "dreamer of a box": {
        **_DREAMER,
        "env_id": "Pendulum-v1",
        # Sums over bins up to 1e8 blow up what is rounded.
        "policy_kwargs": {**_ACTING, "classes": 4, "blocks": 4, "numbers": "normal"},
    },
    "first dreamer": {
        **_DREAMER,
        "version": 1,
        "env_id": "Pendulum-v1",
        "learning_starts_timesteps": 0,
        "batch_size": BATCH_SIZE,
        # Divergences of batches, 0.306 and 0.333, lie on both sides, and those of a batch's parts.
        "free_nats": 0.32,
        "policy_kwargs": _ACTING,
    },
    "planet": {
        **_SEQUENCES,
        "algo_id": "planet",
        "env_id": "Pendulum-v1",
        "planning_horizon": 3,
        "planning_iterations": 2,
        "planning_candidates": 8,
        "planning_elites": 3,
        "free_nats": 0.18,  # as above: 0.170 and 0.189
        "policy_kwargs": SHAPE,
    },
    "tdmpc": {
        "algo_id": "tdmpc",
        "env_id": "Pendulum-v1",
        "horizon": 3,
        "n_candidates": 8,
        "n_elites": 3,
        "n_proposals": 2,
        "pretrain_updates": 0,
        "precision": "float32",
        "lr_warmup_updates": 0,
        "policy_kwargs": _LATENT,
    },
    "sac": {"algo_id": "sac", "env_id": "Pendulum-v1", "policy_kwargs": _SMALL},
    "sac of choices": {"algo_id": "sac", "env_id": "CartPole-v1", "policy_kwargs": _SMALL},
    "td3": {"algo_id": "td3", "env_id": "Pendulum-v1", "policy_kwargs": _SMALL},
    "dqn": {"algo_id": "dqn", "env_id": "CartPole-v1", "policy_kwargs": _SMALL, "n_step": 3},
    "rainbow": {
        "algo_id": "dqn",
        "env_id": "CartPole-v1",
        "policy_kwargs": _SMALL,
        "noisy": True,
        "dueling": True,
        "distribution": "c51",
        "n_atoms": 11,
        "v_min": 0.0,
        "v_max": 20.0,
    },
}


class AlikeDice:
    """An explorer that draws for all environments and hands out those of this process."""

    def __init__(self, agent: ReplayAgent) -> None:
        """Take the dice of the first process, whichever this is."""
        self._part, agent.part = agent.part, Part()
        self._dice = agent.build_explorer()
        agent.part = self._part

    def draw(self, n: int, *, mask: Any) -> Decision:
        """Choose evenly for n environments."""
        whole = self._dice.draw(self._part.whole(n), mask=mask)
        return Decision(self._part.own(whole.action), self._part.own(whole.stored))


def choose_rows(agent: ReplayAgent) -> Any:
    """Return a function that names the same rows in the stead of a buffer's draws."""
    part, n_envs = agent.part, agent.source.buffer.layout.n_envs
    generator = torch.Generator().manual_seed(3)
    half = BATCH_SIZE // 2  # the first half is of the first half of the environments

    def draw(n: int, **_: Any) -> torch.Tensor:
        n_batches = part.whole(n) // BATCH_SIZE
        rows = torch.randint(N_VEC_STEPS - LENGTH, (n_batches, BATCH_SIZE), generator=generator)
        env = torch.randint(N_ENVS // 2, (n_batches, BATCH_SIZE), generator=generator)
        env[:, half:] += N_ENVS // 2
        rows, env = part.own(rows, dim=1), part.own(env, dim=1)
        return (rows * n_envs + env % n_envs).reshape(-1)

    return draw


def build(case: str, *, team: Team | None, **changes: Any) -> ReplayAgent:
    """Build the agent of a case, its buffer filled by chance."""
    settings = {
        "schema_version": 2,
        "config_id": "Toy-v0:toy",
        "n_envs": N_ENVS,
        "devices": 1 if team is None else team.size,
        "max_timesteps": 10_000,
        "batch_size": BATCH_SIZE,
        "learning_starts_timesteps": 16,
        "policy_lr": 1e-3,
        **CASES[case],
        **changes,
    }
    agent = build_agent(config_from_dict(settings), team=team)
    assert isinstance(agent, ReplayAgent), agent
    agent.hyperparameters |= hyperparameters_at(agent.config, timesteps=0)
    collector = agent.source.collector
    collector.explorer = AlikeDice(agent)
    agent.source.reset(seed=derive_seed(0, "train"))
    collector.collect(N_VEC_STEPS, is_random=True, write=agent.source._write)
    agent.source.buffer.draw = choose_rows(agent)  # type: ignore[method-assign]
    return agent


def learnt(agent: ReplayAgent) -> dict[str, Any]:
    """Make the updates; return weights, what the optimisers know, and what was told."""
    mean = None if agent.shared is None else agent.shared.mean
    agent.make_updates(N_UPDATES)
    told, diverged = agent.log.flush(mean)
    assert diverged is None, diverged
    state = agent.learner_state()
    return {
        "policy": agent.policy.state_dict(),
        "networks": state["networks"],
        "optimizers": state["optimizers"],
        "told": told,
    }


def main() -> None:
    """Learn and write the file."""
    case, device, path = sys.argv[1:]
    ranks = read_ranks()
    team = None if ranks is None else Team(ranks)
    if ranks is not None:
        use_own_gpu(ranks)
    agent = build(case, team=team, device=device)
    torch.save(learnt(agent), Path(path))
    agent.close()
    if team is not None:
        team.close()
