"""What the page asks for, by names as they come from a browser, and what it gets."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

from utils.config import Config, load_config_json
from utils.errors import CheckpointError, RunNotFoundError, UserError
from utils.inspection.curves import curves_value
from utils.inspection.main_thread import MainThread
from utils.inspection.media import MediaShelf
from utils.inspection.payload import player_value
from utils.inspection.record import EpisodeRequest
from utils.inspection.store import EpisodeStore, StoredEpisode, fingerprint
from utils.run import Run, list_runs
from utils.run.options import LAST_SEED
from utils.storage import read_json

MODES = ("greedy", "sampled")
COLUMNS = ("seed", "actions", "return", "length", "end")
_MOST_EPISODES = 100


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
    ) -> None:
        """Bind what the answers come from.

        Args:
            runs_dir: The folder of the runs to choose from.
            first_run: What the page opens with, in that folder or not.
            first_checkpoint: Likewise; None for its best, or else its last.
            studio: Returns the `Studio`; called in the main thread only.
            main_thread: Runs the studio.
            media: Serves films.
        """
        self._runs_dir = runs_dir
        self._first_run = first_run
        self._first_checkpoint = first_checkpoint
        self._studio = studio
        self._main_thread = main_thread
        self._media = media
        self._is_warm = False

    @property
    def first_run_id(self) -> str:
        """The run that the page opens with."""
        return self._first_run.id

    def run_ids(self) -> list[str]:
        """Return the runs to choose from, newest first."""
        ids = [run.id for run in list_runs(self._runs_dir)]
        return ids if self._first_run.id in ids else [self._first_run.id, *ids]

    def checkpoints(self, run_id: str) -> list[tuple[str, str]]:
        """Return (what it is called, its name) of a run's checkpoints, best first, then newest."""
        run = self._run(run_id)
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
        """Return how the run's evaluations choose actions."""
        return MODES[0] if self._config(run_id).eval_deterministic else MODES[1]

    def summary(self, run_id: str) -> str:
        """Return HTML that says what the run is and how it stands; all text in it is escaped."""
        run, config = self._run(run_id), self._config(run_id)
        facts = [config.algo_id.upper(), run.read_status()["status"]]
        timesteps = run.saved_timesteps()
        if timesteps is not None:
            facts.append(f"{timesteps:,} timesteps")
        results = (read_json(run.results_path) or {}).get("test") or {}
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
        if mode not in MODES:
            raise UserError(f"actions are {' or '.join(MODES)}, not {mode!r}")
        names = [checkpoint] if other in (None, checkpoint) else [checkpoint, other]
        episodes = [self._episode(run_id, name, seed=seed, mode=mode) for name in names]
        if not self._is_warm:  # what makes new recordings is loaded once there is one to look at
            self._is_warm = True
            self._main_thread.post(self._studio)
        return player_value(episodes, names, run_id=run_id, media=self._media)

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
        branch = self._main_thread.call(
            lambda: self._studio().what_if(run, config, original=original, step=step, action=action)
        )
        names = [checkpoint, f"what if at step {step}"]
        return player_value([original, branch], names, run_id=run_id, media=self._media)

    def _episode(self, run_id: str, checkpoint: str, *, seed: Any, mode: str) -> StoredEpisode:
        if isinstance(seed, bool) or not isinstance(seed, int | float) or seed != int(seed):
            raise UserError(f"a seed is a whole number, not {seed!r}")
        if not 0 <= seed <= LAST_SEED:
            raise UserError(f"a seed is a whole number from 0 to {LAST_SEED}, not {seed:g}")
        run, config = self._run(run_id), self._config(run_id)
        self._check_checkpoint(run, checkpoint)
        request = EpisodeRequest(
            checkpoint=checkpoint,
            fingerprint=fingerprint(run.checkpoint(checkpoint)),
            seed=int(seed),
            is_deterministic=mode == MODES[0],
        )
        found = EpisodeStore(run).find(request)
        return found or self._main_thread.call(lambda: self._studio().record(run, config, request))

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
    about = read_json((run.checkpoints_dir / f"{name}.ckpt").with_suffix(".json"))
    if about is not None:
        parts.append(f"{about['counters']['timesteps']:,} timesteps")
    parts += [word for word, holder in (("best", best), ("last", last)) if holder == name]
    return " · ".join(parts)


def _mean_of(results: Any, name: str) -> float | None:
    part = results.get(name)
    mean = part.get("mean") if isinstance(part, dict) else None
    return float(mean) if isinstance(mean, int | float) else None
