"""A person watches, or plays: episodes on a screen, their returns told as they end."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import TextIO

import torch

from utils.playback.action_names import action_labels, env_keys
from utils.playback.environment import build_playback_env, frames_per_second, step_limit
from utils.playback.episodes import EpisodePlayer, PlayedEpisode, PlayedStep, play_together
from utils.playback.human import HumanEpisode, HumanGame
from utils.playback.key_maps import build_key_map
from utils.playback.live import WATCH_HINT, LiveScreen, PlaybackStopped
from utils.playback.plan import PlayPlan
from utils.playback.results import (
    ENDS,
    Report,
    as_result,
    compare_with_policy,
    describe_mean,
    episode_header,
    episode_row,
)
from utils.playback.screens import NoScreen, Screen, VideoScreen
from utils.playback.stage import choose_render, open_screen
from utils.playback.view import Tile, View
from utils.policies import Policy
from utils.rollouts import EvaluationResult
from utils.seeding import derive_seed
from utils.text_tables import counted
from utils.vector_envs import InProcessVectorEnv


class PlaySession:
    """The environment of a plan and the way it is shown.

    A context manager, which closes the environment.

    Attributes:
        env: The environments, for which the policy is loaded; several for a grid.
        render: What `--render auto` came to: window, video, terminal or none.
        fps: Frames per second at speed 1.
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
        self._report = Report(self._stream)
        self.render, notes = choose_render(plan, self._stream)
        self._notes = [*plan.notes, *notes]
        self.env = build_playback_env(
            config,
            render_mode=None if self.render == "none" else "rgb_array",
            n_envs=args.grid or 1,
        )
        self.fps = args.fps or frames_per_second(config, self.env)
        self.max_steps = self._choose_max_steps()
        first = self.env.envs[0] if isinstance(self.env, InProcessVectorEnv) else None
        space = self.env.single_action_space
        self._labels = action_labels(space, config.spec.action.labels, first)
        self._key_map = build_key_map(space, self._labels, env_keys(space, first))

    def play(self, policy: Policy, *, timesteps: int) -> EvaluationResult:
        """Play all episodes; tell each one's seed, return, length and end, then the mean.

        Args:
            policy: Loaded for `env`, on the CPU.
            timesteps: How long it was trained, to tell.

        Returns:
            The episodes that were played to their end, by the person if one plays.
        """
        plan, report = self.plan, self._report
        torch.set_num_threads(plan.config.torch_threads)
        seed = plan.args.seed
        if seed is None:
            seed = derive_seed(plan.config.seed, "play")
        report.tell(
            f"{plan.config.config_id}, {plan.origin}, "
            f"{timesteps:,} timesteps, {'greedy' if plan.is_deterministic else 'sampled'} actions"
        )
        for note in self._notes:
            report.tell(f"note: {note}")
        screen = open_screen(plan, self.render, stream=self._stream, fps=self.fps, seed=seed)
        if isinstance(screen, LiveScreen) and self.render == "terminal":
            report.hold()
        watched: list[PlayedEpisode] = []
        by_hand: list[HumanEpisode] = []
        try:
            if isinstance(screen, LiveScreen) and plan.args.human:
                self._play_by_hand(policy, screen, seed, by_hand)
            else:
                report.tell(episode_header())
                self._watch(policy, screen, seed, watched)
        except PlaybackStopped:
            n_played = len(watched) + len(by_hand)
            report.tell(f"stopped after {n_played} of {counted(plan.args.episodes, 'episode')}")
        finally:
            screen.close()
            report.release()
        played = watched or [own.episode for own in by_hand]
        result = as_result(played, seed=seed, is_deterministic=plan.is_deterministic)
        for line in self._compare(policy, by_hand) if plan.args.human else [describe_mean(result)]:
            report.tell(line)
        self._tell_file(screen)
        return result

    def _watch(
        self, policy: Policy, screen: Screen, seed: int, played: list[PlayedEpisode]
    ) -> None:
        """Let the policy play all episodes; those that end are told and added to `played`."""
        for first in range(0, self.plan.args.episodes, self.env.num_envs):
            states: list[PlayedStep] = []
            try:
                for states in play_together(
                    self.env,
                    policy,
                    seed=seed + first,
                    deterministic=self.plan.is_deterministic,
                    max_steps=self.max_steps,
                ):
                    if not isinstance(screen, NoScreen):
                        screen.show(self._view(screen, states, first, seed))
            finally:
                for state in states:
                    if state.episode is not None:
                        self._report.tell(episode_row(state.episode.seed - seed, state.episode))
                        played.append(state.episode)
        screen.linger()

    def _play_by_hand(
        self, policy: Policy, screen: LiveScreen, seed: int, played: list[HumanEpisode]
    ) -> None:
        """Let the person play; episodes that end are added to `played`."""
        n_episodes = self.plan.args.episodes
        game = HumanGame(screen, self._key_map, self.env.single_action_space, n_episodes=n_episodes)
        for k in range(n_episodes):
            episode = game.play(
                k,
                seed + k,
                env=self.env,
                policy=policy,
                deterministic=self.plan.is_deterministic,
                max_steps=self.max_steps,
            )
            played.append(episode)
            if game.has_left and k + 1 < n_episodes:
                raise PlaybackStopped

    def _compare(self, policy: Policy, by_hand: list[HumanEpisode]) -> list[str]:
        """Let the policy play the person's seeds, unseen; return both side by side."""
        alone = []
        for own in by_hand:
            player = EpisodePlayer(
                self.env,
                policy,
                seed=own.episode.seed,
                deterministic=self.plan.is_deterministic,
                max_steps=self.max_steps,
                draws=False,
            )
            while not player.is_over:
                player.step(player.decide().action)
            alone.append(player.states[0].episode)
        return compare_with_policy(by_hand, alone)

    def _view(self, screen: Screen, states: list[PlayedStep], first: int, seed: int) -> View:
        has_keys = isinstance(screen, LiveScreen) and screen.display.has_keys
        is_grid = self.plan.args.grid is not None
        return View(
            tiles=tuple(
                self._tile(state, seed + first + k, is_grid=is_grid)
                for k, state in enumerate(states)
            ),
            caption=self._grid_caption(states) if is_grid else self._caption(states[0], first),
            hint=WATCH_HINT if has_keys else "",
            is_end=all(state.episode is not None for state in states),
        )

    def _tile(self, state: PlayedStep, seed: int, *, is_grid: bool) -> Tile:
        assert state.frame is not None, "a picture needs an environment with frames"
        if not is_grid:
            return Tile(state.frame)
        parts = [f"return {state.episode_return:,.2f}", f"seed {seed}"]
        if state.episode is not None:
            parts.insert(1, ENDS[state.episode.end])
        return Tile(state.frame, "  ".join(parts), is_dimmed=state.episode is not None)

    def _caption(self, state: PlayedStep, k: int) -> str:
        text = (
            f"episode {k + 1}/{self.plan.args.episodes}  step {state.n_steps}  "
            f"return {state.episode_return:,.2f}"
        )
        if state.action is not None and state.action.ndim == 0:
            text += f"  {self._labels[int(state.action)]}"
        return text

    def _grid_caption(self, states: list[PlayedStep]) -> str:
        running = [state for state in states if state.episode is None]
        n_steps = max(state.n_steps for state in states)
        total = sum(state.episode_return for state in states)
        return (
            f"step {n_steps}  {len(running)} of {len(states)} running  "
            f"mean return {total / len(states):,.2f}"
        )

    def _choose_max_steps(self) -> int | None:
        args, config = self.plan.args, self.plan.config
        limit = step_limit(config, self.env, args.max_steps)
        if limit is not None and args.max_steps is None and config.eval_max_episode_steps is None:
            self._notes.append(
                f"{self.env.env_id} has no step limit: episodes are cut after {limit:,} steps "
                "(--max-steps)"
            )
        return limit

    def _tell_file(self, screen: Screen) -> None:
        if isinstance(screen, VideoScreen):
            self._tell_video("video", screen.path, screen.n_frames, screen.fps)
        elif isinstance(screen, LiveScreen) and screen.recorder is not None:
            writer = screen.recorder.writer
            self._tell_video("recording", writer.path, writer.n_frames, writer.fps)

    def _tell_video(self, word: str, path: Path, n_frames: int, fps: float) -> None:
        self._report.tell(f"{word} {path} ({n_frames:,} frames, {fps:g} fps)")

    def __enter__(self) -> PlaySession:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.env.close()
