"""One training run from plan to result: folder, agent, callbacks, final test, report."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from lightning.pytorch.utilities.exceptions import SIGTERMException

from agents import build_agent
from agents.base_agent import BaseAgent
from agents.final_test import judge_policies, results_record
from agents.interrupts import RunInterruptedError, StopSignals
from agents.loading import check_policy_fits, load_policy_state
from agents.result_text import describe_debug, describe_result, describe_start, run_reference
from trainer_callbacks.build import build_callbacks, build_console
from trainer_callbacks.run_control import HELP
from utils.checkpoints import load_acting_state, rewind
from utils.config import Config, PPOConfig
from utils.environment import resolve_reward_threshold, solved_threshold
from utils.errors import CheckpointError, ConfigError, DivergedError, StorageError, UserError
from utils.keyboard import Keyboard, has_keyboard
from utils.lazy_imports import collector_paused
from utils.loggers import TOLD_BY_THE_END, ConsoleWriter
from utils.reports import write_report
from utils.rollouts import EvaluationResult
from utils.run import Run
from utils.run.heartbeat import Heartbeat
from utils.run.lock import RunLock
from utils.run.plan import TrainingPlan
from utils.spaces import spaces_differ
from utils.storage import storage_errors, write_json
from utils.text_tables import counted
from utils.trainer_factory import build_trainer
from utils.vector_envs.debugger import is_debugger_attached

if TYPE_CHECKING:
    from utils.distributed.launcher import Followers
    from utils.distributed.ranks import Ranks
    from utils.distributed.team import Team

_log = logging.getLogger("gymnasium_solver")


def train(
    plan: TrainingPlan, *, ranks: Ranks | None = None, followers: Followers | None = None
) -> int:
    """Carry out a plan: make or reopen the run folder, train, test, report.

    Args:
        plan: What is to be done.
        ranks: This process, the leader, among those that a launcher has started; None if alone.
        followers: The processes that this one has started to train with it; None without any.

    Returns:
        Exit code: 0 completed, 130 or 143 stopped by a signal or on request after saving.

    Raises:
        UserError: What went wrong, in one line; the run is marked as failed.
    """
    if ranks is None and followers is None:
        return _train(plan)
    from agents.together import lead

    return lead(plan, ranks, followers, work=_train)


def _train(plan: TrainingPlan, team: Team | None = None) -> int:
    config = resolve_machine(plan.config, plan)
    torch.set_num_threads(config.torch_threads)
    torch.autograd.set_detect_anomaly(config.debug)
    if plan.resumed_run is None:
        return _begin_run(config, plan, team)
    with RunLock(plan.resumed_run.path), Heartbeat(plan.resumed_run.path):
        return _go_on_with_run(plan.resumed_run, config, plan, team)


def build_for_plan(
    config: Config, plan: TrainingPlan, team: Team | None
) -> tuple[BaseAgent, dict[str, Any] | None]:
    """Build the agent of a plan; a new run begins with the weights that the plan names.

    Args:
        config: The plan's, as this machine can carry it out.
        plan: What is to be done.
        team: The processes that train together; None for one alone.

    Returns:
        The agent, and the state of the checkpoint that a resumed run goes on from.

    Raises:
        CheckpointError: The checkpoint does not fit the config.
    """
    state = None if plan.checkpoint is None else load_acting_state(plan.checkpoint)
    with collector_paused(keeps=False), _enough_memory(config):
        agent = build_agent(config, team=team)  # imports numba where an environment needs it
    if state is None:
        return agent, None
    try:
        _check_fits(state, agent, source=plan.checkpoint)
        if plan.resumed_run is not None:
            check_policy_fits(agent.policy, state, source=plan.checkpoint)
            return agent, state
        load_policy_state(agent.policy, state, source=plan.checkpoint, config=config)
        agent.take_over_policy(state)
    except BaseException:
        agent.close()
        raise
    return agent, None


@contextlib.contextmanager
def _enough_memory(config: Config) -> Iterator[None]:
    """Say in a line that what is built needs more memory than there is."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        if not isinstance(error, MemoryError) and "allocate" not in text:
            raise
        raise ConfigError(
            f"{config.config_id} needs more memory than there is ({text}): choose fewer n_envs, or "
            "smaller networks, stacks or rollouts"
        ) from None


