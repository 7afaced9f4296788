"""Compile before training, not in it: one tiny rollout and update that leave no trace."""

from __future__ import annotations

import contextlib
import copy
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import torch
from numba.core import event

from agents.rollout_setup import build_rollout_buffer
from utils.compiled.returns import compiled_generalized_advantage
from utils.config import PPOConfig
from utils.dataloaders import UpdateBatch
from utils.optimization import build_optimizer
from utils.policy_factory import ActorCritic
from utils.rollouts import RolloutBuffer
from utils.rollouts.compiled_collector import CompiledCollector

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

_N_STEPS = 2


class _StopBetweenPasses(event.Listener):
    """Raises in the compiler's own Python, where nothing swallows it."""

    is_wanted = False

    def on_start(self, started: event.Event) -> None:
        """Stop before a pass of the compiler, if it is wanted."""
        del started
        if self.is_wanted:
            raise KeyboardInterrupt

    def on_end(self, ended: event.Event) -> None:
        """Needed by the listener's interface."""


@contextlib.contextmanager
def stoppable_compiler() -> Iterator[None]:
    """Let SIGINT stop the compiler between two of its passes.

    In the middle of one the exception may hit a callback of LLVM, which prints and drops it.

    Raises:
        KeyboardInterrupt: SIGINT came.
    """
    if threading.current_thread() is not threading.main_thread():  # it gets no signals
        yield
        return
    listener = _StopBetweenPasses()

    def stop(number: int, frame: object) -> None:
        del number, frame
        listener.is_wanted = True
        print("\nSIGINT: stopping as soon as the compiler lets go", file=sys.stderr, flush=True)

    before = signal.signal(signal.SIGINT, stop)
    try:
        with event.install_listener("numba:run_pass", listener):
            yield
        if listener.is_wanted:
            raise KeyboardInterrupt
    finally:
        signal.signal(signal.SIGINT, before)


def warm_up_rollouts(env: VectorEnv, policy: ActorCritic) -> None:
    """Call what a `CompiledCollector` of these calls, on environments and weights of its own."""
    from gym_envs.simd import SimdVectorEnv

    # An axis of length 1 has another memory layout for the compiler than a longer one.
    tiny = SimdVectorEnv(env.env_id, min(env.num_envs, 2), copy=False)
    generator = torch.Generator()
    collector = CompiledCollector(
        tiny, copy.deepcopy(policy), device=torch.device("cpu"), generator=generator, seed=0
    )
    collector.reset(seed=0)
    collector.collect(build_rollout_buffer(tiny, policy, n_steps=_N_STEPS), n_steps=_N_STEPS)
    tiny.set_state(tiny.get_state())  # a resumed run does


def warm_up_update(
    env: VectorEnv,
    policy: ActorCritic,
    config: PPOConfig,
    *,
    hyperparameters: Mapping[str, float],
) -> None:
    """Call what compiled returns and updates of these call, on weights and zeros of its own."""
    from agents.ppo.ppo_compiled import PPOCompiledUpdate

    twin = copy.deepcopy(policy)
    optimizer = build_optimizer(
        config.optimizer,
        twin.parameters(),
        lr=hyperparameters["policy_lr"],
        kwargs=config.optimizer_kwargs,
    )
    buffer = RolloutBuffer(
        n_steps=_N_STEPS,
        n_envs=min(env.num_envs, 2),
        observation_space=env.single_observation_space,
        distribution=policy.distribution,
    )
    buffer.begin(_N_STEPS)
    advantage, returns = compiled_generalized_advantage(
        reward=buffer.reward,
        value=buffer.value,
        next_value=buffer.next_value,
        terminated=buffer.terminated,
        done=buffer.done,
        gamma=hyperparameters["gamma"],
        gae_lambda=hyperparameters["gae_lambda"],
    )
    buffer.finish(advantage=advantage, returns=returns, device=torch.device("cpu"))
    batch = UpdateBatch("update", torch.arange(buffer.n_samples)[None], buffer)
    PPOCompiledUpdate(twin, config).update(batch, hyperparameters, optimizer=optimizer)
