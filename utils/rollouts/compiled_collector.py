"""Collect a rollout in one compiled call: simd environments and a small actor-critic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import VectorEnv
from typing_extensions import override

from utils.compiled.eligibility import why_not_compiled
from utils.distributed.share import Share
from utils.errors import EnvironmentFailedError
from utils.normalization.observation import StaticNormalizer
from utils.policy_factory import ActorCritic
from utils.rollouts.buffer import RolloutBuffer
from utils.rollouts.collector import Collector, RolloutSummary
from utils.rollouts.episode_stats import FinishedEpisodes

if TYPE_CHECKING:
    from utils.distributed.team import Team


def why_not_collected(
    env: VectorEnv, policy: ActorCritic, *, normalizes_reward: bool
) -> str | None:
    """Say in a few words why `CompiledCollector` cannot collect; None if it can."""
    if getattr(env, "vectorization_name", None) != "simd":
        return "the environments are not simd"
    if policy.normalizer.learns:
        return "observations are normalised by running moments"
    if normalizes_reward:
        return "rewards are normalised"
    return why_not_compiled(policy)


class CompiledCollector(Collector):
    """Does what `Collector` does, with random numbers of its own kind.

    What it stores is what a `Collector` would have stored had it drawn the same actions. Whole
    episodes (`collect_episodes`) are collected step by step.
    """

    def __init__(
        self,
        env: VectorEnv,
        policy: ActorCritic,
        *,
        device: torch.device,
        generator: torch.Generator,
        seed: int,
    ) -> None:
        """Bind environment and policy.

        Args:
            env: A `SimdVectorEnv`.
            policy: One for which `why_not_collected` has nothing to say.
            device: The CPU.
            generator: Draws the actions where episodes are collected step by step.
            seed: Decides the actions of rollouts.
        """
        # numba takes a third of a second to import: only who needs it waits.
        from utils.compiled.policy import CompiledPolicy

        super().__init__(env, policy, device=device, generator=generator)
        self._layout = CompiledPolicy.of(policy)
        self._key = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
        self._position = 0
        """Random numbers drawn so far."""
        n_dims = 0 if self._layout.log_std_at < 0 else self._layout.n_outputs
        self._words_per_env = max(1, n_dims)
        self._n_all, self._first = env.num_envs, 0
        width = self._layout.actor.widths[0]
        self._zeros, self._ones = np.zeros(width, np.float32), np.ones(width, np.float32)
        self._rules = self._action_rules()
        # Views of memory that stays where it is, made once for each owner.
        self._views_of_env: dict[int, Any] = {}
        self._views_of_buffer: tuple[RolloutBuffer | None, Any] = (None, None)

    @property
    def _words_per_step(self) -> int:
        return self._n_all * self._words_per_env

    @override
    def join(self, team: Team, share: Share) -> None:
        super().join(team, share)
        self._n_all, self._first = share.total, share.first

    @override
    @torch.inference_mode()
    def collect(self, buffer: RolloutBuffer, *, n_steps: int) -> RolloutSummary:
        from utils.compiled.rollout import FINE, EpisodeArrays, collect_steps

        buffer.begin(n_steps)
        layout, n_envs = self._layout, self.env.num_envs
        env, step = self._env_arrays()
        episodes = EpisodeArrays(
            *self.stepper.tracker.running,
            np.empty(n_steps * n_envs),
            np.empty(n_steps * n_envs, dtype=np.int64),
        )
        n_finished, (outcome, t) = collect_steps(
            layout.actor,
            layout.critic,
            layout.scratch,
            layout.packed,
            layout.log_std_at,
            layout.segments,
            layout.addresses(),
            step,
            env,
            self._rules,
            self._observation_scale(),
            self._rollout_arrays(buffer),
            episodes,
            self._key,
            np.uint64(self._position + self._first * self._words_per_env),
            self._n_all,
            n_steps,
        )
        self.stepper.n_vec_steps += t
        if outcome != FINE:
            self._refuse(outcome)
        self._position += n_steps * self._words_per_step
        self.stepper.take(env.observation)
        returns = episodes.finished_return[:n_finished].tolist()
        lengths = episodes.finished_length[:n_finished].tolist()
        self.stepper.tracker.add_finished(returns, lengths)
        if self.stepper.finished is not None:
            self.stepper.finished += self._by_step(buffer, returns, lengths)
        return self._summarize(n_steps, returns)

    def _by_step(
        self, buffer: RolloutBuffer, returns: list[float], lengths: list[int]
    ) -> list[tuple[int, FinishedEpisodes]]:
        """Return the finished episodes with their vector step; they are in the order of it."""
        steps, environments = buffer.rows(buffer.done).nonzero().unbind(dim=1)
        begin = self.stepper.n_vec_steps - buffer.n_steps + 1
        rows = zip(steps.tolist(), environments.numpy(), returns, lengths, strict=True)
        return [
            (begin + t, FinishedEpisodes(np.array([i]), np.array([r]), np.array([length])))
            for t, i, r, length in rows
        ]

    def _env_arrays(self) -> tuple[Any, tuple[int, int]]:
        """Return the arrays that the environments work on now, and how to step them."""
        arrays = self.env.arrays
        views = self._views_of_env.get(id(arrays))
        if views is None:
            views = self._views_of_env[id(arrays)] = self._view_env(arrays)
        return views[:2]

    def _view_env(self, arrays: Any) -> tuple[Any, tuple[int, int], Any]:
        from gym_envs.simd.arrays import address_table
        from utils.compiled.rollout import EnvArrays

        is_choice = arrays.action.ndim == 1
        table = address_table(arrays)
        views = EnvArrays(
            choice=arrays.action if is_choice else np.empty(0, dtype=np.int32),
            action=np.empty(0, dtype=np.float32) if is_choice else arrays.action.reshape(-1),
            observation=arrays.observation,
            reward=arrays.reward,
            terminated=arrays.terminated,
            truncated=arrays.truncated,
            final_observation=arrays.final_observation.T,
        )
        # The table and the arrays are kept with their addresses.
        return views, (self.env.step_pointer, table.ctypes.data), (table, arrays)

    def _action_rules(self) -> Any:
        from utils.compiled.rollout import ActionRules

        space = self.env.single_action_space
        if isinstance(space, gym.spaces.Discrete):
            return ActionRules(int(space.start), *np.empty((2, 0), dtype=np.float32))
        return ActionRules(0, space.low.reshape(-1), space.high.reshape(-1))

    def _observation_scale(self) -> Any:
        from utils.compiled.rollout import ObservationScale

        normalizer = self.policy.normalizer
        if isinstance(normalizer, StaticNormalizer):
            return ObservationScale(
                normalizer.centre.numpy().reshape(-1), normalizer.half_range.numpy().reshape(-1)
            )
        return ObservationScale(self._zeros, self._ones)

    def _rollout_arrays(self, buffer: RolloutBuffer) -> Any:
        if self._views_of_buffer[0] is not buffer:
            self._views_of_buffer = (buffer, self._view_buffer(buffer))
        return self._views_of_buffer[1]

    def _view_buffer(self, buffer: RolloutBuffer) -> Any:
        from utils.compiled.rollout import RolloutArrays

        lead = (buffer.capacity, buffer.n_envs)
        action = buffer.action.numpy()
        is_choice = self._layout.log_std_at < 0
        return RolloutArrays(
            observation=buffer.observation.numpy().reshape(*lead, -1),
            choice=action if is_choice else np.empty((0, 0), dtype=np.int64),
            action=(
                np.empty((0, 0, 0), dtype=np.float32) if is_choice else action.reshape(*lead, -1)
            ),
            logprob=buffer.logprob.numpy(),
            value=buffer.value.numpy(),
            next_value=buffer.next_value.numpy(),
            reward=buffer.reward.numpy(),
            terminated=buffer.terminated.numpy(),
            truncated=buffer.truncated.numpy(),
        )

    def _refuse(self, outcome: int) -> NoReturn:
        from utils.compiled.rollout import BAD_FINAL_OBSERVATION, BAD_REWARD

        arrays = self.env.arrays
        name, values = {
            BAD_REWARD: ("reward", arrays.reward[:, None]),
            BAD_FINAL_OBSERVATION: ("final observation", arrays.final_observation),
        }.get(outcome, ("observation", arrays.observation))
        bad = ~np.isfinite(values).all(axis=1)
        if outcome == BAD_FINAL_OBSERVATION:
            bad &= arrays.truncated
        index = int(np.flatnonzero(bad)[0])
        raise EnvironmentFailedError(
            f"environment {index} of {self.env.env_id} returned a {name} that is not finite at "
            f"vector step {self.stepper.n_vec_steps + 1}: {values[index]}; earlier checkpoints are "
            "intact"
        )

    @override
    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {
            "sampling": {"key": int(self._key), "position": self._position}
        }

    @override
    def load_state_dict(self, state: dict[str, Any]) -> int:
        n_lost = super().load_state_dict(state)
        sampling = state.get("sampling")
        if sampling is None:  # saved by a collector that draws by the generator
            self._position = state["n_vec_steps"] * self._words_per_step
        else:
            self._key = np.uint64(sampling["key"])
            self._position = sampling["position"]
        return n_lost
