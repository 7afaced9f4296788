"""What is told about episodes: a row for each, then the mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from utils.playback.episodes import PlayedEpisode
from utils.playback.human import HumanEpisode
from utils.rollouts import EvaluationResult

ENDS = {"terminated": "terminated", "truncated": "time limit", "cut": "cut by --max-steps"}


class Report:
    """Writes lines, or keeps them back while the terminal shows pictures."""

    def __init__(self, stream: TextIO) -> None:
        """Write to a stream."""
        self._stream = stream
        self._held_back: list[str] | None = None

    def tell(self, line: str) -> None:
        """Write one line, now or when it is released."""
        if self._held_back is not None:
            self._held_back.append(line)
        else:
            print(line, file=self._stream, flush=True)

    def hold(self) -> None:
        """Keep lines back: what is written now would not stay."""
        self._held_back = self._held_back or []

    def release(self) -> None:
        """Write what was kept back."""
        lines, self._held_back = self._held_back or [], None
        for line in lines:
            self.tell(line)


def episode_header() -> str:
    """Return the head of `episode_row`s."""
    return _row("episode", "seed", "return", "length", "end")


def episode_row(k: int, episode: PlayedEpisode) -> str:
    """Return seed, return, length and end of the k-th episode, from 0."""
    return _row(
        k + 1, episode.seed, f"{episode.episode_return:,.2f}", episode.length, ENDS[episode.end]
    )


def as_result(
    played: Sequence[PlayedEpisode], *, seed: int, is_deterministic: bool
) -> EvaluationResult:
    """Return the whole episodes as an evaluation does; those that were cut are counted."""
    whole = [episode for episode in played if episode.end != "cut"]
    return EvaluationResult(
        returns=[episode.episode_return for episode in whole],
        lengths=[episode.length for episode in whole],
        n_unfinished=len(played) - len(whole),
        seconds=0.0,
        seed=seed,
        is_deterministic=is_deterministic,
    )


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


def compare_with_policy(
    human: Sequence[HumanEpisode], policy: Sequence[PlayedEpisode]
) -> list[str]:
    """Return the person's returns beside the policy's, episode by episode, and both means.

    Args:
        human: What the person played.
        policy: The same seeds, played by the policy alone.
    """
    if not human:
        return ["no episode was played to its end"]
    lines = [_comparison("episode", "seed", "you", "policy", "your end")]
    for k, (own, other) in enumerate(zip(human, policy, strict=True)):
        cells = f"{own.episode.episode_return:,.2f}", f"{other.episode_return:,.2f}"
        lines.append(_comparison(k + 1, own.episode.seed, *cells, _describe_end(own)))
    own_mean = sum(own.episode.episode_return for own in human) / len(human)
    policy_mean = sum(other.episode_return for other in policy) / len(policy)
    lines.append(_comparison("mean", "", f"{own_mean:,.2f}", f"{policy_mean:,.2f}", ""))
    return [line.rstrip() for line in lines]


def _describe_end(own: HumanEpisode) -> str:
    parts = [f"{ENDS[own.episode.end]} after {own.episode.length:,} steps"]
    if own.n_policy_steps:
        parts.append(f"{own.n_policy_steps:,} of them the policy's")
    if own.n_tries > 1:
        parts.append(f"try {own.n_tries}")
    return ", ".join(parts)


def _row(*cells: object) -> str:
    episode, seed, episode_return, length, end = cells
    return f"{episode:>7}  {seed:>10}  {episode_return:>10}  {length:>6}  {end}"


def _comparison(*cells: object) -> str:
    episode, seed, own, policy, end = cells
    return f"{episode:>7}  {seed:>10}  {own:>10}  {policy:>10}  {end}"
