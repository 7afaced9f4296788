"""One run by several processes: the leader does what one process would, the others follow."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import torch

from gym_envs.compile_notice import leave_saying_to_another
from utils.distributed.launcher import describe_end
from utils.distributed.ranks import Ranks
from utils.distributed.team import PeerFailedError, Team
from utils.distributed.watch import Watch
from utils.errors import UserError
from utils.run.plan import TrainingPlan

if TYPE_CHECKING:
    from utils.distributed.launcher import Followers

_LEADERS_TURN_SECONDS = 0.5
"""What befalls all processes alike is told by the leader."""
_PATIENCE_SECONDS = 20.0
"""How long a process may take to notice by itself, at an exchange of the CPU, that one is gone."""


def lead(
    plan: TrainingPlan,
    ranks: Ranks | None,
    followers: Followers | None,
    *,
    work: Callable[[TrainingPlan, Team], int],
) -> int:
    """Carry out a plan with other processes, and end with all of them.

    Args:
        plan: What all of them do.
        ranks: This process as a launcher has named it; None with `followers`.
        followers: The processes that this one has started; None where a launcher did.
        work: Trains, and keeps the run's status true whatever happens.

    Returns:
        The exit code: that of the process which failed first, or of the work.

    Raises:
        UserError: What went wrong here, before it did elsewhere.
    """
    own = ranks if followers is None else followers.leader
    assert own is not None
    is_done = False
    try:
        team = Team(own, store_file=None if followers is None else followers.store)
        try:
            use_own_gpu(own)
            team.share(plan)
            with watching(team, followers):
                code = work(plan, team)
            is_done = True
            return code
        except PeerFailedError as error:
            if error.is_told:
                return error.exit_code
            raise (_as_system_says(followers) or error) from None
        except UserError as error:
            if not team.tell_failure(str(error), exit_code=error.exit_code):
                return error.exit_code  # another process has told it
            raise
        except BaseException as error:
            team.tell_failure(f"rank 0: {type(error).__name__}: {error}", exit_code=1)
            raise
        finally:
            team.close()
    finally:
        if followers is not None:
            followers.close()
            for line in followers.late_failures() if is_done else []:
                print(f"note: {line}, after its part was done", file=sys.stderr)


def follow(ranks: Ranks) -> int:
    """Train as a process that is not the leader: nothing is written, nothing said but a failure.

    What fails once its part is done takes nothing from the run, which the leader tests and writes
    by itself: it is told in one line, and the process has ended well for whoever launched it.

    Returns:
        The exit code.
    """
    ignore_signals()
    leave_saying_to_another("the leader of the team speaks")
    try:
        team = Team(ranks)
    except PeerFailedError as error:
        return error.exit_code
    code = _take_part(team)
    try:
        team.close()
    except RuntimeError as error:
        if not team.is_over:
            raise
        _note_late_failure(team, str(error))
    return code


def _take_part(team: Team) -> int:
    """Do a follower's part, and tell whoever has to know what goes wrong in it."""
    try:
        use_own_gpu(team.ranks)
        plan = team.share()
        with watching(team, None):
            _train(plan, team)
    except PeerFailedError as error:
        return 0 if team.is_over else error.exit_code
    except UserError as error:
        if team.is_over:
            return _note_late_failure(team, str(error))
        time.sleep(_LEADERS_TURN_SECONDS)
        message = _with_rank(str(error), team)
        if team.tell_failure(message, exit_code=error.exit_code):
            for line in message.splitlines():
                print(f"error: {line}", file=sys.stderr)
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - the end of a process: whoever is first tells all
        if team.is_over:
            return _note_late_failure(team, f"{type(error).__name__}: {error}")
        if team.failure_of_another() is None:
            text = f"rank {team.rank}: {type(error).__name__}: {error}"
            if team.tell_failure(text, exit_code=1):
                traceback.print_exc()
                print(f"error: {text}", file=sys.stderr)
        return 1
    return 0


def _note_late_failure(team: Team, text: str) -> int:
    """Tell what went wrong after this process had done its part; returns its exit code."""
    line = " ".join(text.split())
    print(f"note: rank {team.rank} failed after its part was done: {line}", file=sys.stderr)
    return 0


def watching(team: Team, followers: Followers | None) -> AbstractContextManager[object]:
    """Return the context in which this process ends with others, even if it waits for them.

    Exchanges of the CPU notice that a process is gone; those of GPUs wait for it for ever.
    """
    if not exchanges_may_hang():
        return nullcontext()

    def find_loss() -> PeerFailedError | None:
        if team.is_over:
            return None
        told = team.told_failure()
        return _as_system_says(followers) if told is None else told

    def end(loss: PeerFailedError) -> None:
        team.before_end(loss)
        if not loss.is_told:
            print(f"error: {loss}", file=sys.stderr, flush=True)
        if followers is not None:
            followers.abandon()
        os._exit(loss.exit_code)

    return Watch(find_loss, end, patience_seconds=_PATIENCE_SECONDS)


def exchanges_may_hang() -> bool:
    """Say whether some exchanges are those of GPUs."""
    return torch.cuda.is_available()


def ignore_signals() -> None:
    """Leave Ctrl-C and SIGTERM to the leader, who lets the epoch end and saves."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def use_own_gpu(ranks: Ranks) -> None:
    """Make the GPU of this process the one that is meant where none is named."""
    if torch.cuda.is_available():
        torch.cuda.set_device(ranks.local_rank % torch.cuda.device_count())


def _train(plan: TrainingPlan, team: Team) -> None:
    from agents.training import build_for_plan, resolve_machine
    from trainer_callbacks.hyperparameter_scheduler import HyperparameterScheduler
    from utils.trainer_factory import build_trainer

    config = resolve_machine(plan.config, plan)
    torch.set_num_threads(config.torch_threads)
    torch.autograd.set_detect_anomaly(config.debug)
    agent, state = build_for_plan(config, plan, team)
    try:
        agent.warm_up()
        if state is not None:
            assert plan.checkpoint is not None
            agent.load_companions(plan.checkpoint)
            agent.load_checkpoint_state(state)
        agent.on_start = ignore_signals  # Lightning has taken SIGTERM by then
        if agent.end_reason is None:
            callbacks = [HyperparameterScheduler()]
            build_trainer(device=config.device, callbacks=callbacks, ranks=team.ranks).fit(agent)
        team.is_over = True
    finally:
        agent.close()


def _with_rank(message: str, team: Team) -> str:
    name = f"rank {team.rank}: "
    return message if message.startswith(name) else name + message


def _as_system_says(followers: Followers | None) -> PeerFailedError | None:
    """Return what the system knows of a process that is gone; None where it knows of none."""
    ended = None if followers is None else followers.first_end()
    if ended is None:
        return None
    rank, code = ended
    exit_code = 128 - code if code < 0 else code
    return PeerFailedError(describe_end(rank, code), exit_code=exit_code, is_told=False)
