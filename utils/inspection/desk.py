"""What the page asks for, by names as they come from a browser, and what it gets."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from utils.config import Config, load_config_json
from utils.errors import CheckpointError, ConfigError, RunNotFoundError, UserError
from utils.inspection.curves import curves_value
from utils.inspection.dream_wish import DreamWish, dream_options
from utils.inspection.main_thread import MainThread
from utils.inspection.media import MediaShelf
from utils.inspection.payload import player_value
from utils.inspection.plan_wish import PlanWish, plan_options
from utils.inspection.progress import Progress
from utils.inspection.record import Branch, EpisodeRequest
from utils.inspection.sample_wish import SampleWish, sample_options
from utils.inspection.store import EpisodeStore, StoredEpisode, fingerprint
from utils.run import Run, list_runs
from utils.run.options import LAST_SEED
from utils.storage import read_json

MODES = ("greedy", "sampled")
COLUMNS = ("seed", "actions", "return", "length", "end")
_MOST_EPISODES = 100
Made = TypeVar("Made")


class Desk:
    """Answers the page; recordings are made in the main thread.

    Names of runs and checkpoints are looked up among those that there are: nothing that a browser
    sends is ever taken for a path.
    """

    def __init__(
        self,
        *,
        runs_dir: Path,
        first_run: Run,
        first_checkpoint: str | None,
        studio: Callable[[], Any],
        main_thread: MainThread,
        media: MediaShelf,
        progress: Progress,
    ) -> None:
        """Bind what the answers come from.

        Args:
            runs_dir: The folder of the runs to choose from.
            first_run: What the page opens with, in that folder or not.
            first_checkpoint: Likewise; None for its best, or else its last.
            studio: Returns the `Studio`; called in the main thread only.
            main_thread: Runs the studio.
            media: Serves films.
            progress: Of what the studio records.
        """
        self._runs_dir = runs_dir
        self._first_run = first_run
        self._first_checkpoint = first_checkpoint
        self._studio = studio
        self._main_thread = main_thread
        self._media = media
        self._progress = progress
        self._is_warm = False

    @property
    def first_run_id(self) -> str:
        """The run that the page opens with."""
        return self._first_run.id

    def run_ids(self) -> list[str]:
        """Return the runs to choose from, newest first."""
        ids = [run.id for run in list_runs(self._runs_dir)]
        return ids if self._first_run.id in ids else [self._first_run.id, *ids]

    def problem(self, run_id: str) -> str | None:
        """Say why nobody can play in a run; None where somebody can."""
        run = self._run(run_id)
        try:
            load_config_json(run.config_path)
        except UserError as error:
            return f"This run cannot be shown: {error}"
        if not run.list_checkpoints():
            return "This run has no checkpoint yet. Refresh looks again."
        return None

    def checkpoints(self, run_id: str) -> list[tuple[str, str]]:
        """Return (what it is called, its name) of the policies that can play in a run.

        The best comes first, then the newest.
        """
        run = self._run(run_id)
        if self.problem(run_id) is not None:
            return []
        best, last = _name_of(run, "@best"), _name_of(run, "@last")
        names = [path.stem for path in reversed(run.list_checkpoints())]
        names.sort(key=lambda name: name != best)
        return [(_call(run, name, best=best, last=last), name) for name in names]

    def first_checkpoint(self, run_id: str) -> str | None:
        """Return the checkpoint that is chosen first; None where there is none yet."""
        if run_id == self._first_run.id and self._first_checkpoint is not None:
            return self._first_checkpoint
        names = [name for _, name in self.checkpoints(run_id)]
        return names[0] if names else None

    def default_mode(self, run_id: str) -> str:
        """Return how the run's evaluations choose actions; greedy where its config is damaged."""
        try:
            return MODES[0] if self._config(run_id).eval_deterministic else MODES[1]
        except ConfigError:
            return MODES[0]

    def summary(self, run_id: str) -> str:
        """Return HTML that says what the run is and how it stands; all text in it is escaped."""
        run = self._run(run_id)
        try:
            config = self._config(run_id)
        except ConfigError:
            return f"<div class='inspector-summary'><h1>{html.escape(run.id)}</h1></div>"
        facts = [config.algo_id.upper().replace("_", "-"), run.read_status()["status"]]
        timesteps = run.saved_timesteps()
        if timesteps is not None:
            facts.append(f"{timesteps:,} timesteps")
        results = (read_json(run.results_path) or {}).get("test")
        for name in ("best", "last"):
            mean = _mean_of(results, name)
            if mean is not None:
                facts.append(f"{name} policy {mean:,.2f} in the test")
        chips = "".join(f"<span>{html.escape(str(fact))}</span>" for fact in facts)
        summary = html.escape(config.spec.summary)
        return (
            f"<div class='inspector-summary'><h1>{html.escape(config.config_id)}</h1>"
            f"<p>{summary}</p><div>{chips}</div></div>"
        )

    def curves(self, run_id: str) -> dict[str, Any]:
        """Return the training curves; see `curves_value`."""
        return curves_value(self._run(run_id))

    def table(
        self, run_id: str, checkpoint: str | None, other: str | None
    ) -> tuple[list[str], list[list[Any]]]:
        """Return headers and rows of the recorded episodes of a checkpoint.

        Args:
            run_id: The run.
            checkpoint: Whose episodes; None for a run without a checkpoint.
            other: Whose episodes of the same seeds stand beside them; None for nobody's.
        """
        headers = list(COLUMNS)
        if other is not None:
            headers.append(other)
        if checkpoint is None:
            return headers, []
        theirs = {} if other is None else self._facts(run_id, other)
        rows = []
        for key, facts in self._facts(run_id, checkpoint).items():
            row = [*key, _return_of(facts), facts["length"], _end_of(facts)]
            if other is not None:
                row.append(_return_of(theirs[key]) if key in theirs else "-")
            rows.append(row)
        return headers, rows

    def is_recorded(
        self, run_id: str, checkpoint: str, other: str | None, *, seed: Any, mode: str
    ) -> bool:
        """Say whether `show` has an answer at once; False also where it will refuse to answer."""
        try:
            return all(
                EpisodeStore(self._run(run_id)).find(
                    self._request(run_id, name, seed=seed, mode=mode)
                )
                for name in _pair(checkpoint, other)
            )
        except UserError:
            return False

    def show(
        self, run_id: str, checkpoint: str, other: str | None, *, seed: Any, mode: str
    ) -> dict[str, Any]:
        """Return what the player shows: an episode, or two policies in episodes of one seed.

        Args:
            run_id: The run.
            checkpoint: The policy.
            other: A second one; None for one alone.
            seed: Of the episode.
            mode: `greedy` or `sampled`.

        Raises:
            UserError: There is no such run, checkpoint or mode, or the episode cannot be recorded.
        """
        names = _pair(checkpoint, other)
        episodes = [self._episode(run_id, name, seed=seed, mode=mode) for name in names]
        if not self._is_warm:  # what makes new recordings is loaded once there is one to look at
            self._is_warm = True
            self._main_thread.post(self._studio)
        return self._shown(episodes, names, run_id)

    def progress(self) -> dict[str, Any]:
        """Return what is being recorded; see `Progress.to_dict`."""
        return self._progress.to_dict()

    def stop(self) -> None:
        """End the recording that is being made; whoever waits for it is told so."""
        self._progress.stop()

    def what_if(self, question: Any) -> dict[str, Any]:
        """Return an episode beside what would have followed from another action.

        Args:
            question: `run`, `request` of the episode (see `EpisodeRequest`), `step` and `action`,
                a list of numbers as policies choose them.

        Returns:
            `value` for the player, or `error`, one line of text.
        """
        try:
            return {"value": self._answer(question)}
        except UserError as error:
            return {"error": str(error)}

    def _answer(self, question: Any) -> dict[str, Any]:
        try:
            run_id, request = question["run"], question["request"]
            checkpoint, seed = request["checkpoint"], request["seed"]
            mode = MODES[0] if request["is_deterministic"] else MODES[1]
            step, action = int(question["step"]), question["action"]
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"this is no question: {error!r}") from error
        original = self._episode(run_id, checkpoint, seed=seed, mode=mode)
        run, config = self._run(run_id), self._config(run_id)
        branch = self._record(
            lambda studio: studio.what_if(run, config, original=original, step=step, action=action)
        )
        names = [checkpoint, f"what if at step {step}"]
        return self._shown([original, branch], names, run_id)

    def _shown(
        self, episodes: list[StoredEpisode], names: list[str], run_id: str
    ) -> dict[str, Any]:
        config = self._config(run_id)
        return player_value(
            episodes,
            names,
            run_id=run_id,
            media=self._media,
            dreams=dream_options(config),
            plans=plan_options(config),
            samples=sample_options(config),
        )

    def dream(self, question: Any) -> dict[str, Any]:
        """Return an episode beside what a world model makes of it, and a dream.

        Args:
            question: `run`, `request` of the episode (see `EpisodeRequest`), and which dream (see
                `DreamWish`).

        Returns:
            `value` for the player, or `error`, one line of text.
        """
        try:
            wish = DreamWish.of_question(question)
            episode = self._episode_of(question)
            run, config = self._run(question["run"]), self._config(question["run"])
            return {"value": self._record(lambda studio: studio.dream(run, config, episode, wish))}
        except UserError as error:
            return {"error": str(error)}

    def plan(self, question: Any) -> dict[str, Any]:
        """Return how an action of an episode was planned.

        Args:
            question: `run`, `request` of the episode (see `EpisodeRequest`), and `step`.

        Returns:
            `value` for the player, or `error`, one line of text.
        """
        try:
            wish = PlanWish.of_question(question)
            episode = self._episode_of(question)
            run, config = self._run(question["run"]), self._config(question["run"])
            return {"value": self._record(lambda studio: studio.plan(run, config, episode, wish))}
        except UserError as error:
            return {"error": str(error)}

    def sample(self, question: Any) -> dict[str, Any]:
        """Return sequences of actions that might have been drawn at a step of an episode.

        Args:
            question: `run`, `request` of the episode (see `EpisodeRequest`), and `step`.

        Returns:
            `value` for the player, or `error`, one line of text.
        """
        try:
            wish = SampleWish.of_question(question)
            episode = self._episode_of(question)
            run, config = self._run(question["run"]), self._config(question["run"])
            return {"value": self._record(lambda studio: studio.sample(run, config, episode, wish))}
        except UserError as error:
            return {"error": str(error)}

    def _episode_of(self, question: Any) -> StoredEpisode:
        """Return the episode that a question is about, one with a changed action included."""
        try:
            run_id, values = question["run"], question["request"]
            asked = EpisodeRequest.from_dict(values)
            branch = asked.branch and Branch(
                int(asked.branch.step), tuple(map(float, asked.branch.action))
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"this is no question: {error!r}") from error
        if branch is None:
            return self._episode(run_id, asked.checkpoint, seed=asked.seed, mode=asked.mode)
        request = self._request(run_id, asked.checkpoint, seed=asked.seed, mode=asked.mode)
        request = dataclasses.replace(request, branch=branch)
        found = EpisodeStore(self._run(run_id)).find(request)
        if found is None:
            raise UserError("this episode with a changed action is no longer there: ask again")
        return found

    def _episode(self, run_id: str, checkpoint: str, *, seed: Any, mode: str) -> StoredEpisode:
        request = self._request(run_id, checkpoint, seed=seed, mode=mode)
        run, config = self._run(run_id), self._config(run_id)
        store = EpisodeStore(run)
        # It may have been recorded for somebody else while this one waited for its turn.
        return store.find(request) or self._record(
            lambda studio: store.find(request) or studio.record(run, config, request)
        )

    def _record(self, make: Callable[[Any], Made]) -> Made:
        """Have the studio make something, in the main thread, and wait for it."""

        def make_there() -> Made:
            self._progress.begin("Loading torch")  # which takes a moment the first time
            try:
                return make(self._studio())
            finally:
                self._progress.end()

        return self._main_thread.call(make_there)

    def _request(self, run_id: str, checkpoint: str, *, seed: Any, mode: str) -> EpisodeRequest:
        if mode not in MODES:
            raise UserError(f"actions are {' or '.join(MODES)}, not {mode!r}")
        if isinstance(seed, bool) or not isinstance(seed, int | float) or seed != int(seed):
            raise UserError(f"a seed is a whole number, not {seed!r}")
        if not 0 <= seed <= LAST_SEED:
            raise UserError(f"a seed is a whole number from 0 to {LAST_SEED}, not {seed:g}")
        run = self._run(run_id)
        self._check_checkpoint(run, checkpoint)
        return EpisodeRequest(
            checkpoint=checkpoint,
            fingerprint=fingerprint(run.checkpoint(checkpoint)),
            seed=int(seed),
            is_deterministic=mode == MODES[0],
        )

    def _facts(self, run_id: str, checkpoint: str) -> dict[tuple[int, str], dict[str, Any]]:
        run = self._run(run_id)
        self._check_checkpoint(run, checkpoint)
        mark = fingerprint(run.checkpoint(checkpoint))
        found = EpisodeStore(run).list_facts(checkpoint, mark)
        return {_key(facts): facts for facts in found}

    def _run(self, run_id: str) -> Run:
        if run_id == self._first_run.id:
            return self._first_run
        for run in list_runs(self._runs_dir):
            if run.id == run_id:
                return run
        raise RunNotFoundError(f"there is no run {run_id!r} in '{self._runs_dir}'")

    def _config(self, run_id: str) -> Config:
        return load_config_json(self._run(run_id).config_path)

    def _check_checkpoint(self, run: Run, name: str) -> None:
        names = [path.stem for path in run.list_checkpoints()]
        if name not in names:
            raise CheckpointError(
                f"run '{run.id}' has no checkpoint {name!r}; there are {', '.join(names) or 'none'}"
            )


