"""What every vector env here has in common: facts, spaces, seeding of action spaces."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from typing_extensions import override

from utils.errors import CheckpointError, ConfigError, EnvironmentFailedError
from utils.vector_envs.action_mask import ACTION_MASK, FINAL_ACTION_MASK, mask_width
from utils.vector_envs.step_arrays import StepArrays

_DEFAULT_RENDER_FPS = 30
_FASTER_WITH_INTS = ("gymnasium.envs.box2d.", "minigrid.")
"""Where the environments lie that reckon with a Python int, in a step, faster than with NumPy's."""
_HAND_ON_INTS = ("gymnasium.wrappers.", "gym_envs.minigrid.", "minigrid.")
"""Where the wrappers lie that do the same with either."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvFacts:
    """What is known of an environment beside its spaces.

    Attributes:
        env_id: Its id.
        max_episode_steps: Limit after which an episode is truncated, or None.
        reward_threshold: Mean return that counts as solved, or None.
        render_fps: Frames per second of its pictures.
        render_mode: The mode it renders in, or None.
        reports_raw_reward: A wrapper changes the reward.
        reports_episode_over: A wrapper changes where episodes end.
    """

    env_id: str
    max_episode_steps: int | None
    reward_threshold: float | None
    render_fps: int
    render_mode: str | None
    reports_raw_reward: bool
    reports_episode_over: bool


def find_reward_source(env: gym.Env) -> gym.Env | None:
    """Return the innermost wrapper that changes the reward: its `raw_reward` is the true one."""
    return _innermost(env, "changes_reward")


def find_termination_source(env: gym.Env) -> gym.Env | None:
    """Return the innermost wrapper that changes where episodes end: it has `episode_over`."""
    return _innermost(env, "changes_termination")


def find_memories(env: gym.Env) -> list[gym.Wrapper]:
    """Return the wrappers that remember more than one episode, outermost first.

    They have `get_memory()`, which returns arrays and plain containers, and `set_memory(memory)`.
    """
    found = []
    while isinstance(env, gym.Wrapper):
        if hasattr(type(env), "get_memory"):
            found.append(env)
        env = env.env
    return found


def takes_ints(env: gym.Env) -> bool:
    """Say whether choices are to be Python ints: the environment is known to be faster with them.

    Others, and functions of a user's that a wrapper calls, may count on a NumPy integer.
    """
    if not isinstance(env.action_space, gym.spaces.Discrete):
        return False
    while isinstance(env, gym.Wrapper):
        is_known = type(env).__module__.startswith(_HAND_ON_INTS)
        if not is_known or isinstance(env, gym.wrappers.TransformAction):
            return False
        env = env.env
    return type(env).__module__.startswith(_FASTER_WITH_INTS)


def _innermost(env: gym.Env, attribute: str) -> gym.Env | None:
    found = None
    while isinstance(env, gym.Wrapper):
        if getattr(type(env), attribute, False):
            found = env
        env = env.env
    return found


def read_facts(env: gym.Env, *, env_id: str) -> EnvFacts:
    """Read the facts of one built environment."""
    spec = env.spec
    return EnvFacts(
        env_id=env_id,
        max_episode_steps=_step_limit(env, env_id=env_id),
        reward_threshold=None if spec is None else spec.reward_threshold,
        render_fps=int(env.metadata.get("render_fps") or _DEFAULT_RENDER_FPS),
        render_mode=env.render_mode,
        reports_raw_reward=find_reward_source(env) is not None,
        reports_episode_over=find_termination_source(env) is not None,
    )


def _step_limit(env: gym.Env, *, env_id: str) -> int | None:
    """Return the limit set from outside, or the one that the environment says it has itself.

    An environment whose episodes end after a number of steps by its own rules has that number in
    its attribute `max_episode_steps`.

    Raises:
        ConfigError: A limit was set that is longer than the environment's own episodes.
    """
    own = getattr(env.unwrapped, "max_episode_steps", None)
    limit = None if env.spec is None else env.spec.max_episode_steps
    if own is not None and limit is not None and limit > own:
        raise ConfigError(
            f"max_episode_steps: {limit} has no effect: {env_id} ends its episodes itself after "
            f"{own} steps; an argument of the environment (env_kwargs) may change that"
        )
    return own if limit is None else limit


class BaseVectorEnv(VectorEnv):
    """A vector env with SAME_STEP autoreset and arrays in and out.

    `step` returns arrays that stay valid until the next `step` has returned; whoever keeps them
    longer copies them. `terminated` and `truncated` are never both true: where an environment
    reports both, the decision process has ended and `terminated` wins, unless it was built with
    `timeout_sets_terminated` (a family that reports a time-out as both), where `truncated` does.

    Where something ended, `infos["final_obs"]` is shaped like the observation, and its rows count
    where `infos["_final_obs"]` (N,) bool is true. `infos["raw_reward"]` (N,) float64 is there
    when a wrapper changes the reward, `infos["episode_over"]` (N,) bool when a wrapper changes
    where episodes end. `infos["action_mask"]` (N, n) bool is there, at a reset too, where masks
    were asked for: which actions the state that is observed now allows. Where something ended
    there is `infos["final_action_mask"]`, whose rows count where an episode was truncated: all of
    them where the environment does not tell, or allows none.
    `infos["episode_metrics"]` is there when an environment told of an episode that ended
    (`info["episode_metrics"]`, numbers by name): (N,) float64 by name, NaN where none did. Actions
    are values of `action_space` itself: a Discrete space with a start gets start, start + 1, ...

    Attributes:
        max_episode_steps: Limit after which an episode is truncated, or None.
        reward_threshold: Mean return that counts as solved, or None.
        render_fps: Frames per second of its pictures.
        env_id: The environment's id.
        vectorization_name: "sync" or "async".
    """

    vectorization_name: str
    _arrays: tuple[StepArrays, StepArrays]
    _turn: int
    _mask_width: int

    @abstractmethod
    @override
    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all environments.

        Args:
            seed: Environment i gets seed + i, or the i-th of a list (environments that are stepped
                one by one); the action spaces are seeded with the first. None goes on with the
                generators as they are.
            options: Passed to each environment.

        Returns:
            The observation (N, ...) and infos.

        Raises:
            EnvironmentFailedError: An environment raised or returned another shape, or a worker
                process died or hangs.
        """

    @abstractmethod
    @override
    def step(
        self, actions: np.ndarray
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step all environments; those that end begin a new episode in the same call.

        Args:
            actions: (N, ...) values of the action space.

        Returns:
            Observation (N, ...), reward (N,) float64, terminated (N,) bool, truncated (N,) bool,
            infos. The arrays stay valid until the next call has returned.

        Raises:
            EnvironmentFailedError: An environment raised, or a worker process died or hangs; it
                is named.
        """

    @abstractmethod
    def get_state(self) -> dict[str, Any]:
        """Return everything needed to go on with the running episodes, in plain containers.

        Of the random streams of an environment only the core's `np_random` is kept; those of the
        wrappers around it, and others that the core may have, are not. Wrappers that remember more
        than one episode are kept by what they say of themselves; see `find_memories`.

        Raises:
            AssertionError: There was no reset before.
            EnvironmentFailedError: A worker process died or hangs.
        """

    @abstractmethod
    def set_state(self, state: dict[str, Any]) -> tuple[Any, np.ndarray]:
        """Go on with the episodes of a saved state, by replaying their actions.

        A replay is compared by the last observation, the last reward and the core's `np_random`;
        not by the reward where a wrapper's memory of earlier episodes has a say in it.
        Where a wrapper draws from a stream of its own, the replay draws anew from wherever that
        stream is: what it changes of the observation or the reward is noticed, but a restored
        episode need not go on as the saved one would have.

        Args:
            state: What `get_state` of any of these classes returned, for as many environments.

        Returns:
            The observation (N, ...), and (N,) bool: whether the replay led to the saved
            observation, reward and generator bit for bit. Where it did not, a new episode has
            begun, and the running one counts as truncated.

        Raises:
            CheckpointError: The state is of another number of environments.
            EnvironmentFailedError: An environment raised, or a worker process died or hangs.
        """

    @property
    def action_mask(self) -> np.ndarray | None:
        """(N, n) bool, which actions the current states allow; None without masks."""
        return self._arrays[self._turn].action_masks if self._mask_width else None

    def _describe(
        self,
        facts: EnvFacts,
        *,
        n_envs: int,
        observation_space: gym.Space,
        action_space: gym.Space,
        metadata: dict[str, Any],
        has_masks: bool = False,
    ) -> None:
        self._mask_width = (mask_width(action_space) or 0) if has_masks else 0
        self.facts = facts
        self.num_envs = n_envs
        self.single_observation_space = observation_space
        # A copy: seeding it must not touch what the first environment draws from its own.
        self.single_action_space = copy.deepcopy(action_space)
        self.observation_space = batch_space(observation_space, n_envs)
        self.action_space = batch_space(action_space, n_envs)
        self.metadata = {**metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.render_mode = facts.render_mode
        self.env_id = facts.env_id
        self.max_episode_steps = facts.max_episode_steps
        self.reward_threshold = facts.reward_threshold
        self.render_fps = facts.render_fps
        self._action_shape = self.action_space.shape
        self._action_dtype = np.dtype(self.single_action_space.dtype)

    def _own_seeds(self, seed: int | list[int] | None) -> list[int] | None:
        """Return the seed of each environment."""
        if seed is None:
            return None
        seeds = seed if isinstance(seed, list) else [seed + i for i in range(self.num_envs)]
        assert len(seeds) == self.num_envs, (len(seeds), self.num_envs)
        return seeds

    def _seed_action_spaces(self, seed: int) -> None:
        self.action_space.seed(seed)
        self.single_action_space.seed(seed)

    def _check_actions(self, actions: Any) -> np.ndarray:
        """Assert the shape and kind of a batch of actions; return them in the space's dtype.

        An array that is right already is returned as it is.
        """
        actions = np.asarray(actions)
        assert actions.shape == self._action_shape, (actions.shape, self._action_shape)
        if actions.dtype != self._action_dtype:
            assert np.can_cast(actions.dtype, self._action_dtype, "same_kind"), (
                actions.dtype,
                self._action_dtype,
            )
            actions = actions.astype(self._action_dtype)
        return actions

    def _assemble(self, leaves: list[np.ndarray]) -> Any:
        """Return leaf arrays as the observation: one array, or a dict of them."""
        space = self.single_observation_space
        if not isinstance(space, gym.spaces.Dict):
            return leaves[0]
        return dict(zip(space.spaces, leaves, strict=True))

    def _build_infos(self, arrays: StepArrays, *, has_done: bool) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        if has_done:
            infos["final_obs"] = self._assemble(arrays.final_observations)
            infos["_final_obs"] = arrays.terminated | arrays.truncated
        if self.facts.reports_raw_reward:
            infos["raw_reward"] = arrays.raw_rewards
        if self.facts.reports_episode_over:
            infos["episode_over"] = arrays.episode_over
        if self._mask_width:
            infos[ACTION_MASK] = arrays.action_masks
            if has_done:
                infos[FINAL_ACTION_MASK] = arrays.final_action_masks
        return infos

    def _check_state_size(self, state: dict[str, Any]) -> None:
        if "environments" not in state:
            saved = state.get("kind", "torch")
            raise CheckpointError(
                f"the saved state of {self.env_id} is of vectorization: {saved}, and the run's "
                f"config.json leads to {self.vectorization_name} now: put "
                f'"vectorization": "{saved}" back into it'
            )
        saved = len(state["environments"])
        if saved != self.num_envs:
            raise CheckpointError(
                f"the saved state is of {saved} environments of {self.env_id}, not of "
                f"{self.num_envs}: resume with n_envs: {saved}"
            )

    def _export_generators(self) -> dict[str, Any]:
        return {
            "action_space": self.action_space.np_random.bit_generator.state,
            "single_action_space": self.single_action_space.np_random.bit_generator.state,
        }

    def _load_generators(self, state: dict[str, Any]) -> None:
        self.action_space.np_random.bit_generator.state = state["action_space"]
        self.single_action_space.np_random.bit_generator.state = state["single_action_space"]


def describe_failure(error: BaseException, *, env_index: int, env_id: str, when: str) -> str:
    """Return one line that names the environment, the moment and the original exception."""
    text = one_line(error)
    return (
        f"environment {env_index} ({env_id}) raised {type(error).__name__} {when}"
        f"{': ' + text if text else ''}"
    )


def one_line(text: object) -> str:
    """Return the text of an exception, or any other, without line breaks."""
    return " ".join(str(text).split())


def environment_failed(
    error: BaseException, *, env_index: int, env_id: str, when: str
) -> EnvironmentFailedError:
    """Build the error for an exception that an environment raised."""
    return EnvironmentFailedError(
        describe_failure(error, env_index=env_index, env_id=env_id, when=when)
    )
