"""Mishaps that happen to a training process at a chosen moment.

A fault is named `<what>:<when>`, where `when` counts from 1 in the process that it befalls;
those without a number hold from the start.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Callable
from typing import Any


def arrange(fault: str) -> None:
    """Let a fault happen later in this process."""
    name, *arguments = fault.split(":")
    _FAULTS[name](*(int(text) if text.isdigit() else text for text in arguments))


def _at_call(owner: Any, name: str, when: int, happen: Callable[..., None]) -> None:
    """Call `happen` with the arguments of the `when`-th call of a function, right before it."""
    original = getattr(owner, name)
    n_calls = 0

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        if n_calls == when:
            happen(*args, **kwargs)
        return original(*args, **kwargs)

    setattr(owner, name, wrapped)


def _be_impatient() -> None:
    """No pause is longer than a hundredth of a second: waits for another attempt cost nothing."""
    import time

    sleep = time.sleep
    time.sleep = lambda seconds: sleep(min(seconds, 0.01))


def _die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _write_half(state: Any, file: Any) -> None:
    import torch

    content = io.BytesIO()
    torch.serialization.save(state, content)
    file.write(content.getvalue()[: len(content.getvalue()) // 2])
    file.flush()


def _kill_in_epoch(when: int) -> None:
    """SIGKILL between rollout and update of an epoch, or after both where they take turns."""
    from agents.imitation_agent import ImitationAgent
    from agents.on_policy_agent import OnPolicyAgent
    from agents.ppo.eager_loop import EagerLoop
    from agents.replay_agent import ReplayAgent
    from agents.world_models.world_models_agent import WorldModelsAgent

    _at_call(ImitationAgent, "_record", when, _die)
    _at_call(OnPolicyAgent, "update_from", when, _die)
    _at_call(ReplayAgent, "_record", when, _die)
    _at_call(WorldModelsAgent, "_advance", when, _die)
    _at_call(EagerLoop, "run", when, _die)


def _kill_in_save(when: int) -> None:
    """SIGKILL when half of a checkpoint is written."""
    import torch

    def happen(state: Any, file: Any) -> None:
        _write_half(state, file)
        _die()

    _at_call(torch, "save", when, happen)


def _kill_before_link(when: int) -> None:
    """SIGKILL when a checkpoint is written and `best` or `last` does not point to it yet."""
    from trainer_callbacks import model_checkpoint

    _at_call(model_checkpoint, "point", when, _die)


def _full_disk_in_save(when: int) -> None:
    """No space left when half of a checkpoint is written."""
    import torch

    def happen(state: Any, file: Any) -> None:
        _write_half(state, file)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    _at_call(torch, "save", when, happen)


def _full_disk_in_rows(when: int) -> None:
    """No space left for a line of metrics.csv or metrics.jsonl, from that line on."""
    from utils.storage import AppendFile

    def happen(self: AppendFile, line: bytes) -> None:
        del line
        self.close()
        self._descriptor = os.open("/dev/full", os.O_RDWR | os.O_APPEND)

    _at_call(AppendFile, "append", when, happen)


def _signal_in_epoch(when: int, number: int, times: int = 1) -> None:
    """A signal to this process between rollout and update of an epoch, once or more often."""
    from agents.on_policy_agent import OnPolicyAgent

    def happen(*_: Any) -> None:
        for _time in range(times):
            os.kill(os.getpid(), number)

    _at_call(OnPolicyAgent, "update_from", when, happen)


def _signal_in_rollout(when: int, number: int) -> None:
    """A signal to this process while it collects the rollout of an epoch."""
    from utils.dataloaders import RolloutSource

    _at_call(RolloutSource, "collect", when, lambda *_: os.kill(os.getpid(), number))


def _environment_in_rollout(when: int) -> None:
    """An environment fails while the rollout of an epoch is collected."""
    from utils.dataloaders import RolloutSource
    from utils.errors import EnvironmentFailedError

    def happen(*_: Any) -> None:
        raise EnvironmentFailedError("environment 1 of Test-v0 broke")

    _at_call(RolloutSource, "collect", when, happen)


def _signal_in_collection(when: int, number: int) -> None:
    """A signal to this process while it collects experience for a buffer."""
    from utils.dataloaders import ReplaySource

    _at_call(ReplaySource, "collect", when, lambda *_: os.kill(os.getpid(), number))


def _environment_in_collection(when: int) -> None:
    """An environment fails while experience for a buffer is collected."""
    from utils.dataloaders import ReplaySource
    from utils.errors import EnvironmentFailedError

    def happen(*_: Any) -> None:
        raise EnvironmentFailedError("environment 1 of Test-v0 broke")

    _at_call(ReplaySource, "collect", when, happen)


def _bug_in_rollout(when: int) -> None:
    """The program itself is wrong while the rollout of an epoch is collected."""
    from utils.dataloaders import RolloutSource

    def happen(*_: Any) -> None:
        raise ZeroDivisionError("a mistake of the program")

    _at_call(RolloutSource, "collect", when, happen)


def _hang_in_rollout(when: int) -> None:
    """The main thread hangs, as in an exchange of GPUs, while the rollout of an epoch is due."""
    import threading

    from agents import together
    from utils.dataloaders import RolloutSource

    together.exchanges_may_hang = lambda: True
    together._PATIENCE_SECONDS = 0.1
    _at_call(RolloutSource, "collect", when, lambda *_: threading.Event().wait())


def _bug_in_closing() -> None:
    """The program itself is wrong when an agent is closed."""
    from agents.base_agent import BaseAgent

    def happen(*_: Any) -> None:
        raise ZeroDivisionError("a mistake of the program")

    _at_call(BaseAgent, "close", 1, happen)


def _gone_in_closing(number: int) -> None:
    """A signal ends this process when the agent is closed."""
    from agents.base_agent import BaseAgent

    def happen(*_: Any) -> None:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    _at_call(BaseAgent, "close", 1, happen)


def _same_seeds() -> None:
    """Processes that should have seeds of their own take the same."""
    from agents.ppo.ppo_agent import PPOAgent

    PPOAgent.seed_index = property(lambda self: 0)  # type: ignore[assignment,misc]


def _other_weights(when: int) -> None:
    """This process computes something else than the others from an update on."""
    from agents.on_policy_agent import OnPolicyAgent

    def happen(self: OnPolicyAgent, *_: Any) -> None:
        next(self.policy.parameters()).data.add_(0.5)

    _at_call(OnPolicyAgent, "finish_epoch", when, happen)


def _signal_in_test(number: int) -> None:
    """A signal to this process while the finished policy is tested."""
    from agents import training

    _at_call(training, "judge_policies", 1, lambda *_: os.kill(os.getpid(), number))


def _signal_in_report(number: int, times: int = 1) -> None:
    """A signal to this process when it writes the report, once or more often."""
    from agents import training

    def happen(*_: Any, **__: Any) -> None:
        for _time in range(times):
            os.kill(os.getpid(), number)

    _at_call(training, "write_report", 1, happen)


def _signal_before_training(number: int) -> None:
    """A signal to this process when Lightning has begun and does not listen yet."""
    from agents.on_policy_agent import OnPolicyAgent

    _at_call(OnPolicyAgent, "on_fit_start", 1, lambda *_: os.kill(os.getpid(), number))


def _signal_to_lightning(number: int) -> None:
    """A signal to this process when Lightning listens and we do not yet again."""
    from agents.on_policy_agent import OnPolicyAgent

    _at_call(OnPolicyAgent, "train_dataloader", 1, lambda *_: os.kill(os.getpid(), number))


def _without(package: str) -> None:
    """Let a package look as if it were not installed."""
    for module in list(sys.modules):
        if module.split(".")[0] == package:
            del sys.modules[module]
    sys.modules[package] = None  # type: ignore[assignment]


def _no_links() -> None:
    """Let no link be made, as on a file system that has none."""

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    os.symlink = refuse


_FAULTS: dict[str, Callable[..., None]] = {
    "kill-in-epoch": _kill_in_epoch,
    "kill-in-save": _kill_in_save,
    "kill-before-link": _kill_before_link,
    "full-disk-in-save": _full_disk_in_save,
    "full-disk-in-rows": _full_disk_in_rows,
    "signal-in-epoch": _signal_in_epoch,
    "signal-in-rollout": _signal_in_rollout,
    "environment-in-rollout": _environment_in_rollout,
    "signal-in-collection": _signal_in_collection,
    "environment-in-collection": _environment_in_collection,
    "hang-in-rollout": _hang_in_rollout,
    "bug-in-rollout": _bug_in_rollout,
    "other-weights": _other_weights,
    "bug-in-closing": _bug_in_closing,
    "gone-in-closing": _gone_in_closing,
    "same-seeds": _same_seeds,
    "signal-in-test": _signal_in_test,
    "signal-in-report": _signal_in_report,
    "signal-before-training": _signal_before_training,
    "signal-to-lightning": _signal_to_lightning,
    "without": _without,
    "no-links": _no_links,
    "impatient": _be_impatient,
}
