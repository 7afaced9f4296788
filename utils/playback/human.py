"""A person plays, with what the policy would do beside the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from utils.playback.action_names import describe_action, is_allowed
from utils.playback.episodes import EpisodePlayer, PlayedEpisode
from utils.playback.key_maps import KeyMap
from utils.playback.live import LiveScreen, PlaybackStopped
from utils.playback.suggestion import describe_thoughts, suggestion_rows
from utils.playback.view import Panel, Tile, View

HINT = "tab policy  p pause  n frame  + - speed  backspace again  enter next  esc quit"
_POLL_SECONDS = 0.05
_LONGEST_NAME = 48  # of many entries the rows tell
_ENDS = {"terminated": "it is over", "truncated": "time is up", "cut": "cut by the step limit"}


@dataclass(frozen=True, kw_only=True, slots=True)
class HumanEpisode:
    """An episode that a person played."""

    episode: PlayedEpisode
    n_policy_steps: int
    """How many of its steps the policy played."""
    n_tries: int
    """How often the person began it."""


class _PlayAgainError(Exception):
    """The person wants to begin this episode again."""


class HumanGame:
    """Lets a person play episodes by the keyboard.

    Where there is an action for no key, time goes on at the pace of the pictures; else it waits
    for a key. The policy sees every state, whoever acts, and may take over.

    Attributes:
        has_left: The person has left after an episode; there is no next one.
    """

    def __init__(
        self, screen: LiveScreen, key_map: KeyMap, space: gym.Space, *, n_episodes: int
    ) -> None:
        """Take over a screen.

        Args:
            screen: With keys.
            key_map: For `space`.
            space: Actions of one environment.
            n_episodes: How many there will be, to tell.
        """
        self._screen, self._display, self._pace = screen, screen.display, screen.pace
        self._key_map, self._space, self._n_episodes = key_map, space, n_episodes
        self.has_left = False
        self._is_policy_acting = False
        self._message = ""
        self._last_action: np.ndarray | None = None
        self._n_policy_steps = 0

    def play(self, k: int, seed: int, **options: Any) -> HumanEpisode:
        """Play one episode, as often as the person begins it again.

        Args:
            k: Which episode it is, from 0.
            seed: Of the environment.
            options: Of `EpisodePlayer`.

        Raises:
            PlaybackStopped: The person has played enough.
        """
        n_tries = 0
        while True:
            n_tries += 1
            self._n_policy_steps, self._last_action = 0, None
            try:
                episode = self._play_once(k, EpisodePlayer(seed=seed, **options), seed)
            except _PlayAgainError:
                continue
            return HumanEpisode(
                episode=episode, n_policy_steps=self._n_policy_steps, n_tries=n_tries
            )

    def _play_once(self, k: int, player: EpisodePlayer, seed: int) -> PlayedEpisode:
        title = f"episode {k + 1}/{self._n_episodes}  seed {seed}"
        self._message = "press a key to begin"
        is_waiting = True
        while True:
            moment = _Moment(player, self._space, self._key_map, title)
            self._screen.take(self._view(moment))
            if is_waiting:
                self._wait_for_key(moment)
                is_waiting = False
            action = self._choose(moment)
            self._last_action = action[0].numpy()
            self._n_policy_steps += self._is_policy_acting
            self._message = ""
            (state,) = player.step(action)
            self._pace.advance()
            if state.episode is not None:
                moment.state = state  # what the policy thought of the state before stays beside it
                self._end(moment, state.episode)
                return state.episode

    def _choose(self, moment: _Moment) -> Tensor:
        """Wait until the next step is due and somebody has chosen an action for it."""
        fresh: list[str] = []
        patience = 0.0
        while True:
            left = _POLL_SECONDS if self._pace.is_paused else self._pace.seconds_left()
            keys = self._display.read_keys(min(left or patience, _POLL_SECONDS))
            patience = _POLL_SECONDS  # nothing happens without a key
            is_single = self._obey(keys)
            fresh += keys
            is_due = is_single or not (self._pace.is_paused or self._pace.seconds_left())
            action = None
            if self._is_policy_acting:
                action = moment.decision.action if is_due else None
            elif is_due or (fresh and not self._key_map.acts_alone and not self._pace.is_paused):
                action = self._read_action(moment, fresh, is_due=is_due)
                fresh = []
            if action is not None:
                return action
            if keys:
                self._screen.redraw(self._view(moment))

    def _read_action(self, moment: _Moment, fresh: list[str], *, is_due: bool) -> Tensor | None:
        """Return the action for the keys, (1, ...); None for none, or one that is not allowed."""
        counts_held = self._key_map.acts_alone or (is_due and self._display.tells_releases)
        held = [key for key in self._display.held() if key not in fresh] if counts_held else []
        chosen = self._key_map.action([*held, *fresh])
        if chosen is None:
            return None
        if not is_allowed(chosen, moment.mask, self._space):
            name = describe_action(chosen, self._key_map.labels, self._space)
            self._message = f"not allowed now: {name}"
            return None
        return torch.from_numpy(chosen).unsqueeze(0)

    def _obey(self, keys: list[str]) -> bool:
        """Do what the keys of the game say; return whether to take one step out of a pause."""
        is_single = False
        for key in keys:
            if key in ("escape", "close", "q"):
                raise PlaybackStopped
            if key == "backspace":
                raise _PlayAgainError
            if key == "p":
                self._pace.is_paused = not self._pace.is_paused
                self._pace.restart()
            elif key == "n":
                self._pace.is_paused = is_single = True
            elif key == "tab":
                self._is_policy_acting = not self._is_policy_acting
            elif key in ("+", "-"):
                self._pace.faster() if key == "+" else self._pace.slower()
        return is_single

    def _wait_for_key(self, moment: _Moment) -> None:
        """Wait for the person at the beginning, where time would go on without them."""
        while self._key_map.acts_alone or self._is_policy_acting:
            keys = self._display.read_keys(_POLL_SECONDS)
            self._obey(keys)
            if keys:
                break
        self._message = ""
        if not self._pace.is_paused:
            self._pace.restart()
        self._screen.redraw(self._view(moment))

    def _end(self, moment: _Moment, episode: PlayedEpisode) -> None:
        """Show the last state until the person goes on."""
        self._message = f"{_ENDS[episode.end]}: return {episode.episode_return:,.2f}"
        self._screen.take(self._view(moment))
        keys: list[str] = []
        while not {"enter", "space"}.intersection(keys):
            keys = self._display.read_keys(_POLL_SECONDS)
            try:
                self._obey(keys)
            except PlaybackStopped:
                self.has_left = True
                return

    def _view(self, moment: _Moment) -> View:
        who = "the policy plays" if self._is_policy_acting else "you play"
        state = moment.state
        assert state.frame is not None, "a person needs a picture"
        last = ""
        if self._last_action is not None:
            last = describe_action(self._last_action, self._key_map.labels, self._space)
        return View(
            tiles=(Tile(state.frame),),
            caption=f"{moment.title}  step {state.n_steps}  return {state.episode_return:,.2f}",
            hint=HINT,
            is_end=state.episode is not None,
            panel=Panel(
                title=moment.suggestion,
                rows=moment.rows,
                facts=(moment.facts, who, f"last: {last}" if last else ""),
                message=self._message,
            ),
        )


class _Moment:
    """One state and what the policy thinks of it."""

    def __init__(
        self, player: EpisodePlayer, space: gym.Space, key_map: KeyMap, title: str
    ) -> None:
        self.title = title
        (self.state,) = player.states
        mask = player.stepper.mask
        self.mask = None if mask is None else mask[0].cpu().numpy()
        thoughts = player.explain()
        self.decision = player.decide()
        action = self.decision.action[0].cpu().numpy()
        self.rows = suggestion_rows(thoughts, action, space=space, key_map=key_map, mask=self.mask)
        self.facts = describe_thoughts(thoughts)
        name = describe_action(action, key_map.labels, space)
        self.suggestion = f"policy: {name}" if len(name) <= _LONGEST_NAME else "policy"
