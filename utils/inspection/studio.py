"""Makes recordings: the environment and the policies of the run that is being looked at."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from utils.config import WorldModelConfig, WorldModelsConfig
from utils.environment import solved_threshold
from utils.errors import UserError
from utils.inspection.actions import as_policy_action, describe_actions, read_choice
from utils.inspection.advantages import learner_view
from utils.inspection.dream_wish import DreamWish
from utils.inspection.dreams import DreamRoom
from utils.inspection.observations import ObservationReader
from utils.inspection.plan_wish import PlanWish, plan_options
from utils.inspection.plans import PlanRoom
from utils.inspection.progress import Progress
from utils.inspection.record import Branch, EpisodeRecord, EpisodeRequest
from utils.inspection.recording import EpisodeRecorder, Recorded, Script
from utils.inspection.sample_wish import SampleWish, sample_options
from utils.inspection.samples import SampleRoom
from utils.inspection.store import (
    EpisodeStore,
    StoredEpisode,
    film_path,
    save_record,
    view_film_path,
)
from utils.metrics import Counters
from utils.playback.environment import (
    RenderError,
    build_playback_env,
    draw_states,
    frames_per_second,
    render_modes,
)
from utils.policies import Policy
from utils.policies.plan_trace import Planner
from utils.policies.sequence_draws import DrawsSequences
from utils.policies.world_model_policy import Belief
from utils.run import Run
from utils.vector_envs import InProcessVectorEnv
from utils.video import VideoWriter

_MOST_STEPS = 10_000
"""Steps after which an episode is cut where the environment knows no limit."""


class LoadedPolicy(Protocol):
    """A policy in evaluation mode on the CPU, and where it comes from."""

    policy: Policy
    counters: Counters
    reward_factor: float | None
    """What the reward normaliser multiplied by when it was saved; 1 without one, None where the
    checkpoint does not tell."""


LoadPolicy = Callable[..., LoadedPolicy]
"""`load_policy(config, checkpoint, env=env)`, which raises a CheckpointError."""


class Studio:
    """Records episodes of one run at a time; all of it has to happen in one thread.

    Environments that draw hold on to the thread that they first drew in, and some families allow
    only one environment in a process.
    """

    def __init__(self, load_policy: LoadPolicy, progress: Progress | None = None) -> None:
        """Open nothing yet.

        Args:
            load_policy: Gets a policy out of a run.
            progress: Is told what is recorded, and how far that is; None where nobody looks.
        """
        self._load_policy = load_policy
        self._progress = progress or Progress()
        self._stage: _Stage | None = None

    def record(self, run: Run, config: Any, request: EpisodeRequest) -> StoredEpisode:
        """Record an episode and store it.

        Args:
            run: The run.
            config: Its config.
            request: The episode, without a branch.

        Raises:
            UserError: The policy cannot be loaded, or the environment not built, played or drawn,
                or the run folder not written.
        """
        return self._stage_of(run, config).record(request)

    def what_if(
        self, run: Run, config: Any, *, original: StoredEpisode, step: int, action: list[float]
    ) -> StoredEpisode:
        """Return an episode up to a step, another action there, and what follows.

        The environment is taken back by playing the episode again from its seed, each state being
        compared with the recorded one.

        Args:
            run: The run.
            config: Its config.
            original: The episode.
            step: Where the other action is taken, 0 to length - 1.
            action: What policies would choose, flat: counting from 0, or unclipped.

        Raises:
            CannotReplayError: The environment does not go the same way again.
            UserError: There is no such step or action, or as `record`.
        """
        record = original.record
        if not 0 <= step < record.length:
            raise UserError(
                f"at step {step} nothing is chosen: the steps of this episode are 0 to "
                f"{record.length - 1}"
            )
        stage = self._stage_of(run, config)
        mask = record.traces["mask"][step] if "mask" in record.traces else None
        choice = read_choice(action, stage.env.single_action_space, mask=mask)
        request = dataclasses.replace(record.request, branch=Branch(step, choice))
        found = EpisodeStore(run).find(request)
        return found or stage.record(request, original=record)

    def dream(
        self, run: Run, config: Any, episode: StoredEpisode, wish: DreamWish
    ) -> dict[str, Any]:
        """Return what a world model makes of an episode, and a dream; see `DreamRoom.answer`."""
        return self._stage_of(run, config).dream(episode.record, wish)

    def plan(self, run: Run, config: Any, episode: StoredEpisode, wish: PlanWish) -> dict[str, Any]:
        """Return how an action of an episode was planned; see `PlanRoom.answer`."""
        return self._stage_of(run, config).plan(episode.record, wish)

    def sample(
        self, run: Run, config: Any, episode: StoredEpisode, wish: SampleWish
    ) -> dict[str, Any]:
        """Return sequences that might have been drawn at a step; see `SampleRoom.answer`."""
        return self._stage_of(run, config).sample(episode.record, wish)

    def close(self) -> None:
        """Close the environment."""
        stage, self._stage = self._stage, None
        if stage is not None:
            stage.env.close()

    def _stage_of(self, run: Run, config: Any) -> _Stage:
        if self._stage is None or self._stage.run != run or self._stage.config != config:
            self.close()
            self._stage = _Stage(run, config, self._load_policy, self._progress)
        return self._stage


class _Stage:
    """The environment of one run, and the policies that have played in it."""

    def __init__(self, run: Run, config: Any, load_policy: LoadPolicy, progress: Progress) -> None:
        self._progress = progress
        progress.begin(f"Loading {config.env_id}")
        self.run = run
        self.config = config
        self._dreams: DreamRoom | None = None
        self._plans: PlanRoom | None = None
        self._samples: SampleRoom | None = None
        self._load_policy = load_policy
        self._policies: dict[str, LoadedPolicy] = {}
        torch.set_num_threads(config.torch_threads)
        self.env, self._notes = _build_env(config)
        spec = config.spec
        self._reader = ObservationReader(
            self.env, labels=spec.observation.labels, description=spec.observation.description
        )
        self._actions = describe_actions(
            self.env.single_action_space,
            labels=spec.action.labels,
            meanings=_action_meanings(self.env),
        )
        self._max_steps = config.eval_max_episode_steps or (
            _MOST_STEPS if self.env.max_episode_steps is None else self.env.max_episode_steps
        )

    def record(
        self, request: EpisodeRequest, *, original: EpisodeRecord | None = None
    ) -> StoredEpisode:
        """Play an episode and store it; `original` is the one that a branch leaves."""
        loaded = self._policy(request)
        self._progress.begin(
            f"{self.run.id}, {request.checkpoint}, seed {request.seed}, {request.mode}"
        )
        recorder = EpisodeRecorder(
            self.env,
            loaded.policy,
            reader=self._reader,
            learner=None
            if loaded.reward_factor is None
            else learner_view(
                self.config,
                timesteps=loaded.counters.timesteps,
                reward_factor=loaded.reward_factor,
                own_discount=_own_discount(loaded.policy),
            ),
        )
        script = None if original is None else self._script(request, original)
        store = EpisodeStore(self.run)
        fps = frames_per_second(self.config, self.env)
        with store.writing(request) as folder:
            with ExitStack() as films:
                film, view_film = self._open_films(films, folder, fps)
                recorded = recorder.record(
                    seed=request.seed,
                    is_deterministic=request.is_deterministic,
                    max_steps=self._max_steps,
                    progress=self._progress,
                    script=script,
                    film=film,
                    view_film=view_film,
                )
                frame_size = None if film is None else film.size
            save_record(folder, self._as_record(request, loaded, recorded, fps, frame_size))
        stored = store.find(request)
        assert stored is not None, request
        return stored

    def dream(self, record: EpisodeRecord, wish: DreamWish) -> dict[str, Any]:
        """Dream of an episode that was recorded."""
        if not isinstance(self.config, WorldModelConfig | WorldModelsConfig):
            raise UserError(f"{self.config.algo_id} has no world model: nothing can be dreamt")
        if self._dreams is None:
            self._dreams = DreamRoom(
                self.env, reader=self._reader, config=self.config, progress=self._progress
            )
        policy = self._policy(record.request).policy
        assert isinstance(policy, Belief), type(policy)
        self._progress.begin(f"Playing seed {record.request.seed} again")
        return self._dreams.answer(record, policy, wish)

    def plan(self, record: EpisodeRecord, wish: PlanWish) -> dict[str, Any]:
        """Tell how an action of an episode that was recorded was planned."""
        if plan_options(self.config) is None:
            raise UserError(f"{self.config.algo_id} does not plan: it chooses at once")
        if self._plans is None:
            self._plans = PlanRoom(self.env, reader=self._reader, progress=self._progress)
        policy = self._policy(record.request).policy
        assert isinstance(policy, Planner), type(policy)
        self._progress.begin(f"Planning seed {record.request.seed} again")
        return self._plans.answer(record, policy, wish)

    def sample(self, record: EpisodeRecord, wish: SampleWish) -> dict[str, Any]:
        """Draw sequences of actions at a step of an episode that was recorded."""
        if sample_options(self.config) is None:
            raise UserError(
                f"{self.config.algo_id} draws no sequences: it chooses action by action"
            )
        if self._samples is None:
            self._samples = SampleRoom(self.env, reader=self._reader, progress=self._progress)
        policy = self._policy(record.request).policy
        assert isinstance(policy, DrawsSequences), type(policy)
        self._progress.begin(f"Playing seed {record.request.seed} again")
        return self._samples.answer(record, policy, wish)

    def _policy(self, request: EpisodeRequest) -> LoadedPolicy:
        key = f"{request.checkpoint}-{request.fingerprint}"
        if key not in self._policies:
            path = self.run.checkpoint(request.checkpoint)
            self._policies[key] = self._load_policy(
                self.config, path, env=self.env, with_critic=True
            )
        return self._policies[key]

    def _script(self, request: EpisodeRequest, original: EpisodeRecord) -> Script:
        branch = request.branch
        assert branch is not None, request
        space = self.env.single_action_space
        before = [
            as_policy_action(action, space) for action in original.traces["action"][: branch.step]
        ]
        return Script(
            actions=np.stack([*before, as_policy_action(branch.action, space)]),
            digests=original.traces["digest"][: branch.step + 1],
            rewards=original.traces["reward"][: branch.step],
        )

    def _open_films(
        self, films: ExitStack, folder: Path, fps: float
    ) -> tuple[VideoWriter | None, VideoWriter | None]:
        film = view_film = None
        if self.env.render_mode == "rgb_array":
            film = films.enter_context(VideoWriter(film_path(folder), fps=fps))
        if self._reader.view is not None:
            view_film = films.enter_context(VideoWriter(view_film_path(folder), fps=fps))
        return film, view_film

    def _as_record(
        self,
        request: EpisodeRequest,
        loaded: LoadedPolicy,
        recorded: Recorded,
        fps: float,
        frame_size: tuple[int, int] | None,
    ) -> EpisodeRecord:
        is_success = recorded.told_success
        threshold = solved_threshold(self.config, self.env)
        if is_success is None and threshold is not None and recorded.end != "cut":
            is_success = recorded.episode_return >= threshold
        return EpisodeRecord(
            request=request,
            timesteps=loaded.counters.timesteps,
            episode_return=recorded.episode_return,
            length=recorded.length,
            end=recorded.end,
            is_success=is_success,
            fps=fps,
            frame_size=frame_size,
            view=self._reader.view,
            observation=self._reader.describe,
            actions=self._actions,
            notes=tuple(self._notes),
            traces=recorded.traces,
        )


def _build_env(config: Any) -> tuple[InProcessVectorEnv, list[str]]:
    """Build the environment with pictures where it can be drawn; say why where it cannot."""
    if "rgb_array" not in render_modes(config):
        return build_playback_env(config, render_mode=None), []
    env = build_playback_env(config, render_mode="rgb_array")
    try:
        env.reset(seed=0)
        draw_states(env, np.array([True]), was_reset=np.array([False]))
    except RenderError as error:
        env.close()
        return build_playback_env(config, render_mode=None), [f"no pictures: {error}"]
    except BaseException:
        env.close()
        raise
    return env, []


def _own_discount(policy: Policy) -> float | None:
    """Return the discount that a policy carries with it; None for most, which do not plan."""
    discount = getattr(policy, "discount", None)
    return float(discount) if isinstance(discount, torch.Tensor) else None


def _action_meanings(env: InProcessVectorEnv) -> list[str]:
    """Return what an environment calls its actions, where no wrapper has changed them."""
    core = env.envs[0].unwrapped
    if core.action_space != env.single_action_space or not hasattr(core, "get_action_meanings"):
        return []
    return list(core.get_action_meanings())