def _begin_run(config: Config, plan: TrainingPlan, team: Team | None) -> int:
    agent, _ = build_for_plan(config, plan, team)
    try:
        agent.warm_up()  # a stop while it compiles leaves no folder
        run = Run.create(
            plan.runs_dir,
            config_id=config.config_id,
            config_dict=plan.config.to_dict(),
            group=plan.group,
        )
        agent.run = run
        try:
            with RunLock(run.path), Heartbeat(run.path):
                return _Session(run, agent, plan).work()
        except UserError as error:
            if error.exit_code == UserError.exit_code and agent.counters.epoch == 0:
                shutil.rmtree(run.path)  # nothing was trained: nothing half-made stays
            raise
    finally:
        agent.close()


def _go_on_with_run(run: Run, config: Config, plan: TrainingPlan, team: Team | None) -> int:
    if plan.note is not None:
        print(f"note: {plan.note}", file=sys.stderr)
    agent, state = build_for_plan(config, plan, team)
    agent.run = run
    try:
        agent.warm_up()
        return _Session(run, agent, plan, state).work()
    finally:
        agent.close()


def resolve_machine(config: Config, plan: TrainingPlan) -> Config:
    """Replace `device: auto` by what is there; under a debugger, use one in-process environment.

    A resumed run keeps its environments, and goes on without CUDA where there is none.

    Raises:
        ConfigError: CUDA is asked for and absent.
    """
    has_cuda = torch.cuda.is_available()
    is_resumed = plan.resumed_run is not None
    if config.device == "cuda" and not has_cuda and not is_resumed:
        raise ConfigError("device: cuda, but torch finds no CUDA device here; use cpu or auto")
    changes: dict[str, Any] = {}
    if config.device == "auto" or not has_cuda:
        changes["device"] = "cuda" if has_cuda else "cpu"
    is_alone = config.n_processes == 1  # several could not share one environment
    if (plan.is_debug or is_debugger_attached()) and not is_resumed and is_alone:
        changes |= {"n_envs": 1, "vectorization": "sync"}
        if isinstance(config, PPOConfig):  # a share of its rollout, which is smaller now
            changes["batch_size"] = 1.0
    return config.model_copy(update=changes)


def _check_fits(state: dict[str, Any], agent: BaseAgent, *, source: Path | None) -> None:
    differences = spaces_differ(state["spaces"], agent.describe_spaces())
    if state["algo_id"] != agent.config.algo_id:
        differences.append(f"it is of {state['algo_id']}, this run is {agent.config.algo_id}")
    if differences:
        raise CheckpointError(
            f"'{source}', which is of {state['config_id']}, does not fit "
            f"{agent.config.config_id}: {'; '.join(differences)}"
        )


