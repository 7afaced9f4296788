"""The page itself: what there is to choose, the table of episodes, the player, the curves."""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Iterator
from typing import Any

import gradio as gr

from utils.errors import UserError
from utils.inspection.desk import COLUMNS, MODES, Desk, count_of
from utils.inspection.turns import Turns

STATIC_PATH = "/inspector"
HEAD = "".join(
    f"<link rel='stylesheet' href='{STATIC_PATH}/{name}.css'>"
    for name in ("inspector", "dream", "plan")
)
_NOBODY = ""
_LOAD = "import('%s/%s.js').then((module) => module.start({element, props, watch, server}))"


def build_theme() -> gr.themes.Base:
    """Return the look of the page, in fonts that every machine has."""
    sans = ["system-ui", "Segoe UI", "Helvetica Neue", "Arial", "sans-serif"]
    mono = ["ui-monospace", "SFMono-Regular", "Menlo", "DejaVu Sans Mono", "monospace"]
    return gr.themes.Base(
        primary_hue="blue", neutral_hue="slate", font=sans, font_mono=mono, radius_size="md"
    )


def build_page(desk: Desk) -> gr.Blocks:
    """Lay out the page and connect it to what answers it."""
    with gr.Blocks(title="Episode inspector", analytics_enabled=False, fill_width=True) as page:
        _Page(desk).connect(page)
    return page


def _mount(name: str, server_functions: list[Callable[..., Any]] | None = None) -> gr.HTML:
    """Return a place that one of the page's own scripts fills."""
    return gr.HTML(
        value=None,
        html_template="<div class='inspector-mount'></div>",
        js_on_load=_LOAD % (STATIC_PATH, name),
        server_functions=server_functions,
        apply_default_css=False,
        elem_id=name,
    )


def _told(function: Callable[..., Any]) -> Callable[..., Any]:
    """Show a person's mistake as one line; its text may name runs, so it is escaped."""

    @functools.wraps(function)
    def told(*args: Any) -> Any:
        try:
            return function(*args)
        except UserError as error:
            raise _as_message(error) from error

    return told


def _page_of(request: gr.Request) -> str:
    return request.session_hash or ""


def _while(
    is_newest: Callable[[], bool], updates: Iterator[tuple[Any, ...]]
) -> Iterator[tuple[Any, ...]]:
    """Pass updates on until a newer wish of the same page makes them out of date."""
    try:
        for update in updates:
            if not is_newest():
                return
            yield update
    except gr.Error:
        if is_newest():  # nobody asks any more why an older one failed
            raise


def _busy(text: str, *, keeps: bool) -> dict[str, Any]:
    """Return what the player shows while something is made: in place of all, or above the rest."""
    return {"busy": text, "keeps": keeps}


def _message(text: str, *, keeps: bool = False) -> dict[str, Any]:
    """Return a line that the player shows, or takes away where it is empty."""
    return {"message": text, "keeps": keeps}


def _as_message(error: UserError) -> gr.Error:
    return gr.Error(html.escape(str(error)), duration=12, print_exception=False)


