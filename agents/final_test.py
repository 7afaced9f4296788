"""The test of a finished run's policies, and the record of it that scripts read."""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING, Any

from agents.loading import load_policy_state
from utils.checkpoints import load_checkpoint
from utils.rollouts import EvaluationResult
from utils.run import Run

if TYPE_CHECKING:
    from agents.base_agent import BaseAgent


def judge_policies(run: Run, agent: BaseAgent) -> dict[str, EvaluationResult]:
    """Judge the last and the best policy on the same fresh episodes that no one has seen.

    Returns:
        By "best" and "last", the same object where they are the same policy; empty where the
        config asks for no test.
    """
    n_episodes = agent.config.test_episodes
    if n_episodes == 0:
        return {}
    last = agent.evaluate(n_episodes=n_episodes, stream="test", index=0)
    best_file = run.checkpoint("@best")
    if best_file == run.checkpoint("@last"):
        return {"best": last, "last": last}
    policy = copy.deepcopy(agent.policy)
    load_policy_state(policy, load_checkpoint(best_file), source=best_file)
    best = agent.evaluate(policy=policy, n_episodes=n_episodes, stream="test", index=0)
    return {"best": best, "last": last}


def results_record(
    agent: BaseAgent,
    results: dict[str, EvaluationResult],
    *,
    training_seconds: float,
    process_seconds: float,
) -> dict[str, Any]:
    """Return what a script wants to read of a finished run, as JSON values.

    Args:
        agent: As it is at the end.
        results: Of `judge_policies`.
        training_seconds: Time in training to the end of the last epoch, resumed parts included.
        process_seconds: Wall time of this process from the start of its work on the run to the
            end of the test.
    """
    return {
        "config_id": agent.config.config_id,
        "seed": agent.config.seed,
        "stop_reason": agent.stop_reason,
        "timesteps": agent.counters.timesteps,
        "training_seconds": training_seconds,
        "process_seconds": process_seconds,
        "test": {
            name: dataclasses.asdict(result) | {"mean": result.mean, "std": result.std}
            for name, result in results.items()
        },
    }