class _Session:
    """One process's work on one run: it begins or goes on, fits, tests, and says how it ended."""

    def __init__(
        self,
        run: Run,
        agent: BaseAgent,
        plan: TrainingPlan,
        state: dict[str, Any] | None = None,
    ) -> None:
        self.run = run
        self.agent = agent
        self.plan = plan
        self.state = state
        self.signals = StopSignals(
            agent.interrupt, tell=self._tell_at_once, has_saved=run.has_checkpoint
        )
        self.console: ConsoleWriter | None = None
        self.keyboard: Keyboard | None = None
        self.started = time.perf_counter()
        self.results: dict[str, EvaluationResult] | None = None
        self.has_begun = False
        self.is_ended = False
        config, env = agent.config, agent.train_env
        self.solved_threshold = solved_threshold(config, env)
        self.reward_threshold = resolve_reward_threshold(config, env)
        stops_early = config.early_stop_on_eval_reward or config.early_stop_on_train_reward
        self.stop_threshold = self.reward_threshold if stops_early else None
        if agent.team is not None:
            agent.team.before_end = self._note_failure

    def work(self) -> int:
        """Train, and keep the run's status true whatever happens; returns the exit code."""
        with storage_errors(self.run.log_path):
            log_file = logging.FileHandler(self.run.log_path)
        log_file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        handlers_before = list(_log.handlers)
        _log.addHandler(log_file)
        _log.setLevel(logging.INFO)
        self.signals.install()
        try:
            return self._work()
        except RunInterruptedError as stopped:
            self._note_failure(stopped)
            raise RunInterruptedError(
                stopped.signal_number, where=stopped.where, way_back=self._way_back()
            ) from None
        except BaseException as error:
            self._note_failure(error)
            raise
        finally:
            self.signals.restore()
            if self.keyboard is not None:
                self.keyboard.close()
            for handler in [h for h in _log.handlers if h not in handlers_before]:
                _log.removeHandler(handler)
            log_file.close()

    def _work(self) -> int:
        self._begin()
        if self.agent.end_reason is None:
            self._fit()
        else:  # the last process was lost in its final test
            self.agent.stop_reason = self.agent.end_reason
            if self.agent.team is not None:
                self.agent.team.is_over = True
            self._tell_result()
        return self._end()

    def _begin(self) -> None:
        run, agent, plan = self.run, self.agent, self.plan
        is_resumed = self.state is not None
        if self.state is not None:
            self._go_on(self.state)
            if run.read_config_dict() != plan.config.to_dict():
                write_json(run.config_path, plan.config.to_dict())  # it trains for longer now
        self.has_begun = True
        run.write_status("running")
        run.write_environment_facts(
            device=agent.config.device,
            torch_threads=agent.config.torch_threads,
            vectorization=agent.train_env.vectorization_name,
            max_timesteps=agent.config.max_timesteps,
            **describe_device(agent.compute_device),
            is_debug=plan.is_debug,
            initial_checkpoint=None if is_resumed else _as_text(plan.checkpoint),
            config=plan.config.to_dict(),
        )
        if not plan.is_quiet:
            _say(describe_start(run, agent, plan))

    def _go_on(self, state: dict[str, Any]) -> None:
        agent = self.agent
        assert self.plan.checkpoint is not None
        missing = agent.load_companions(self.plan.checkpoint)
        n_lost = agent.load_checkpoint_state(state)
        if state["device"] != agent.config.device:
            print(
                f"note: the run was trained on {state['device']} and goes on on "
                f"{agent.config.device}, with other random numbers",
                file=sys.stderr,
            )
        if missing is not None:
            print(f"note: {missing}", file=sys.stderr)
        if n_removed := rewind(
            self.run.checkpoints_dir, self.plan.checkpoint, epoch=agent.counters.epoch
        ):
            print(
                f"note: the run goes back to {self.plan.checkpoint.stem}: its later rows and "
                f"{counted(n_removed, 'later checkpoint')} are removed",
                file=sys.stderr,
            )
        if n_lost:
            print(
                f"note: {n_lost} of {agent.train_env.num_envs} environments could not be restored; "
                "their running episodes count as truncated and new ones have begun",
                file=sys.stderr,
            )

    def _fit(self) -> None:
        agent, config = self.agent, self.agent.config
        if not self.plan.is_quiet:
            self.console = build_console(
                config,
                self.run,
                solved_threshold=self.solved_threshold,
                stop_threshold=self.stop_threshold,
            )
        self._find_keyboard()
        callbacks = build_callbacks(
            config,
            self.run,
            reward_threshold=self.reward_threshold,
            first_timestep=agent.counters.timesteps,
            console=self.console,
            keyboard=self.keyboard,
            tell=self._tell,
        )
        if self.state is not None:
            for callback in callbacks:
                if stored := self.state["callbacks"].get(type(callback).__name__):
                    callback.load_state_dict(stored)
        agent.on_start = self.signals.install  # Lightning has taken SIGTERM by then
        agent.on_finish = self._tell_result
        try:
            ranks = None if agent.team is None else agent.team.ranks
            build_trainer(device=config.device, callbacks=callbacks, ranks=ranks).fit(agent)
        except RuntimeError as error:
            if config.debug and "returned nan values" in str(error):
                raise DivergedError(
                    f"debug: {error} The warning above shows the line of the forward pass"
                ) from None
            # Lightning waits for the other processes too, and its words say nothing of why.
            told = None if agent.team is None else agent.team.failure_of_another()
            if told is None:
                raise
            raise told from error
        except SIGTERMException:  # it came while Lightning listened, before we did again
            raise RunInterruptedError(signal.SIGTERM, where="in the first epoch") from None

    def _tell_result(self) -> None:
        """Test the policies and say how it went, before films and report take their time."""
        agent = self.agent
        if agent.is_interrupted:
            return
        self.signals.training_is_over()
        self.results = judge_policies(self.run, agent)
        training_seconds = self._training_seconds()
        record = results_record(
            agent,
            self.results,
            training_seconds=training_seconds,
            process_seconds=time.perf_counter() - self.started,
        )
        write_json(self.run.results_path, record)
        if agent.config.debug:
            _say(describe_debug(self.run))
        _say(describe_result(self.run, agent, self.results, training_seconds=training_seconds))

    def _training_seconds(self) -> float:
        """Return the time in training to the end of the last epoch, resumed parts included."""
        if self.agent.last_row:
            return self.agent.last_row["train/time/elapsed_seconds"]
        assert self.state is not None, "without an epoch there is no result"
        return self.state["callbacks"]["DispatchMetrics"]["elapsed_seconds"]

    def _end(self) -> int:
        run, agent, received = self.run, self.agent, self.signals.received
        assert agent.stop_reason is not None, "the loop ends only when it is asked to"
        self.signals.install()  # Lightning gave them back to whom it took them from
        self.signals.training_is_over()
        is_complete = self.results is not None
        run.write_status(
            "completed" if is_complete else "interrupted", **self._facts(agent.stop_reason)
        )
        self.is_ended = True
        if not is_complete:
            print(self._way_back(), file=sys.stderr)
        write_report(
            run,
            agent.config,
            results=self.results,
            solved_threshold=self.solved_threshold,
            stop_threshold=self.stop_threshold,
            stop_reason=agent.stop_reason,
        )
        if is_complete:
            return 0
        assert agent.is_interrupted, "only a person or a signal keeps a run from its test"
        return 128 + (signal.SIGINT if received is None else received)

    def _note_failure(self, error: BaseException) -> None:
        """Write into the run why it did not come to its end; if it was refused, nothing."""
        if not self.has_begun:
            return
        is_stopped = self.signals.received is not None or isinstance(error, KeyboardInterrupt)
        if isinstance(error, UserError):
            reason = str(error)
        elif isinstance(error, KeyboardInterrupt):
            reason = "stopped by SIGINT"
        else:
            reason = f"{type(error).__name__}: {error}"
        with contextlib.suppress(StorageError):  # the first error is the one to tell
            if not (self.is_ended and isinstance(error, RunInterruptedError)):
                self.run.write_status(
                    "interrupted" if is_stopped else "failed", **self._facts(reason)
                )
            _log.error("%s", reason, extra={TOLD_BY_THE_END: True})

    def _facts(self, reason: str) -> dict[str, Any]:
        """Return what a reader of the status wants to know about the end of the run."""
        return {
            "reason": reason,
            "timesteps": self.agent.counters.timesteps,
            "saved_timesteps": self.run.saved_timesteps(),
        }

    def _way_back(self) -> str:
        """Say what is saved, and how to go on with it."""
        if self.is_ended and self.results is not None:
            return "the run is complete but for its report"
        saved = self.run.saved_timesteps()
        if saved is None:
            return "nothing was saved yet, so there is nothing to resume"
        return (
            f"saved {self.run.path} at {saved:,} timesteps; go on with: "
            f"python train.py --resume {run_reference(self.run)}"
        )

    def _find_keyboard(self) -> None:
        """Let keys act while it trains, where somebody can press them and no debugger reads."""
        if self.plan.is_debug or is_debugger_attached() or not has_keyboard():
            return
        console = self.console
        self.keyboard = Keyboard() if console is None else Keyboard(on_return=console.begin_anew)
        if console is not None:
            console.message(HELP)

    def _tell(self, text: str, *, is_logged: bool = False) -> None:
        """Show a line to the person at the keyboard, if the console has not it from the log."""
        if self.console is None:
            sys.stderr.write(f"{text}\n")  # in one piece, whichever thread it comes from
            sys.stderr.flush()
        elif not is_logged:
            self.console.message(text)

    def _tell_at_once(self, text: str) -> None:
        """Tell the person at the terminal something, wherever the process stands."""
        if self.console is not None and self.console.is_live:
            self.console.message(text)
        else:
            print(f"\n{text}", file=sys.stderr, flush=True)


def describe_device(device: torch.device) -> dict[str, Any]:
    """Return what results of a device may depend on, as JSON values."""
    facts: dict[str, Any] = {"cpu_capability": torch.backends.cpu.get_cpu_capability()}
    if device.type == "cuda":
        facts |= {
            "device_name": torch.cuda.get_device_name(device),
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
        }
    return facts


def _as_text(path: Path | None) -> str | None:
    return None if path is None else str(path.resolve())


def _say(text: str) -> None:
    """Print, unless the reader of our output (head, less) went away: the work goes on."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
