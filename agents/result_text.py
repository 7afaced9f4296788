"""What a person reads when training starts and when it is through."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from utils.config import ReplayConfig
from utils.config.algos.sized import SizedKwargs
from utils.config.catalog import find_cpu_variants
from utils.rollouts import EvaluationResult
from utils.run import Run
from utils.run.plan import TrainingPlan
from utils.text_tables import counted

if TYPE_CHECKING:
    from agents.base_agent import BaseAgent

_MOST_NAMED = 4


def describe_start(run: Run, agent: BaseAgent, plan: TrainingPlan) -> str:
    """Say what is trained, on what, and where it goes."""
    config, env = agent.config, agent.train_env
    n_parameters = sum(p.numel() for p in agent.policy.parameters())
    beginning = ""
    if plan.resumed_run is not None:
        beginning = f", going on from {plan.checkpoint.name}"
    elif plan.checkpoint is not None:
        beginning = f", weights of {plan.checkpoint}"
    note = ""
    if env.vectorization_name == "torch" and agent.compute_device.type == "cpu":
        note = (
            "\nnote: torch environments are made for a GPU; on a CPU simd is the fast vectorization"
        )
    note += _warn_of_missing_gpu(agent, plan)
    return (
        f"{config.config_id}: {_environments(agent)}, "
        f"{n_parameters:,} parameters on {config.device}, seed {config.seed}, "
        f"{run.path}{beginning}{note}" + "".join(f"\n{line}" for line in agent.describe_learning())
    )


def _warn_of_missing_gpu(agent: BaseAgent, plan: TrainingPlan) -> str:
    """Say that a config for a GPU is trained on a CPU, and what else there is; "" otherwise."""
    missing = plan.config.missing_gpu(has_gpu=agent.compute_device.type != "cpu")
    if missing is None or plan.resumed_run is not None:
        return ""
    others = find_cpu_variants(plan.config.config_id)[:_MOST_NAMED]
    instead = [f"for a CPU there is {', '.join(others)}"] if others else []
    shape = plan.config.policy_kwargs
    if isinstance(shape, SizedKwargs) and shape.named_size not in (None, "tiny"):
        instead.append("--set policy_kwargs.size=tiny makes the model smaller")
    instead.append("--set device=cpu says that it is meant")
    return f"\nwarning: this config is {missing}, so it may take very long: {'; '.join(instead)}"


def _environments(agent: BaseAgent) -> str:
    env, share = agent.train_env, agent.share
    if share is None:
        return counted(env.num_envs, f"{env.vectorization_name} environment")
    n = share.total // share.n
    return f"{share.total} {env.vectorization_name} environments in {n} processes"


def describe_result(
    run: Run,
    agent: BaseAgent,
    results: dict[str, EvaluationResult],
    *,
    training_seconds: float,
) -> str:
    """Say how training ended, how good the policy is, and what can be done with it.

    Args:
        run: The folder.
        agent: As it is at the end.
        results: Test of the "best" and the "last" policy; may be empty.
        training_seconds: Time in training to the end of the last epoch, resumed parts included.
    """
    counters, config = agent.counters, agent.config
    lines = [
        f"{config.config_id}: {agent.stop_reason} after {counters.timesteps:,} timesteps "
        f"({counted(counters.epoch, 'epoch')}) in {training_seconds:.1f} s of training"
    ]
    if results and results["best"] is results["last"]:
        lines.append(f"  result  {describe_evaluation(results['last'])}")
    else:
        lines += [f"  {name:7} {describe_evaluation(result)}" for name, result in results.items()]
    if isinstance(config, ReplayConfig) and counters.updates == 0:
        lines.append(f"  warning no update was made: {config.why_no_update(counters.timesteps)}")
    lines += [
        f"  run     {run.path}",
        f"  watch   python run_play.py --run-id {run_reference(run)}",
    ]
    return "\n".join(lines)


def describe_evaluation(result: EvaluationResult) -> str:
    """Say the mean return, its 95 % interval, and what was asked: '500.0 ± 0.0 (...)'."""
    how = "greedy" if result.is_deterministic else "sampled"
    unfinished = f", {result.n_unfinished} not finished in time" if result.n_unfinished else ""
    if result.mean is None:
        return f"no episode finished ({result.n_unfinished} begun, {how})"
    half_width = result.confidence_half_width()
    interval = "" if half_width is None else f" ± {half_width:.2f}"
    return (
        f"mean return {result.mean:.2f}{interval} "
        f"(95 % interval, {counted(len(result.returns), 'fresh episode')}, {how}{unfinished})"
    )


def run_reference(run: Run) -> str:
    """Return what a person types to name the run: its id in `runs/`, its path elsewhere."""
    return run.id if str(run.path.parent) == "runs" else shlex.quote(str(run.path))


def describe_debug(run: Run) -> str:
    """Return the profile of a run with `debug`, and where the rest of what it found is."""
    folder = run.path / "debug"
    table = (folder / "profile.txt").read_text(encoding="utf-8").rstrip()
    return (
        f"{table}\n"
        f"  trace       {folder / 'trace.json'} (opens in ui.perfetto.dev)\n"
        f"  statistics  {folder / 'statistics.jsonl'} (weights, gradients, activations by epoch)"
    )
