"""One training run from plan to result: folder, agent, callbacks, final test, report."""

from __future__ import annotations

import dataclasses
import logging
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import torch

from agents import build_agent
from agents.base_agent import BaseAgent
from agents.interrupts import StopSignals
from agents.loading import load_policy_state
from agents.result_text import describe_result, describe_start
from trainer_callbacks.build import build_callbacks
from utils.checkpoints import load_checkpoint
from utils.config import Config
from utils.environment import resolve_reward_threshold
from utils.errors import CheckpointError, ConfigError, UserError
from utils.reports import write_report
from utils.rollouts import EvaluationResult
from utils.run import Run
from utils.run.plan import TrainingPlan
from utils.spaces import spaces_differ
from utils.storage import write_json
from utils.trainer_factory import build_trainer
from utils.vector_envs.debugger import is_debugger_attached

_log = logging.getLogger("gymnasium_solver")


def train(plan: TrainingPlan) -> int:
    """Carry out a plan: make or reopen the run folder, train, test, report.

    Returns:
        Exit code: 0 completed, 130 or 143 stopped by a signal after saving.

    Raises:
        UserError: What went wrong, in one line; the run is marked as failed.
    """
    config = resolve_machine(plan.config, is_debug=plan.is_debug or is_debugger_attached())
    torch.set_num_threads(config.torch_threads)
    torch.autograd.set_detect_anomaly(plan.is_debug)
    state = None if plan.checkpoint is None else load_checkpoint(plan.checkpoint)
    agent = build_agent(config)
    try:
        if state is not None:
            _check_fits(state, agent, source=plan.checkpoint)
        run = plan.resumed_run or Run.create(
            plan.runs_dir, config_id=config.config_id, config_dict=plan.config.to_dict()
        )
        agent.run = run
        try:
            return _train_in(run, agent, plan, state)
        except UserError as error:
            if isinstance(error, ConfigError) and plan.resumed_run is None:
                shutil.rmtree(run.path)  # nothing was trained: nothing half-made stays behind
            raise
    finally:
        agent.close()


def resolve_machine(config: Config, *, is_debug: bool) -> Config:
    """Replace `device: auto` by what is there; under a debugger, use one in-process environment.

    Raises:
        ConfigError: CUDA is asked for and absent.
    """
    has_cuda = torch.cuda.is_available()
    if config.device == "cuda" and not has_cuda:
        raise ConfigError("device: cuda, but torch finds no CUDA device here; use cpu or auto")
    changes: dict[str, Any] = {}
    if config.device == "auto":
        changes["device"] = "cuda" if has_cuda else "cpu"
    if is_debug:
        changes |= {"n_envs": 1, "vectorization": "sync"}
        if "batch_size" in type(config).model_fields:
            changes["batch_size"] = 1.0
    return config.model_copy(update=changes)


def _check_fits(state: dict[str, Any], agent: BaseAgent, *, source: Path | None) -> None:
    differences = spaces_differ(state["spaces"], agent.describe_spaces())
    if state["algo_id"] != agent.config.algo_id:
        differences.append(f"it is of {state['algo_id']}, this run is {agent.config.algo_id}")
    if differences:
        raise CheckpointError(
            f"'{source}' does not fit {agent.config.config_id}: " + "; ".join(differences)
        )


def _train_in(
    run: Run, agent: BaseAgent, plan: TrainingPlan, state: dict[str, Any] | None
) -> int:
    config = agent.config
    log_file = logging.FileHandler(run.log_path)
    log_file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    _log.addHandler(log_file)
    _log.setLevel(logging.INFO)
    signals = StopSignals(agent.request_stop)
    started = time.perf_counter()
    try:
        run.write_status("running")
        run.write_environment_facts(
            device=config.device,
            torch_threads=config.torch_threads,
            vectorization=agent.train_env.vectorization_name,
        )
        if plan.resumed_run is None and state is not None:
            load_policy_state(agent.policy, state, source=plan.checkpoint)
        if not plan.is_quiet:
            print(describe_start(run, agent, plan), flush=True)
        _fit(run, agent, plan, state, signals)
        return _finish(run, agent, plan, signals, seconds=time.perf_counter() - started)
    except BaseException as error:
        status = "interrupted" if signals.received is not None else "failed"
        if isinstance(error, KeyboardInterrupt):
            status = "interrupted"
        _log.error("%s: %s", type(error).__name__, error)
        run.write_status(status, reason=f"{type(error).__name__}: {error}")
        raise
    finally:
        signals.restore()
        _log.removeHandler(log_file)
        log_file.close()