class _Page:
    """The components, and what happens when a person touches one."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._turns = Turns()

        def what_if(question: Any) -> dict[str, Any]:  # Gradio marks functions, not methods
            return desk.what_if(question)

        def dream(question: Any) -> dict[str, Any]:
            return desk.dream(question)

        def plan(question: Any) -> dict[str, Any]:
            return desk.plan(question)

        def sample(question: Any) -> dict[str, Any]:
            return desk.sample(question)

        def progress(_: Any) -> dict[str, Any]:
            return desk.progress()

        def stop(_: Any) -> None:
            desk.stop()

        self.summary = gr.HTML(elem_id="summary")
        with gr.Row(elem_id="desk"):
            with gr.Column(elem_id="choices", scale=1, min_width=340):
                self._build_choices()
            with gr.Column(elem_id="looking", scale=3, min_width=340):
                with gr.Tab("Episode", elem_id="episode-tab"):
                    self.player = _mount("player", [what_if, dream, plan, sample, progress, stop])
                with gr.Tab("Training curves", elem_id="curves-tab"):
                    self.curves = _mount("curves")

    def _build_choices(self) -> None:
        with gr.Group():
            self.run = gr.Dropdown([], label="Run", elem_id="run")
            self.policy = gr.Dropdown([], label="Policy", elem_id="policy")
            self.other = gr.Dropdown([], label="Compare with", elem_id="other")
        with gr.Group():
            self.mode = gr.Radio(list(MODES), label="Actions", elem_id="mode")
            with gr.Row():
                self.seed = gr.Number(
                    0, label="Seed", precision=0, minimum=0, elem_id="seed", min_width=100
                )
                self.count = gr.Number(
                    1, label="Episodes", precision=0, minimum=1, elem_id="count", min_width=100
                )
        with gr.Row():
            self.play = gr.Button(
                "Play new episodes", elem_id="play", variant="primary", scale=3, min_width=160
            )
            self.refresh = gr.Button("Refresh", elem_id="refresh", scale=1, min_width=90)
        self.table = gr.Dataframe(
            headers=list(COLUMNS),
            interactive=False,
            label="Recorded episodes: click one to watch it",
            elem_id="episodes",
            max_height=420,
            column_widths=["13%", "19%", "21%", "16%", "31%"],
        )

    def connect(self, page: gr.Blocks) -> None:
        """Say what happens when."""
        choice = [self.run, self.policy, self.other]
        run_parts = [self.summary, self.policy, self.other, self.mode, self.curves]
        shown = [self.table, self.player, self.seed]
        # The player tells what is being recorded, and the main thread records one after another.
        # A new wish does not wait for an older one, which is then out of date.
        quietly: dict[str, Any] = {
            "show_progress": "hidden",
            "concurrency_limit": None,
            "trigger_mode": "multiple",
        }
        first = {
            "fn": self._first_episode,
            "inputs": [*choice, self.mode],
            "outputs": shown,
            **quietly,
        }
        page.unload(self._close)
        page.load(
            self._open,
            None,
            [self.run, *run_parts],
            api_name="open",
            show_progress="hidden",
        ).success(**first, api_name="first_episode")
        self.run.select(
            self._choose_run, self.run, run_parts, api_name="choose_run", **quietly
        ).success(**first, api_name=False)
        self.refresh.click(
            self._refresh,
            [*choice, self.mode],
            [self.run, self.summary, self.policy, self.other, self.curves, *shown],
            api_name="refresh",
            **quietly,
        )
        for component in (self.policy, self.other):
            component.select(**first, api_name=False)
        asked = [*choice, self.mode, self.seed, self.count]
        self.play.click(self._play, asked, shown, api_name="play", **quietly)
        self.table.select(self._pick, choice, [self.player, self.table], api_name=False, **quietly)

    def _close(self, request: gr.Request) -> None:
        self._turns.forget(_page_of(request))

    @_told
    def _open(self) -> tuple[Any, ...]:
        run_id = self._desk.first_run_id
        choices = gr.Dropdown(choices=self._desk.run_ids(), value=run_id)
        return choices, *self._choose_run(run_id)

    @_told
    def _choose_run(self, run_id: str) -> tuple[Any, ...]:
        desk = self._desk
        policies = desk.checkpoints(run_id)
        return (
            desk.summary(run_id),
            gr.Dropdown(choices=policies, value=desk.first_checkpoint(run_id)),
            gr.Dropdown(choices=[("nobody", _NOBODY), *policies], value=_NOBODY),
            desk.default_mode(run_id),
            desk.curves(run_id),
        )

    def _refresh(
        self, run_id: str, policy: str | None, other: str, mode: str, request: gr.Request
    ) -> Iterator[tuple[Any, ...]]:
        """Look again at what there is; show an episode of a policy that was not there before."""
        desk = self._desk
        try:
            policies = desk.checkpoints(run_id)
            names = [name for _, name in policies]
            chosen = policy if policy in names else desk.first_checkpoint(run_id)
            other = other if other in names else _NOBODY
            refreshed = (
                gr.Dropdown(choices=desk.run_ids(), value=run_id),
                desk.summary(run_id),
                gr.Dropdown(choices=policies, value=chosen),
                gr.Dropdown(choices=[("nobody", _NOBODY), *policies], value=other),
                desk.curves(run_id),
            )
            yield *refreshed, self._table(run_id, chosen, other), gr.skip(), gr.skip()
        except UserError as error:
            raise _as_message(error) from error
        if chosen != policy:
            for shown in self._first_episode(run_id, chosen, other, mode, request):
                yield *(gr.skip() for _ in refreshed), *shown

    def _first_episode(
        self, run_id: str, policy: str | None, other: str | None, mode: str, request: gr.Request
    ) -> Iterator[tuple[Any, ...]]:
        """Show the first recorded episode; record one where there is none yet."""
        is_newest = self._turns.take(_page_of(request))
        yield from _while(is_newest, self._show_first(run_id, policy, other or None, mode))

    def _show_first(
        self, run_id: str, policy: str | None, other: str | None, mode: str
    ) -> Iterator[tuple[Any, ...]]:
        desk, pair = self._desk, (policy, other)
        try:
            if policy is None:
                raise UserError(desk.problem(run_id) or "Choose a policy.")
            _, rows = desk.table(run_id, *pair)
            seed, mode = (rows[0][0], rows[0][1]) if rows else (0, mode)
            if not desk.is_recorded(run_id, *pair, seed=seed, mode=mode):
                text = "Recording the first episode" if not rows else "Recording the same seed"
                yield self._table(run_id, *pair), _busy(text, keeps=False), gr.skip()
            value = desk.show(run_id, *pair, seed=seed, mode=mode)
            yield self._table(run_id, *pair), value, self._next_seed(run_id, policy)
        except UserError as error:
            yield self._table(run_id, None, None), _message(str(error)), 0

    def _play(
        self,
        run_id: str,
        policy: str | None,
        other: str | None,
        mode: str,
        seed: Any,
        count: Any,
        request: gr.Request,
    ) -> Iterator[tuple[Any, ...]]:
        """Record episodes one after another and show each."""
        is_newest = self._turns.take(_page_of(request))
        yield from _while(
            is_newest, self._show_new(run_id, (policy, other or None), mode, seed, count)
        )

    def _show_new(
        self, run_id: str, pair: tuple[str | None, str | None], mode: str, seed: Any, count: Any
    ) -> Iterator[tuple[Any, ...]]:
        desk, policy = self._desk, pair[0]
        try:
            if policy is None:
                raise UserError(desk.problem(run_id) or "Choose a policy first.")
            n_episodes = count_of(count)
            for k in range(n_episodes):
                if not desk.is_recorded(run_id, *pair, seed=seed + k, mode=mode):
                    text = f"Recording episode {k + 1} of {n_episodes}"
                    yield gr.skip(), _busy(text, keeps=True), gr.skip()
                value = desk.show(run_id, *pair, seed=seed + k, mode=mode)
                yield self._table(run_id, *pair), value, seed + k + 1
        except UserError as error:
            yield gr.skip(), _message("", keeps=True), gr.skip()
            raise _as_message(error) from error

    def _pick(
        self,
        run_id: str,
        policy: str,
        other: str | None,
        event: gr.SelectData,
        request: gr.Request,
    ) -> Iterator[tuple[Any, ...]]:
        """Show the episode of a row; that of the other policy may have to be recorded."""
        is_newest = self._turns.join(_page_of(request))
        seed, mode = int(event.row_value[0]), event.row_value[1]
        yield from _while(is_newest, self._show_row(run_id, (policy, other or None), seed, mode))

    def _show_row(
        self, run_id: str, pair: tuple[str, str | None], seed: int, mode: str
    ) -> Iterator[tuple[Any, ...]]:
        desk, other = self._desk, pair[1]
        try:
            if not desk.is_recorded(run_id, *pair, seed=seed, mode=mode):
                yield _busy("Recording the same seed", keeps=True), gr.skip()
            value = desk.show(run_id, *pair, seed=seed, mode=mode)
            yield value, self._table(run_id, *pair) if other else gr.skip()
        except UserError as error:
            yield _message("", keeps=True), gr.skip()
            raise _as_message(error) from error

    def _table(self, run_id: str, policy: str | None, other: str | None) -> dict[str, Any]:
        headers, rows = self._desk.table(run_id, policy, other or None)
        return {"headers": headers, "data": rows}

    def _next_seed(self, run_id: str, policy: str) -> int:
        _, rows = self._desk.table(run_id, policy, None)
        return max((row[0] for row in rows), default=-1) + 1
