"""Plays one episode and writes down what the policy saw, thought, did and was paid."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from utils.errors import UserError
from utils.inspection.advantages import LearnerView, episode_advantage
from utils.inspection.observations import ObservationReader
from utils.inspection.progress import Progress
from utils.inspection.record import End
from utils.playback.environment import draw_states
from utils.policies import Policy
from utils.rollouts.stepper import Outcome, Stepper, to_tensors
from utils.vector_envs import InProcessVectorEnv
from utils.vector_envs.episode_metrics import IS_SUCCESS
from utils.video import VideoWriter

_CPU = torch.device("cpu")


class CannotReplayError(UserError):
    """An environment that does not go the same way twice from the same seed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """The beginning of an episode that was recorded, and another action at its end."""

    actions: np.ndarray
    """(t + 1, ...) as the policy chose them, the last one in its place."""
    digests: np.ndarray
    """(t + 1,) checksums of the observations before them."""
    rewards: np.ndarray
    """(t,) raw rewards of all but the last."""

    def __len__(self) -> int:
        """Return the number of actions."""
        return len(self.actions)

    def check(self, t: int, *, digest: int, last_reward: float, env_id: str) -> None:
        """Make sure that state t is the one that was recorded.

        Raises:
            CannotReplayError: It is another one.
        """
        if t >= len(self):
            return
        is_same = digest == int(self.digests[t])
        if is_same and t > 0:
            is_same = np.float64(last_reward) == self.rewards[t - 1]
        if not is_same:
            raise CannotReplayError(
                f"{env_id} cannot be taken back to step {len(self) - 1}: played again from the "
                f"same seed with the same actions, it goes another way from step {t} on"
            )


@dataclass(kw_only=True, slots=True)
class Recorded:
    """How an episode went, before it is stored."""

    episode_return: float
    length: int
    end: End
    told_success: bool | None
    """What the environment said; None where it says nothing."""
    traces: dict[str, np.ndarray]
    """See `EpisodeRecord.traces`."""


@dataclass(slots=True)
class _Log:
    """Lists with one entry for each state or step so far."""

    observation: list[np.ndarray] = field(default_factory=list)
    digest: list[int] = field(default_factory=list)
    mask: list[np.ndarray] = field(default_factory=list)
    thoughts: list[dict[str, np.ndarray]] = field(default_factory=list)
    action: list[np.ndarray] = field(default_factory=list)
    reward: list[float] = field(default_factory=list)
    paid: list[float] = field(default_factory=list)
    terminated: list[bool] = field(default_factory=list)
    truncated: list[bool] = field(default_factory=list)
    final_value: list[float] = field(default_factory=list)