def _fit(
    run: Run,
    agent: BaseAgent,
    plan: TrainingPlan,
    state: dict[str, Any] | None,
    signals: StopSignals,
) -> None:
    config = agent.config
    is_resumed = plan.resumed_run is not None
    if is_resumed:
        assert state is not None
        n_lost = agent.load_checkpoint_state(state)
        if n_lost:
            _log.warning(
                "%d of %d environments (%s) could not be restored: their running episodes count "
                "as truncated, new ones have begun",
                n_lost,
                agent.train_env.num_envs,
                agent.train_env.vectorization_name,
            )
        if agent.counters.timesteps >= config.max_timesteps:
            raise ConfigError(
                f"run '{run.id}' has made its {config.max_timesteps:,} timesteps; "
                "give a larger --max-timesteps to train it further"
            )
    callbacks = build_callbacks(
        config,
        run,
        reward_threshold=resolve_reward_threshold(config, agent.train_env),
        first_timestep=agent.counters.timesteps,
        is_quiet=plan.is_quiet,
    )
    if is_resumed and state is not None:
        for callback in callbacks:
            if stored := state["callbacks"].get(type(callback).__name__):
                callback.load_state_dict(stored)
    agent.on_start = signals.install
    build_trainer(device=config.device, callbacks=callbacks).fit(agent)


def _finish(
    run: Run, agent: BaseAgent, plan: TrainingPlan, signals: StopSignals, *, seconds: float
) -> int:
    assert agent.stop_reason is not None, "the loop ends only when it is asked to"
    if signals.received is not None:
        run.write_status(
            "interrupted", reason=agent.stop_reason, timesteps=agent.counters.timesteps
        )
        print(
            f"saved {run.path} at {agent.counters.timesteps:,} timesteps; "
            f"go on with: python train.py --resume {run.id}",
            file=sys.stderr,
        )
        return 128 + signals.received
    results = _test(run, agent)
    run.write_status("completed", reason=agent.stop_reason, timesteps=agent.counters.timesteps)
    write_json(run.results_path, _results_record(agent, results, seconds=seconds))
    print(describe_result(run, agent, results, seconds=seconds), flush=True)
    write_report(
        run, agent.config, results=results, stop_reason=agent.stop_reason, seconds=seconds
    )
    return 0


def _results_record(
    agent: BaseAgent, results: dict[str, EvaluationResult], *, seconds: float
) -> dict[str, Any]:
    """Return what a script wants to read of a finished run."""
    return {
        "config_id": agent.config.config_id,
        "seed": agent.config.seed,
        "stop_reason": agent.stop_reason,
        "timesteps": agent.counters.timesteps,
        "seconds": seconds,
        "test": {
            name: dataclasses.asdict(result) | {"mean": result.mean, "std": result.std}
            for name, result in results.items()
        },
    }


def _test(run: Run, agent: BaseAgent) -> dict[str, EvaluationResult]:
    """Judge the last and the best policy on the same fresh episodes that no one has seen."""
    n_episodes = agent.config.test_episodes
    if n_episodes == 0:
        return {}
    results = {"last": agent.evaluate(n_episodes=n_episodes, stream="test", index=0)}
    best, last = run.checkpoint("@best"), run.checkpoint("@last")
    if best == last:
        results["best"] = results["last"]
    else:
        load_policy_state(agent.policy, load_checkpoint(best), source=best)
        results["best"] = agent.evaluate(n_episodes=n_episodes, stream="test", index=0)
    return results
