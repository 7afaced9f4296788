"""A vector environment whose state is tensors and whose step is tensor code."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from torch import Tensor
from typing_extensions import override

from gym_envs.arguments import check_sizes, find_classic_spec, outside, read_actions
from gym_envs.torch_envs.philox import N_WORDS, philox_keys, philox_words, to_unit_interval
from gym_envs.torch_envs.tensor_physics import tensor_physics
from utils.errors import CheckpointError

if TYPE_CHECKING:
    from gym_envs.torch_envs.triton_step import TritonStep


class TensorStep(NamedTuple):
    """What one vector step led to; N environments, everything on their device."""

    observation: Tensor
    """(N, n_observation) float32, the first one of a new episode where the last one ended."""
    reward: Tensor
    """(N,) float32"""
    terminated: Tensor
    """(N,) bool"""
    truncated: Tensor
    """(N,) bool, never where terminated."""
    final_observation: Tensor
    """(N, n_observation) float32, what the step itself led to, also where an episode ended."""
    episode_return: Tensor
    """(N,) float32, sum of rewards of the episode up to and with this step."""
    episode_length: Tensor
    """(N,) int32, its steps up to and with this one."""


class TorchVectorEnv(VectorEnv):
    """Steps N environments of one kind at once, on any device.

    There are two ways to use it. `reset_tensors` and `step_tensors` take and give tensors on the
    device: nothing is read back, no shape depends on data, and all state lives in tensors that are
    allocated once and changed in place, so a CUDA graph can capture a step. `reset` and `step` are
    Gymnasium's, with NumPy arrays, on top of them.

    Episode k of environment i begins in a state that depends on the seed, i and k alone: the words
    of Philox with the seed as key and (i, k, 0, 0) as counter, word v for state variable v. So the
    episodes of a seed are the same on every device up to rounding, however many environments there
    are. On CUDA a step is one kernel where Triton is installed.

    Attributes:
        state: (n_state, N) float32, state variables in the order of the spec.
        elapsed: (N,) int32, steps of the running episodes.
        episode_return: (N,) float32, sum of rewards of the running episodes.
        episode: (N,) int32, number of the running episode since the last seed, from 0.
        seed: Seed of the last `reset` with one.
        seed_tensor: (1,) int64, the same on the device (two's complement from 2^63 on).
        keys: (10, 2, 1) int64, the keys of Philox that follow from the seed.
        spec_of_physics: The environment's `ClassicSpec`.
        max_episode_steps: Steps after which an episode is truncated.
        reward_threshold: Mean return that counts as solved, or None.
        render_fps: Frames per second that a film of it would have.
        env_id: The environment's id.
        vectorization_name: "torch".
    """

    vectorization_name = "torch"
    render_mode = None

    def __init__(
        self,
        env_id: str,
        num_envs: int,
        *,
        device: torch.device | str = "cpu",
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Allocate the tensors; `reset` comes before the first step.

        Args:
            env_id: Id of an environment that `gym_envs.physics` has.
            num_envs: N, at least 1.
            device: Where everything lives.
            max_episode_steps: Replaces the environment's own limit.
            render_mode: None; tensors have no pictures.

        Raises:
            ValueError: An argument is out of range, or the device is not there.
            NameNotFound: There is no such environment.
        """
        check_sizes(num_envs, max_episode_steps)
        if render_mode is not None:
            raise ValueError(f"render_mode must be None: tensors have no pictures, {render_mode!r}")
        spec = find_classic_spec(env_id)
        assert spec.n_state <= N_WORDS, spec
        self.env_id = env_id
        self.spec_of_physics = spec
        self.num_envs = num_envs
        self.device = _find_device(device)
        self.max_episode_steps = max_episode_steps or spec.max_episode_steps
        self.reward_threshold = spec.reward_threshold
        self.render_fps = spec.render_fps
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_fps": spec.render_fps}
        self.single_observation_space = spec.observation_space()
        self.single_action_space = spec.action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._physics = tensor_physics(spec)
        self._allocate()
        self._kernel = self._build_kernel()

    def _allocate(self) -> None:
        spec, n, device = self.spec_of_physics, self.num_envs, self.device
        self.state = torch.zeros((spec.n_state, n), device=device)
        self.elapsed = torch.zeros(n, dtype=torch.int32, device=device)
        self.episode_return = torch.zeros(n, device=device)
        self.episode = torch.zeros(n, dtype=torch.int32, device=device)
        self.seed: int | None = None
        self.seed_tensor = torch.zeros(1, dtype=torch.int64, device=device)
        self.keys = philox_keys(0, device=device)
        self._env_index = torch.arange(n, dtype=torch.int32, device=device)
        low = torch.tensor(spec.initial_low, device=device)
        high = torch.tensor(spec.initial_high, device=device)
        self._initial_low, self._initial_range = low[:, None], (high - low)[:, None]

    def _build_kernel(self) -> TritonStep | None:
        """Build the step as one kernel, where there is a compiler for the device."""
        if self.device.type != "cuda" or importlib.util.find_spec("triton") is None:
            return None
        from gym_envs.torch_envs.triton_step import TritonStep

        return TritonStep(
            self.env_id, initial_low=self._initial_low, initial_range=self._initial_range
        )

    # -- tensors in, tensors out ----------------------------------------------------------------

    def reset_tensors(self, *, seed: int | None = None) -> Tensor:
        """Begin a new episode everywhere.

        Args:
            seed: Begins with episode 0 of this seed; None goes on with the next episode of each
                environment.

        Returns:
            Observation (N, n_observation).
        """
        assert seed is not None or self.seed is not None, "the first reset needs a seed"
        if seed is not None:
            self._set_seed(seed)
            self.episode.zero_()
        else:
            self.episode += 1
        self.state.copy_(self._first_states(self._env_index, self.episode))
        self.elapsed.zero_()
        self.episode_return.zero_()
        return self.observe_tensors()

    def observe_tensors(self) -> Tensor:
        """Return the observation of the state as it is, (N, n_observation), a new tensor."""
        return self._observe(self.state.unbind(0))

    def step_tensors(self, action: Tensor) -> TensorStep:
        """Step all environments; those that end begin a new episode in the same call.

        Args:
            action: (N,) integers for discrete actions, else (N, 1) float32; on the device.

        Returns:
            New tensors; the state itself has been changed in place.
        """
        if not self.spec_of_physics.n_actions:
            action = action.squeeze(-1)
        assert action.shape == (self.num_envs,), (action.shape, self.num_envs)
        if self._kernel is not None:
            return self._step_at_once(self._kernel, action)
        *after, reward, terminated = self._physics.transition(*self.state.unbind(0), action)
        reward = torch.as_tensor(reward, device=self.device).expand(self.num_envs)
        length = self.elapsed + 1
        truncated = (length >= self.max_episode_steps) & ~terminated
        episode_return = self.episode_return + reward
        done = terminated | truncated
        torch.stack(after, out=self.state)
        self.elapsed.copy_(length)
        self.episode_return.copy_(episode_return)
        final_observation = self._observe(after)
        self._begin_episodes(done)
        return TensorStep(
            self.observe_tensors(),
            reward,
            terminated,
            truncated,
            final_observation,
            episode_return,
            length,
        )

    def _step_at_once(self, kernel: TritonStep, action: Tensor) -> TensorStep:
        return TensorStep(
            *kernel(
                action,
                **self._state_tensors(),
                seed=self.seed_tensor,
                max_episode_steps=self.max_episode_steps,
                n_observation=self.spec_of_physics.n_observation,
            )
        )

    def _observe(self, state: tuple[Tensor, ...]) -> Tensor:
        return torch.stack(self._physics.observe(*state), dim=-1)

    def _first_states(self, env_index: Tensor, episode: Tensor) -> Tensor:
        """Return the states that episodes begin in, (n_state, K), for (K,) of both arguments."""
        words = philox_words(self.keys, env_index, episode)[: self.spec_of_physics.n_state]
        return self._initial_low + self._initial_range * to_unit_interval(words)

    def _begin_episodes(self, done: Tensor) -> None:
        if self.device.type == "cpu":
            self._begin_in_rows(done.nonzero().squeeze(-1))
        else:
            self._begin_everywhere(done)

    def _begin_in_rows(self, rows: Tensor) -> None:
        """Begin a new episode in some environments; cheap where few end and shapes may vary."""
        if not len(rows):
            return
        self.episode[rows] += 1
        self.state[:, rows] = self._first_states(self._env_index[rows], self.episode[rows])
        self.elapsed[rows] = 0
        self.episode_return[rows] = 0.0

    def _begin_everywhere(self, done: Tensor) -> None:
        """Begin a new episode where `done`, with operations whose shapes do not depend on it."""
        self.episode += done
        first = self._first_states(self._env_index, self.episode)
        torch.where(done, first, self.state, out=self.state)
        self.elapsed.masked_fill_(done, 0)
        self.episode_return.masked_fill_(done, 0.0)

    def _set_seed(self, seed: int) -> None:
        self.seed = seed
        self.keys.copy_(philox_keys(seed, device="cpu"))
        self.seed_tensor.fill_(seed if seed < 2**63 else seed - 2**64)

    # -- Gymnasium's interface ------------------------------------------------------------------

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin a new episode everywhere.

        Args:
            seed: Decides all episodes from here on, and seeds the action spaces. None goes on with
                the next episodes (at the very first reset a seed is drawn).
            options: There are none.
        """
        if self.closed:
            raise ClosedEnvironmentError("reset() comes after close()")
        if options:
            raise ValueError(f"reset() takes no options, got {options}")
        if seed is not None:
            self.action_space.seed(seed)
            self.single_action_space.seed(seed)
        elif self.seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        return self.reset_tensors(seed=seed).numpy(force=True), {}

    @override
    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step all environments; those that end begin a new episode in the same call.

        Args:
            actions: (N, ...) values of the action space.

        Returns:
            Observation (N, n_observation) float32, reward (N,) float64, terminated (N,) bool,
            truncated (N,) bool, infos with `final_obs` and `_final_obs` where an episode ended. All
            arrays are new.
        """
        if self.closed:
            raise ClosedEnvironmentError("step() comes after close()")
        if self.seed is None:
            raise ResetNeeded("reset() comes before step()")
        actions = self._check_actions(actions)
        step = self.step_tensors(torch.from_numpy(actions).to(self.device))
        terminated, truncated = (
            part.numpy(force=True) for part in (step.terminated, step.truncated)
        )
        done = terminated | truncated
        infos: dict[str, Any] = {}
        if done.any():
            infos["final_obs"] = step.final_observation.numpy(force=True)
            infos["_final_obs"] = done
        reward = step.reward.numpy(force=True).astype(np.float64)
        return step.observation.numpy(force=True), reward, terminated, truncated, infos

    def _check_actions(self, actions: np.ndarray) -> np.ndarray:
        actions = read_actions(actions, self.action_space)
        n = self.spec_of_physics.n_actions
        if n and (actions.min() < 0 or actions.max() >= n):
            raise outside(actions, n)
        return actions

    def get_state(self) -> dict[str, Any]:
        """Return everything needed to go on bit for bit, in plain containers and arrays."""
        assert self.seed is not None, "reset() comes before get_state()"
        return {
            "env_id": self.env_id,
            "seed": self.seed,
            "tensors": {
                name: tensor.cpu().numpy().copy() for name, tensor in self._state_tensors().items()
            },
            "generators": {
                "action_space": self.action_space.np_random.bit_generator.state,
                "single_action_space": self.single_action_space.np_random.bit_generator.state,
            },
        }

    def set_state(self, state: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Go on with the episodes of a saved state, from whatever device.

        Args:
            state: What `get_state` returned, for as many environments.

        Returns:
            The observation (N, n_observation), and (N,) bool, all true: every one is restored.

        Raises:
            CheckpointError: The state is of another number of environments or vectorization.
        """
        if "tensors" not in state:
            saved = state.get("kind", "sync")
            raise CheckpointError(
                f"the saved state of {self.env_id} is of vectorization: {saved}, and the run's "
                f'config.json leads to torch now: put "vectorization": "{saved}" back into it'
            )
        n_saved = len(state["tensors"]["elapsed"])
        if n_saved != self.num_envs:
            raise CheckpointError(
                f"the saved state is of {n_saved} environments of {self.env_id}, not of "
                f"{self.num_envs}: resume with n_envs: {n_saved}"
            )
        assert state["env_id"] == self.env_id, (state["env_id"], self.env_id)
        self._set_seed(state["seed"])
        for name, tensor in self._state_tensors().items():
            tensor.copy_(torch.from_numpy(state["tensors"][name]))
        for name in ("action_space", "single_action_space"):
            space: gym.Space = getattr(self, name)
            space.np_random.bit_generator.state = state["generators"][name]
        observation = self.observe_tensors().numpy(force=True)
        return observation, np.ones(self.num_envs, dtype=bool)

    def _state_tensors(self) -> dict[str, Tensor]:
        return {
            "state": self.state,
            "elapsed": self.elapsed,
            "episode_return": self.episode_return,
            "episode": self.episode,
        }


def _find_device(device: torch.device | str) -> torch.device:
    try:
        found = torch.device(device)
    except RuntimeError as error:
        raise ValueError(f"device must be 'cpu' or 'cuda', got {device!r}") from error
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ValueError("device is 'cuda', but torch finds no CUDA device here")
    return found
