"""ALE's own vector environment, made to keep the contract of ours."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from ale_py.vector_env import AtariVectorEnv
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from typing_extensions import override

from gym_envs.atari.emulator import count_actions, find_rom, read_screen_size
from utils.errors import CheckpointError, EnvironmentFailedError
from utils.vector_envs.base_vector_env import BaseVectorEnv, EnvFacts

_FRAMES_PER_SECOND = 60
_N_SEEDS = 2**31  # ALE's seeds are non-negative and of 32 bits with a sign


class NativeAtariVectorEnv(BaseVectorEnv):
    """N games that threads of ALE's step, equal bit for bit to one `AtariEnv` each.

    ALE gives a new set of arrays with every step, so what `step` returns is never written to
    again. Of the learner's wrappers it knows two: a lost life may end the learner's episode, as
    `EpisodicLife` does it, and rewards may be clipped. Both are worked out here from the lives
    and points that ALE tells, so that the game and its reported return go on. Should ALE's limit
    in frames be met in the very step in which a life is lost, the truncation is what is told.

    `send` and `recv` are the two halves of `step`; with `split`, one part of the environments can
    play while a policy thinks about the other.

    The state of a game cannot be saved: after `set_state` all games begin anew, from a stretch of
    random numbers that depends on the seed and on the steps so far.
    """

    vectorization_name = "native"

    def __init__(  # noqa: PLR0913 - what a family's adapter knows
        self,
        game: str,
        *,
        env_id: str,
        n_envs: int,
        n_threads: int | None,
        max_episode_steps: int | None,
        ends_with_life: bool,
        reward_bounds: tuple[float, float] | None,
        ale_settings: Mapping[str, Any],
        screen_size: Sequence[int] | None,
    ) -> None:
        """Describe the games; they are loaded when they are first reset.

        Args:
            game: Name of the ROM.
            env_id: Id of the environment.
            n_envs: Number of games N, at least 1.
            n_threads: Threads that step them; None for one per core.
            max_episode_steps: Steps after which a game is truncated, beside ALE's limit in frames.
            ends_with_life: A lost life ends the learner's episode.
            reward_bounds: (low, high) of the learner's rewards; None leaves them as they are.
            ale_settings: Arguments of ALE's class that say what is played and shown.
            screen_size: (height, width) of the pictures; None for the screen's.

        Raises:
            ConfigError: The game has no ROM.
        """
        find_rom(game)
        self._game, self._ale_settings = game, dict(ale_settings)
        self._n_threads = n_threads or _count_cores()
        self._screen_size = read_screen_size(game) if screen_size is None else tuple(screen_size)
        self._ends_with_life, self._reward_bounds = ends_with_life, reward_bounds
        self._parts: tuple[NativeAtariVectorEnv, ...] = ()
        self._ale: AtariVectorEnv | None = None
        self._is_closed = False
        self._describe(
            EnvFacts(
                env_id=env_id,
                max_episode_steps=max_episode_steps,
                reward_threshold=None,
                render_fps=round(_FRAMES_PER_SECOND / ale_settings["frameskip"]),
                render_mode=None,
                reports_raw_reward=reward_bounds is not None,
                reports_episode_over=ends_with_life,
            ),
            n_envs=n_envs,
            observation_space=self._find_space(),
            action_space=spaces.Discrete(
                count_actions(game, full_action_space=self._ale_settings["full_action_space"])
            ),
            metadata={},
        )
        self._seed: int | None = None
        self._n_steps = 0
        self._is_started = False
        self._lives = np.zeros(n_envs, np.int32)
        self._ages = np.zeros(n_envs, np.int64)
        self._game_steps = np.zeros(n_envs, np.int64)

    def _find_space(self) -> spaces.Box:
        n_channels = 1 if self._ale_settings["grayscale"] else 3
        n_stacked = self._ale_settings["stack_num"]
        return spaces.Box(0, 255, (n_channels * n_stacked, *self._screen_size), np.uint8)

    def split(self, n_parts: int) -> tuple[NativeAtariVectorEnv, ...]:
        """Divide the games among vector environments that are stepped by themselves.

        The parts take over: this one then steps, resets and closes them together, at the price of
        a copy of the observations. Part p holds the games p N / n_parts to (p + 1) N / n_parts,
        and a `reset` of all, here, gives every game the seed that it has without parts. Each part
        has as many threads as all had.

        Args:
            n_parts: How many; N must be a multiple of it.
        """
        assert not self._is_started, "split() comes before the first reset()"
        assert not self._parts, "split once only"
        assert self.num_envs % n_parts == 0, (self.num_envs, n_parts)
        self._parts = tuple(
            NativeAtariVectorEnv(
                self._game,
                env_id=self.env_id,
                n_envs=self.num_envs // n_parts,
                n_threads=self._n_threads,
                max_episode_steps=self.max_episode_steps,
                ends_with_life=self._ends_with_life,
                reward_bounds=self._reward_bounds,
                ale_settings=self._ale_settings,
                screen_size=self._screen_size,
            )
            for _ in range(n_parts)
        )
        return self._parts

    @property
    def parts(self) -> tuple[NativeAtariVectorEnv, ...]:
        """What `split` made; empty before."""
        return self._parts

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin a new game everywhere; `options` say nothing here."""
        if seed is not None:
            self._seed_action_spaces(seed)
            self._seed = seed
        seeds = None if seed is None else np.arange(seed, seed + self.num_envs) % _N_SEEDS
        return self._restart(seeds), {}

    def _restart(self, seeds: np.ndarray | None) -> np.ndarray:
        """Begin a new game everywhere, with seeds (N,) or going on; return the observation."""
        self._is_started = True
        if self._parts:
            rows = [None] * len(self._parts) if seeds is None else np.split(seeds, len(self._parts))
            return np.concatenate(
                [part._restart(own) for part, own in zip(self._parts, rows, strict=True)]
            )
        observation, infos = self._open_ale().reset(seed=seeds)
        self._lives = infos["lives"]
        self._ages.fill(0)
        self._game_steps.fill(0)
        self._repeat_first_frames(observation, self._ages)
        return self._arrange(observation)

    @override
    def step(
        self, actions: np.ndarray
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        self.send(actions)
        return self.recv()

    def send(self, actions: np.ndarray) -> None:
        """Begin a step of all games; `recv` ends it.

        Args:
            actions: (N,) values of the action space. The caller may write to them afterwards.

        Raises:
            EnvironmentFailedError: The games have been closed.
        """
        actions = self._check_actions(actions).copy()
        if not self._parts:
            n_actions = self.single_action_space.n
            assert ((actions >= 0) & (actions < n_actions)).all(), (actions, n_actions)
            self._open_ale().send(actions)
            return
        for part, own in zip(self._parts, np.split(actions, len(self._parts)), strict=True):
            part.send(own)

    def recv(self) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Wait for the step that `send` began; return what `step` returns.

        Raises:
            EnvironmentFailedError: ALE raised, or the games have been closed.
        """
        self._n_steps += 1
        if self._parts:
            return _join([part.recv() for part in self._parts])
        try:
            observation, points, terminated, truncated, told = self._open_ale().recv()
        except (RuntimeError, ValueError, IndexError) as error:
            raise EnvironmentFailedError(
                f"{self.env_id} raised {type(error).__name__} in step {self._n_steps}: {error}"
            ) from error
        final = told.get("final_obs")
        over = terminated | truncated
        lost = (told["lives"] < self._lives) & ~over if self._ends_with_life else None
        late = self._find_late(over)
        final = self._keep_final_rows(final, observation, late if lost is None else late | lost)
        if late.any():
            observation, told = self._open_ale().reset(options={"reset_mask": late})
            over, truncated = over | late, truncated | late
        if lost is not None:
            terminated, truncated = terminated | lost, truncated & ~lost
        self._lives = told["lives"]
        done = terminated | truncated
        self._ages += 1
        if final is not None:
            self._repeat_first_frames(final, np.where(done, self._ages, final.shape[1]))
        self._ages[done] = 0
        self._repeat_first_frames(observation, self._ages)
        infos = self._build_own_infos(points, over, done=done, final=final)
        reward = points.astype(np.float64)
        if self._reward_bounds is not None:
            np.clip(reward, *self._reward_bounds, out=reward)
        return self._arrange(observation), reward, terminated, truncated, infos

    def _find_late(self, over: np.ndarray) -> np.ndarray:
        """Count the steps of each game; return (N,) bool, which of those not over must end."""
        self._game_steps += 1
        if self.max_episode_steps is None:
            return np.zeros_like(over)
        late = (self._game_steps >= self.max_episode_steps) & ~over
        self._game_steps[late | over] = 0
        return late

    @staticmethod
    def _keep_final_rows(
        final: np.ndarray | None, observation: np.ndarray, ended: np.ndarray
    ) -> np.ndarray | None:
        """Add the observations in which episodes ended for us to those in which games did."""
        rows = np.flatnonzero(ended)
        if len(rows) == 0:
            return final
        if final is None:
            final = np.zeros_like(observation)
        final[rows] = observation[rows]
        return final

    def _repeat_first_frames(self, stacks: np.ndarray, ages: np.ndarray) -> None:
        """Fill the frames before an episode's first with the first, where ALE has black ones.

        Args:
            stacks: (N, S, H, W, ...) frames, oldest first; changed in place.
            ages: (N,) steps since the learner's episode began.
        """
        n_stacked = stacks.shape[1]
        for i in np.flatnonzero(ages < n_stacked - 1):
            first = n_stacked - 1 - ages[i]
            stacks[i, :first] = stacks[i, first]

    def _arrange(self, stacks: np.ndarray) -> np.ndarray:
        """Return stacks (N, S, H, W) as they are, coloured (N, S, H, W, 3) as (N, 3 S, H, W)."""
        if stacks.ndim == len(self.observation_space.shape):
            return stacks
        return stacks.transpose(0, 1, 4, 2, 3).reshape(self.observation_space.shape)

    def _build_own_infos(
        self, points: np.ndarray, over: np.ndarray, *, done: np.ndarray, final: np.ndarray | None
    ) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        if final is not None:
            infos["final_obs"] = self._arrange(final)
            infos["_final_obs"] = done
        if self._reward_bounds is not None:
            infos["raw_reward"] = points.astype(np.float64)
        if self._ends_with_life:
            infos["episode_over"] = over
        return infos

    @override
    def get_state(self) -> dict[str, Any]:
        """Return what new games are begun from after `set_state`; no running game is saved."""
        assert self._is_started, "reset() comes before get_state()"
        return {
            "kind": self.vectorization_name,
            "n_envs": self.num_envs,
            "seed": self._seed,
            "n_steps": max([self._n_steps, *(part._n_steps for part in self._parts)]),
            "generators": self._export_generators(),
        }

    @override
    def set_state(self, state: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Begin new games everywhere: the observation (N, ...), and (N,) bool, all false."""
        if state.get("kind") != self.vectorization_name:
            saved = state.get("kind", "sync")
            raise CheckpointError(
                f"the saved state of {self.env_id} is of vectorization: {saved}, and the run's "
                f"config.json leads to {self.vectorization_name} now: put "
                f'"vectorization": "{saved}" back into it'
            )
        if state["n_envs"] != self.num_envs:
            raise CheckpointError(
                f"the saved state is of {state['n_envs']} environments of {self.env_id}, not of "
                f"{self.num_envs}: resume with n_envs: {state['n_envs']}"
            )
        self._load_generators(state["generators"])
        self._seed, self._n_steps = state["seed"], state["n_steps"]
        for part in self._parts:
            part._n_steps = self._n_steps
        entropy = [self._seed or 0, self._n_steps]
        seeds = np.random.SeedSequence(entropy).generate_state(self.num_envs).astype(np.int64)
        return self._restart(seeds % _N_SEEDS), np.zeros(self.num_envs, np.bool_)

    @override
    def close_extras(self, **kwargs: Any) -> None:
        """End the threads and give back the memory."""
        for part in self._parts:
            part.close()
        if self._ale is not None:
            self._ale.ale = None  # what holds the threads
        self._ale, self._is_closed = None, True

    def _open_ale(self) -> AtariVectorEnv:
        """Return ALE's vector environment; loading a game takes it some 0.07 s each."""
        if self._is_closed:
            raise EnvironmentFailedError(f"the games of {self.env_id} have been closed")
        if self._ale is None:
            height, width = self._screen_size
            self._ale = AtariVectorEnv(
                self._game,
                self.num_envs,
                **self._ale_settings,
                num_threads=self._n_threads,
                img_height=height,
                img_width=width,
                autoreset_mode=AutoresetMode.SAME_STEP,
                reward_clipping=False,
                episodic_life=False,
            )
        return self._ale


def _join(steps: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Lay what several `recv` returned behind one another."""
    *columns, told = zip(*steps, strict=True)
    observation, reward, terminated, truncated = (np.concatenate(column) for column in columns)
    infos = {}
    for key in sorted(set().union(*told)):
        sample = next(part[key] for part in told if key in part)
        # Where no episode of a part ended, it has no final observations.
        infos[key] = np.concatenate([part.get(key, np.zeros_like(sample)) for part in told])
    return observation, reward, terminated, truncated, infos


def _count_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