class EpisodeRecorder:
    """Records episodes of a policy in one environment that nothing else uses.

    The seed alone decides an episode, for sampled actions too. The policy draws at every step,
    also where a script overrules it, so what follows a changed action meets the same luck.
    """

    def __init__(
        self,
        env: InProcessVectorEnv,
        policy: Policy,
        *,
        reader: ObservationReader,
        learner: LearnerView | None,
    ) -> None:
        """Bind environment and policy.

        Args:
            env: One environment; with the render mode "rgb_array" it can be filmed.
            policy: Acts as it is, on the CPU.
            reader: Of the environment's observations.
            learner: How the learner weighed rewards; None where nobody knows.
        """
        assert env.num_envs == 1, env.num_envs
        self._env = env
        self._policy = policy
        self._reader = reader
        self._learner = learner

    @torch.inference_mode()
    def record(
        self,
        *,
        seed: int,
        is_deterministic: bool,
        max_steps: int,
        progress: Progress,
        script: Script | None = None,
        film: VideoWriter | None = None,
        view_film: VideoWriter | None = None,
    ) -> Recorded:
        """Play one episode from its reset to its end.

        Args:
            seed: Of the environment and of sampled actions, >= 0.
            is_deterministic: Most likely actions rather than samples.
            max_steps: Cut the episode after so many steps.
            progress: Is told of every step.
            script: Actions to begin with; None lets the policy choose from the start.
            film: Gets T + 1 frames of the environment; None films nothing.
            view_film: Gets T + 1 frames of what the network sees.

        Raises:
            CannotReplayError: The environment does not follow the script to its end.
            EnvironmentFailedError: It raised or gave numbers that are not finite.
            RenderError: It cannot be drawn.
            RecordingStoppedError: A person has had enough.
        """
        generator = torch.Generator().manual_seed(seed)
        stepper = Stepper(self._env, self._policy, device=_CPU)
        stepper.reset(seed=seed)
        log = _Log()
        outcome: Outcome | None = None
        end: End | None = None
        while end is None:
            t = len(log.reward)
            progress.note_steps(t)
            self._note_state(log, stepper)
            self._shoot(film, view_film, stepper, is_final=_has_ended(outcome))
            if script is not None:
                last_reward = log.reward[-1] if log.reward else 0.0
                script.check(
                    t, digest=log.digest[-1], last_reward=last_reward, env_id=self._env.env_id
                )
            action = stepper.decide(
                self._policy.normalize(stepper.observation),
                generator=generator,
                deterministic=is_deterministic,
            ).action
            if script is not None and t < len(script):
                action = torch.from_numpy(script.actions[t : t + 1])
            outcome = stepper.step(action)
            self._note_step(log, action, outcome, stepper)
            if outcome.finished is not None:
                end = "truncated" if outcome.truncated[0] else "terminated"
            elif t + 1 == max_steps:
                end = "cut"
        self._note_end(log, stepper, outcome, film, view_film)
        return self._conclude(log, outcome, end)

    def _note_state(self, log: _Log, stepper: Stepper) -> None:
        observation = _as_arrays(stepper.observation)
        log.observation.append(self._reader.read(observation))
        log.digest.append(self._reader.digest(observation))
        if stepper.mask is not None:
            log.mask.append(stepper.mask[0].numpy().copy())
        log.thoughts.append(self._explain(stepper.observation, stepper.mask, stepper.state))

    def _explain(
        self, observation: Any, mask: Tensor | None, state: Tensor | None
    ) -> dict[str, np.ndarray]:
        thoughts = self._policy.explain(self._policy.normalize(observation), mask=mask, state=state)
        return {name: part[0].reshape(-1).numpy().copy() for name, part in thoughts.items()}

    def _note_step(self, log: _Log, action: Tensor, outcome: Outcome, stepper: Stepper) -> None:
        reward = outcome.infos.get("raw_reward", outcome.reward)[0]
        log.action.append(action[0].reshape(-1).numpy().copy())
        log.reward.append(float(reward))
        log.paid.append(float(outcome.reward[0]))
        log.terminated.append(bool(outcome.terminated[0]))
        log.truncated.append(bool(outcome.truncated[0]))
        log.final_value.append(
            self._final_thoughts(outcome, stepper).get("value", np.array([np.nan]))[0]
            if _has_ended(outcome)
            else np.nan
        )

    def _final_thoughts(self, outcome: Outcome, stepper: Stepper) -> dict[str, np.ndarray]:
        """Return what the policy makes of the state in which its episode ended."""
        # No action is chosen there any more, so it does not matter which would be allowed.
        mask = None if stepper.mask is None else torch.ones_like(stepper.mask)
        observation = to_tensors(outcome.infos["final_obs"], _CPU)
        return self._explain(observation, mask, outcome.state)

    def _note_end(
        self,
        log: _Log,
        stepper: Stepper,
        outcome: Outcome,
        film: VideoWriter | None,
        view_film: VideoWriter | None,
    ) -> None:
        """Write down the last state, in which nothing is chosen."""
        if _has_ended(outcome):
            observation = outcome.infos["final_obs"]
            thoughts = self._final_thoughts(outcome, stepper)
        else:
            observation = _as_arrays(stepper.observation)
            thoughts = self._explain(stepper.observation, stepper.mask, stepper.state)
        log.observation.append(self._reader.read(observation))
        log.digest.append(self._reader.digest(observation))
        if log.mask:
            log.mask.append(np.zeros_like(log.mask[-1]))
        log.thoughts.append(
            {
                name: part if name == "value" else np.full_like(part, np.nan)
                for name, part in thoughts.items()
            }
        )
        if film is not None:
            film.write(self._frame(is_final=_has_ended(outcome)))
        if view_film is not None:
            view_film.write(self._reader.picture(observation))

    def _shoot(
        self,
        film: VideoWriter | None,
        view_film: VideoWriter | None,
        stepper: Stepper,
        *,
        is_final: bool,
    ) -> None:
        if film is not None:
            film.write(self._frame(is_final=is_final))
        if view_film is not None:
            view_film.write(self._reader.picture(_as_arrays(stepper.observation)))

    def _frame(self, *, is_final: bool) -> np.ndarray:
        (frame,) = draw_states(self._env, np.array([True]), was_reset=np.array([is_final]))
        assert frame is not None
        return frame

    def _conclude(self, log: _Log, outcome: Outcome, end: End) -> Recorded:
        thoughts = {
            name: np.stack([thought[name] for thought in log.thoughts]) for name in log.thoughts[0]
        }
        thoughts = {
            name: part.squeeze(1) if name in ("value", "promise", "entropy") else part
            for name, part in thoughts.items()
        }
        traces = {
            **thoughts,
            "observation": np.stack(log.observation),
            "digest": np.array(log.digest, np.uint32),
            "action": np.stack(log.action),
            "reward": np.array(log.reward, np.float64),
        }
        if log.mask:
            traces["mask"] = np.stack(log.mask)
        if self._learner is not None:
            traces["learner_reward"] = self._learner.paid(np.array(log.paid, np.float64))
            if "value" in thoughts:
                traces["advantage"] = self._advantage(self._learner, log, traces)
        finished = outcome.finished
        total = float(sum(log.reward)) if finished is None else float(finished.returns[0])
        return Recorded(
            episode_return=total,
            length=len(log.reward),
            end=end,
            told_success=_told_success(outcome),
            traces=traces,
        )

    @staticmethod
    def _advantage(learner: LearnerView, log: _Log, traces: dict[str, np.ndarray]) -> np.ndarray:
        value, final = traces["value"], np.array(log.final_value)
        terminated, truncated = np.array(log.terminated), np.array(log.truncated)
        done = terminated | truncated
        return episode_advantage(
            learner,
            reward=traces["learner_reward"],
            value=value[:-1],
            next_value=np.where(done, final, value[1:]),
            terminated=terminated,
            done=done,
        )


def _as_arrays(observation: Tensor | dict[str, Tensor]) -> Any:
    if isinstance(observation, dict):
        return {key: part.numpy() for key, part in observation.items()}
    return observation.numpy()


def _has_ended(outcome: Outcome | None) -> bool:
    """Say whether the environment was reset within its last step."""
    return outcome is not None and bool(outcome.terminated[0] or outcome.truncated[0])


def _told_success(outcome: Outcome) -> bool | None:
    if outcome.finished is None or IS_SUCCESS not in outcome.finished.metrics:
        return None
    return bool(outcome.finished.metrics[IS_SUCCESS][0] > 0)
