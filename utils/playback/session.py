"""A person watches: episodes played to a screen, their returns told as they end."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TextIO

import torch

from utils.loggers.terminal import is_terminal
from utils.playback.environment import (
    RenderError,
    build_playback_env,
    frames_per_second,
    has_display,
    render_modes,
)
from utils.playback.episodes import PlayedEpisode, PlayedStep, play_episode
from utils.playback.plan import PlayPlan
from utils.playback.screens import NoScreen, Screen, TerminalScreen, VideoScreen
from utils.policy_factory import ActorCritic
from utils.rollouts import EvaluationResult
from utils.seeding import derive_seed
from utils.vector_envs import InProcessVectorEnv

_ENDS = {"terminated": "terminated", "truncated": "time limit", "cut": "cut by --max-steps"}
_RENDER_MODES = {"window": "human", "video": "rgb_array", "terminal": "rgb_array", "none": None}
# A policy that never ends an episode of an environment without a limit would play for ever.
_MOST_STEPS_WITHOUT_LIMIT = 10_000


class PlaySession:
    """The environment of a plan and the way it is shown.

    A context manager, which closes the environment.

    Attributes:
        env: The environment, for which the policy is loaded.
        render: What `--render auto` came to: window, video, terminal or none.
        fps: Frames per second as they are shown.
        max_steps: Steps after which an episode is cut; None for no limit but its own.
    """

    def __init__(self, plan: PlayPlan, *, stream: TextIO | None = None) -> None:
        """Choose how to show the episodes and build the environment for it.

        Args:
            plan: What to play.
            stream: Where the text goes; standard output if None.

        Raises:
            RenderError: The environment or this machine cannot show what was asked for.
            UserError: The environment cannot be built.
        """
        args, config = plan.args, plan.config
        self.plan = plan
        self._stream = stream or sys.stdout
        self._notes = list(plan.notes)
        self._held_back: list[str] | None = None
        self.render = self._choose_render()
        self.env: InProcessVectorEnv = build_playback_env(
            config, render_mode=_RENDER_MODES[self.render]
        )
        self.fps = (args.fps or frames_per_second(config, self.env)) * args.speed
        self.max_steps = self._choose_max_steps()
        if self.render == "window":
            # Environments pace their own windows by this number.
            core = self.env.envs[0].unwrapped
            core.metadata = {**core.metadata, "render_fps": max(1, round(self.fps))}

    def play(self, policy: ActorCritic, *, timesteps: int) -> EvaluationResult:
        """Play all episodes; tell each one's seed, return, length and end, then the mean.

        Args:
            policy: Loaded for `env`, on the CPU.
            timesteps: How long it was trained, to tell.

        Returns:
            The episodes that were played to their end.
        """
        plan = self.plan
        torch.set_num_threads(plan.config.torch_threads)
        seed = plan.args.seed
        if seed is None:
            seed = derive_seed(plan.config.seed, "play")
        self._tell(
            f"{plan.config.config_id}, run {plan.run.id}, {plan.checkpoint_name}, "
            f"{timesteps:,} timesteps, {'greedy' if plan.is_deterministic else 'sampled'} actions"
        )
        for note in self._notes:
            self._tell(f"note: {note}")
        self._tell(_row("episode", "seed", "return", "length", "end"))
        screen = self._open_screen(seed)
        try:
            played = [
                self._play_one(policy, screen, k, seed=seed + k) for k in range(plan.args.episodes)
            ]
        finally:
            screen.close()
            self._release()
        result = self._as_result(played, seed)
        self._tell(describe_mean(result))
        if isinstance(screen, VideoScreen):
            self._tell(f"video {screen.path} ({screen.n_frames:,} frames, {screen.fps:g} fps)")
        return result

    def _choose_render(self) -> str:
        asked, stream = self.plan.args.render, self._stream
        if asked == "window" and not has_display():
            raise RenderError(
                "--render window: there is no display (DISPLAY and WAYLAND_DISPLAY are not set); "
                "use --render video or --render terminal"
            )
        if asked == "terminal" and not is_terminal(stream):
            raise RenderError(
                "--render terminal: the output is not a terminal; use --render video, or "
                "--render none for the numbers only"
            )
        if asked != "auto":
            return asked
        modes = render_modes(self.plan.config)
        if "human" in modes and has_display():
            return "window"
        if "rgb_array" in modes:
            return "video"
        self._notes.append(f"{self.plan.config.env_id} cannot be drawn: numbers only")
        return "none"

    def _choose_max_steps(self) -> int | None:
        limit = self.plan.args.max_steps or self.plan.config.eval_max_episode_steps
        if limit is None and self.env.max_episode_steps is None:
            limit = _MOST_STEPS_WITHOUT_LIMIT
            self._notes.append(
                f"{self.env.env_id} has no step limit: episodes are cut after {limit:,} steps "
                "(--max-steps)"
            )
        return limit

    def _open_screen(self, seed: int) -> Screen:
        if self.render == "video":
            name = f"play-{self.plan.checkpoint_name}-seed={seed}.mp4"
            path = self.plan.args.output or self.plan.run.videos_dir / name
            return VideoScreen(path, fps=self.fps)
        if self.render == "terminal":
            self._held_back = []  # nothing stays on the terminal's second screen
            return TerminalScreen(self._stream, fps=self.fps)
        return NoScreen()

    def _play_one(self, policy: ActorCritic, screen: Screen, k: int, *, seed: int) -> PlayedEpisode:
        steps = play_episode(
            self.env,
            policy,
            seed=seed,
            deterministic=self.plan.is_deterministic,
            max_steps=self.max_steps,
        )
        for step in steps:
            screen.show(step, self._caption(k, step))
        episode = step.episode
        assert episode is not None
        self._tell(
            _row(k + 1, seed, f"{episode.episode_return:,.2f}", episode.length, _ENDS[episode.end])
        )
        return episode

    def _caption(self, k: int, step: PlayedStep) -> str:
        text = (
            f"episode {k + 1}/{self.plan.args.episodes}  step {step.n_steps}  "
            f"return {step.episode_return:,.2f}"
        )
        labels = self.plan.config.spec.action.labels
        if step.action is not None and step.action.ndim == 0 and step.action < len(labels):
            text += f"  {labels[int(step.action)]}"
        return text

    def _as_result(self, played: list[PlayedEpisode], seed: int) -> EvaluationResult:
        whole = [episode for episode in played if episode.end != "cut"]
        return EvaluationResult(
            returns=[episode.episode_return for episode in whole],
            lengths=[episode.length for episode in whole],
            n_unfinished=len(played) - len(whole),
            seconds=0.0,
            seed=seed,
            is_deterministic=self.plan.is_deterministic,
        )

    def _tell(self, line: str) -> None:
        if self._held_back is not None:
            self._held_back.append(line)
        else:
            print(line, file=self._stream, flush=True)

    def _release(self) -> None:
        lines, self._held_back = self._held_back or [], None
        for line in lines:
            self._tell(line)

    def __enter__(self) -> PlaySession:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.env.close()


def describe_mean(result: EvaluationResult) -> str:
    """Say the mean return of whole episodes with its 95 % interval, and how many were cut."""
    cut = f"; {result.n_unfinished} cut, in no mean" if result.n_unfinished else ""
    if result.mean is None:
        return f"no episode was played to its end{cut}"
    half_width = result.confidence_half_width()
    n_episodes = len(result.returns)
    if half_width is None:
        return f"return {result.mean:,.2f} (1 episode: no interval{cut})"
    return f"mean return {result.mean:,.2f} ± {half_width:,.2f} (95 %, {n_episodes} episodes{cut})"


def _row(*cells: object) -> str:
    episode, seed, episode_return, length, end = cells
    return f"{episode:>7}  {seed:>10}  {episode_return:>10}  {length:>6}  {end}"