def count_of(number: Any) -> int:
    """Check how many episodes a person asks for.

    Raises:
        UserError: It is no whole number from 1 to 100.
    """
    if not isinstance(number, int | float) or number != int(number):
        raise UserError(f"the number of episodes is a whole number, not {number!r}")
    if not 1 <= number <= _MOST_EPISODES:
        raise UserError(f"at most {_MOST_EPISODES} episodes at once, and at least 1")
    return int(number)


def _pair(checkpoint: str, other: str | None) -> list[str]:
    return [checkpoint] if other in (None, checkpoint) else [checkpoint, other]


def _key(facts: dict[str, Any]) -> tuple[int, str]:
    request = facts["request"]
    return request["seed"], MODES[0] if request["is_deterministic"] else MODES[1]


def _return_of(facts: dict[str, Any]) -> float:
    return round(facts["episode_return"], 2)


def _end_of(facts: dict[str, Any]) -> str:
    """Say how an episode ended; a tick says that it reached its goal."""
    return facts["end"] + (" ✓" if facts["is_success"] else "")


def _name_of(run: Run, reference: str) -> str | None:
    try:
        return run.checkpoint(reference).stem
    except CheckpointError:
        return None


def _call(run: Run, name: str, *, best: str | None, last: str | None) -> str:
    """Say of a checkpoint what it is and how long it was trained."""
    parts = [name]
    parts += [word for word, holder in (("best", best), ("last", last)) if holder == name]
    timesteps = run.timesteps_of(run.checkpoints_dir / f"{name}.ckpt")
    if timesteps is not None:
        parts.append(f"{timesteps:,} timesteps")
    return " · ".join(parts)


def _mean_of(results: Any, name: str) -> float | None:
    part = results.get(name) if isinstance(results, dict) else None
    mean = part.get("mean") if isinstance(part, dict) else None
    return float(mean) if isinstance(mean, int | float) else None
