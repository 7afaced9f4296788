"""The life of an agent: environments, collection, updates, evaluation, saved state."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import gymnasium as gym
import torch
from lightning.pytorch import LightningModule
from torch.utils.data import DataLoader
from typing_extensions import override

from agents.conductor import Conductor
from utils.config import Config
from utils.dataloaders import DataSource
from utils.device_rollouts import evaluate_on_device
from utils.distributed.share import Share
from utils.environment import build_env_from_config, build_evaluation_env
from utils.errors import CheckpointError, DivergedError
from utils.metrics import Counters, MetricsRecorder
from utils.models.critic_ensemble import CriticEnsemble
from utils.policy_factory import ActorCritic
from utils.rollouts import (
    EvaluationResult,
    RolloutSummary,
    evaluate_policy,
)
from utils.run import Run
from utils.schedules import ScheduleSpec, schedule_value
from utils.seeding import (
    Stream,
    derive_seed,
    global_generator_state,
    seed_global_generators,
    set_global_generator_state,
)
from utils.spaces import space_to_dict

if TYPE_CHECKING:
    from utils.distributed.team import Team

_log = logging.getLogger("gymnasium_solver")
_STATE = "state"
"""Of the leader: what is yours alone of a checkpoint?"""


def hyperparameters_at(config: Config, *, timesteps: int) -> dict[str, float]:
    """Return the value of every hyperparameter that may follow a schedule."""
    return {
        name: schedule_value(value, timesteps=timesteps, max_timesteps=config.max_timesteps)
        for name, value in config.hyperparameters.items()
    }


class BaseAgent(LightningModule):
    """What all agents share: environments, evaluation, stopping, saved state; no mathematics.

    An algorithm says what its policy is (`build_models`), what it learns from (`build_source`), and
    what it does in an epoch (`learn_from`). One Lightning epoch is one batch of the source.
    `OnPolicyAgent` and `ReplayAgent` say most of that for their kinds.
    """

    calmer_numbers = "or normalize_obs and normalize_reward"
    """Settings that make the numbers smaller which are learnt from, as the end of an advice."""

    def __init__(self, config: Config, *, run: Run | None = None, team: Team | None = None) -> None:
        """Build environments and networks from a config.

        Args:
            config: Frozen; its seed decides every random number.
            run: Where results go; None trains without a folder.
            team: The processes that train together, each with its share of the environments; None
                for one alone.
        """
        super().__init__()
        self.automatic_optimization = False
        self.config = config
        self.run = run
        self.team = team
        self.share: Share | None = None
        self.conductor: Conductor | None = None
        if team is not None:
            self.share = Share.of_rank(config.n_envs, rank=team.rank, size=team.size)
            self.conductor = Conductor(team)
            self.conductor.answer(_STATE, lambda _: self.state_of_rank())
        self.counters = Counters()
        self.recorder = MetricsRecorder()
        self.hyperparameters = hyperparameters_at(config, timesteps=0)
        self.last_row: dict[str, float] = {}
        self.stop_reason: str | None = None
        self.is_interrupted = False
        self.on_start: Callable[[], None] = lambda: None
        self.on_finish: Callable[[], None] = lambda: None
        self.n_evaluations = 0
        self.best_return: float | None = None
        self._eval_env: gym.vector.VectorEnv | None = None
        self.compute_device = torch.device(config.device)

        seed_global_generators(config.seed)
        self.train_env = build_env_from_config(
            config, n_envs=None if self.share is None else self.share.n
        )
        try:
            self.policy = self.build_models(
                config, self.train_env.single_observation_space, self.train_env.single_action_space
            ).to(self.compute_device)
            self.build_learner()
            self.source = self.build_source()
            if team is not None:
                self.join_team(team)
        except BaseException:
            self.train_env.close()  # its worker processes would outlive us
            raise

    # -- what an algorithm says ---------------------------------------------------------------

    @staticmethod
    @abstractmethod
    def build_models(
        config: Config, observation_space: gym.Space, action_space: gym.Space
    ) -> ActorCritic:
        """Build the networks for a pair of single spaces; needs no agent, so play can call it."""

    @staticmethod
    def build_critic(
        config: Config, observation_space: gym.Space, action_space: gym.Space
    ) -> CriticEnsemble | None:
        """Build the critics that value actions, for a pair of single spaces; None without any."""
        del config, observation_space, action_space
        return None

    @abstractmethod
    def build_source(self) -> DataSource:
        """Say what the agent learns from."""

    @abstractmethod
    def learn_from(self, batch: Any) -> None:
        """Do the work of one epoch that a batch of the source stands for, and count it.

        It ends with `finish_epoch`.
        """

    def build_learner(self) -> None:
        """Build what learning needs beside the policy: target networks, critics, optimisers."""

    def join_team(self, team: Team) -> None:
        """Let what was built for one process work with others."""
        raise AssertionError(f"{type(self).__name__} is trained by one process, not {team.size}")

    def begin_epoch(self) -> None:
        """Do what comes before the source's loader is asked for the batch of an epoch."""

    def learner_state(self) -> dict[str, Any]:
        """Return the state of what learns, as plain containers and tensors."""
        return {}

    def load_learner_state(self, state: dict[str, Any]) -> None:
        """Restore what `learner_state` returned, out of a whole checkpoint's state."""

    def save_companions(self, checkpoint: Path) -> None:
        """Write what is too large for a checkpoint beside it; called before it is written."""

    def load_companions(self, checkpoint: Path) -> str | None:
        """Read what `save_companions` wrote; called before `load_checkpoint_state`.

        Returns:
            What a person should know of what is missing, or None.
        """

    def take_over_policy(self, state: Mapping[str, Any]) -> None:
        """Let what learns begin where the policy is, which has just got weights of another run.

        Args:
            state: The whole checkpoint of that run.
        """

    def describe_learning(self) -> list[str]:
        """Say in a few lines what a person should know of the learning before it begins."""
        return []

    def networks_by_name(self) -> dict[str, torch.nn.Module]:
        """Return everything that learns or follows what learns, as people call it."""
        return {"policy": self.policy}

    def all_optimizers(self) -> list[torch.optim.Optimizer]:
        """Return the optimisers of the run."""
        return []

    def phases(self) -> list[tuple[Any, str, str]]:
        """Return what a profile measures: an object, its method, and what people call it."""
        return [(self.policy, "act", "policy")]

    @property
    def seed_index(self) -> int:
        """Which seed of a stream this process takes; 0 where all go by the seed of one process."""
        return 0

    @property
    def end_reason(self) -> str | None:
        """Say why training is through; None while the config asks for more."""
        is_spent = self.counters.timesteps >= self.config.max_timesteps
        return "max_timesteps reached" if is_spent else None

    def warm_up(self) -> None:
        """Have what is compiled ready before the clock of training runs; changes nothing else."""

    # -- Lightning's hooks ----------------------------------------------------------------------

    @override
    def configure_optimizers(self) -> None:
        """Tell Lightning of no optimiser: it steps none, saves none and counts none."""

    @override
    def train_dataloader(self) -> DataLoader[Any]:
        return self.source.loader

    @override
    def transfer_batch_to_device(
        self, batch: Any, device: torch.device, dataloader_idx: int
    ) -> Any:
        return batch.to(device)

    @override
    def on_fit_start(self) -> None:
        if not self.source.has_started:
            self.source.reset(seed=derive_seed(self.config.seed, "train", self.seed_index))

    @override
    def on_train_start(self) -> None:
        # Lightning has put its own handler of SIGTERM in place by now.
        self.on_start()

    @override
    def on_train_epoch_end(self) -> None:
        # Told to Lightning only here, between two epochs: earlier it would skip the update.
        reason = self.stop_reason
        if self.conductor is not None:
            reason = self._agree_on_epoch(self.conductor, reason)
        if reason is not None:  # one that comes after the others were told waits for the next epoch
            self.trainer.should_stop = True

    @override
    def on_train_end(self) -> None:
        # The callbacks have saved the last checkpoint by now.
        if self.team is not None and self.conductor is not None:
            if self.team.is_leader:
                self.conductor.leave()
            else:
                self.conductor.follow(self._sum_of_weights())
            self.team.is_over = True
        self.on_finish()

    def _agree_on_epoch(self, conductor: Conductor, reason: str | None) -> str | None:
        """Let the leader say why training ends; None where it goes on."""
        assert self.team is not None
        if self.team.is_leader:
            conductor.begin_epoch(reason, self._sum_of_weights())
            return reason
        self.recorder.flush()  # the leader's are written
        of_leader = conductor.follow(self._sum_of_weights())
        if of_leader is not None:
            self.request_stop(of_leader)
        return of_leader

    def _sum_of_weights(self) -> torch.Tensor:
        networks = self.networks_by_name().values()
        sums = [p.detach().double().abs().sum() for n in networks for p in n.parameters()]
        return torch.stack(sums).sum()

    @override
    def on_train_epoch_start(self) -> None:
        self.begin_epoch()

    @override
    def training_step(self, batch: Any, batch_idx: int) -> None:
        assert batch_idx == 0, "one batch is one whole epoch"
        self.learn_from(batch)

    # -- one epoch ------------------------------------------------------------------------------

    def counts_now(self) -> tuple[int, int]:
        """Return timesteps and updates of the run, with those of the running epoch where known.

        Another thread may ask at any time.
        """
        return self.counters.timesteps, self.counters.updates

    @property
    def phases_done(self) -> float:
        """How many phases are carried out, with the share of the running one; NaN without any."""
        return float("nan")

    def finish_epoch(self) -> None:
        """Record what holds at the end of an epoch, and count it."""
        self._record_state()
        self.counters.epoch += 1

    def count(self, summary: RolloutSummary) -> None:
        """Count what was collected."""
        self.counters.timesteps += summary.n_timesteps
        self.counters.vec_steps += summary.n_vec_steps
        self.counters.episodes += summary.n_episodes

    def _record_state(self) -> None:
        """Record what holds at the end of an epoch: hyperparameters, counters, exploration."""
        record = self.recorder.record
        for name, schedule in self.config.hyperparameters.items():
            if name == "policy_lr" or isinstance(schedule, ScheduleSpec):
                record(f"train/hp/{name}", self.hyperparameters[name])
        for name, count in self.counters.to_dict().items():
            # The epoch that is running is counted when it is through.
            record(f"train/cnt/{name}", float(count + (name == "epoch")))
        std = self.policy.action_std()
        if std is not None:
            record("train/policy/std", std)

    def stop_diverged(self, key: str, value: float, *, where: str = "") -> NoReturn:
        """End the run because a metric is not a finite number.

        Raises:
            DivergedError: Always; it names the metric and the place.
        """
        is_saved = self.run is not None and self.run.has_checkpoint()
        before = "the last checkpoint is from" if is_saved else "nothing was saved"
        raise DivergedError(
            f"{key} is {value} at epoch {self.counters.epoch + 1}, "
            f"{where}timestep {self.counters.timesteps} of "
            f"{self.config.env_id}; {before} before it. Try a lower policy_lr or "
            f"max_grad_norm, {self.calmer_numbers}"
        )

    # -- evaluation -----------------------------------------------------------------------------

    def evaluate(
        self,
        *,
        policy: ActorCritic | None = None,
        n_episodes: int | None = None,
        stream: Stream = "val",
        index: int | None = None,
    ) -> EvaluationResult:
        """Judge the policy on fresh episodes; training goes on as if this had not happened.

        Args:
            policy: Who is judged; the agent's own policy if None.
            n_episodes: Episodes; the config's number if None.
            stream: Which seeds: "val" while training, "test" at the end.
            index: Which seeds of the stream; the epoch if None, so that no two evaluations of a
                run share them.
        """
        config = self.config
        if self._eval_env is None:
            self._eval_env = build_evaluation_env(config)
        index = self.counters.epoch if index is None else index
        n_episodes = n_episodes or config.eval_episodes
        # Third-party environments may draw from Python's and NumPy's global generators.
        generators = global_generator_state()
        is_on_device = self._eval_env.vectorization_name == "torch"
        # The quick way keeps no memory.
        is_quick = is_on_device and not self.policy.has_memory
        judge = evaluate_on_device if is_quick else evaluate_policy
        result = judge(
            policy or self.policy,
            self._eval_env,
            n_episodes=n_episodes,
            seed=derive_seed(config.seed, stream, index),
            deterministic=config.eval_deterministic,
            device=self.compute_device,
            timeout_seconds=config.eval_timeout_seconds * n_episodes / config.eval_episodes,
            max_episode_steps=config.eval_max_episode_steps,
        )
        set_global_generator_state(generators)
        if stream == "val":
            self._take_evaluation(result)
        return result

    def _take_evaluation(self, result: EvaluationResult) -> None:
        self.n_evaluations += 1
        record = self.recorder.record
        record("val/time/seconds", result.seconds)
        record("val/roll/n_episodes", float(len(result.returns)))
        record("val/roll/n_unfinished", float(result.n_unfinished))
        if result.mean is None or result.n_unfinished:
            # The episodes that did finish are the short ones: their mean is not the policy's.
            _log.warning(
                "evaluation at epoch %d: %d of %d episodes did not finish; it counts for nothing",
                self.counters.epoch,
                result.n_unfinished,
                result.n_unfinished + len(result.returns),
            )
            return
        if self.best_return is None or result.mean > self.best_return:
            self.best_return = result.mean
        record("val/roll/ep_rew_mean", result.mean)
        record("val/roll/ep_rew_min", min(result.returns))
        record("val/roll/ep_rew_max", max(result.returns))
        record("val/roll/ep_len_mean", sum(result.lengths) / len(result.lengths))
        record("val/roll/ep_rew_best", self.best_return)
        if result.std is not None:
            record("val/roll/ep_rew_std", result.std)
        for name, mean in result.metrics.items():
            record(f"val/env/{name}", mean)

    # -- stopping and saved state ---------------------------------------------------------------

    def request_stop(self, reason: str) -> None:
        """Stop training after the running epoch; the first reason is the one that is kept."""
        if self.stop_reason is None:
            self.stop_reason = reason

    def interrupt(self, reason: str) -> None:
        """Stop after the running epoch because a person or the machine wants us gone."""
        self.is_interrupted = True
        self.request_stop(reason)

    def describe_spaces(self) -> dict[str, Any]:
        """Return the spaces that the networks were made for, as plain values."""
        return {
            "observation": space_to_dict(self.train_env.single_observation_space),
            "action": space_to_dict(self.train_env.single_action_space),
        }

    def state_of_rank(self) -> dict[str, Any]:
        """Return what a checkpoint holds of each of several processes."""
        return {"source": self.source.state_dict(), "generators": global_generator_state()}

    def checkpoint_state(self) -> dict[str, Any]:
        """Return everything that training needs to go on as if it had never stopped.

        Where several processes train, the leader alone calls it, and it holds the state of all.
        """
        states = [self.state_of_rank()] if self.conductor is None else self.conductor.ask(_STATE)
        others = {"ranks": states[1:]} if len(states) > 1 else {}
        callbacks = getattr(self._trainer, "callbacks", []) if self._trainer else []
        return {
            "format_version": 1,
            "algo_id": self.config.algo_id,
            "config_id": self.config.config_id,
            "device": self.config.device,
            "spaces": self.describe_spaces(),
            "policy": self.policy.state_dict(),
            **self.learner_state(),
            "counters": self.counters.to_dict(),
            **states[0],
            **others,
            "n_evaluations": self.n_evaluations,
            "best_return": self.best_return,
            "callbacks": {
                type(callback).__name__: state
                for callback in callbacks
                if (state := callback.state_dict())
            },
        }

    def load_checkpoint_state(self, state: dict[str, Any]) -> int:
        """Restore what `checkpoint_state` returned; callbacks take theirs when fitting starts.

        Returns:
            How many environments could not be restored and began a new episode.
        """
        self.load_policy_state(state)
        self.load_learner_state(state)
        self.counters = Counters.from_dict(state["counters"])
        self.n_evaluations = state["n_evaluations"]
        self.best_return = state["best_return"]
        own = self._state_of_this_rank(state)
        n_lost = self.source.load_state_dict(own["source"])
        set_global_generator_state(own["generators"])
        return n_lost

    def _state_of_this_rank(self, state: dict[str, Any]) -> dict[str, Any]:
        size = 1 if self.team is None else self.team.size
        n_saved = 1 + len(state.get("ranks", ()))
        if n_saved != size:
            raise CheckpointError(
                f"the checkpoint is of {n_saved} processes, and {size} are here to go on with it"
            )
        rank = 0 if self.team is None else self.team.rank
        return state if rank == 0 else state["ranks"][rank - 1]

    def load_policy_state(self, state: dict[str, Any]) -> None:
        """Restore networks and normaliser only."""
        self.policy.load_state_dict(state["policy"])

    def close(self) -> None:
        """Close all environments; safe to call twice."""
        self.train_env.close()
        if self._eval_env is not None:
            self._eval_env.close()
            self._eval_env = None
