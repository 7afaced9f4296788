"""The page itself: what there is to choose, the table of episodes, the player, the curves."""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Iterator
from typing import Any

import gradio as gr

from utils.errors import UserError
from utils.inspection.desk import COLUMNS, MODES, Desk, count_of

STATIC_PATH = "/inspector"
HEAD = f"<link rel='stylesheet' href='{STATIC_PATH}/inspector.css'>"
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


def _as_message(error: UserError) -> gr.Error:
    return gr.Error(html.escape(str(error)), duration=12, print_exception=False)


class _Page:
    """The components, and what happens when a person touches one."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

        def what_if(question: Any) -> dict[str, Any]:  # Gradio marks functions, not methods
            return desk.what_if(question)

        self.summary = gr.HTML(elem_id="summary")
        with gr.Row(elem_id="desk"):
            with gr.Column(elem_id="choices", scale=1, min_width=340):
                self._build_choices()
            with gr.Column(elem_id="looking", scale=3, min_width=340):
                with gr.Tab("Episode", elem_id="episode-tab"):
                    self.player = _mount("player", [what_if])
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
            column_widths=["11%", "19%", "23%", "17%", "30%"],
        )

    def connect(self, page: gr.Blocks) -> None:
        """Say what happens when."""
        choice = [self.run, self.policy, self.other]
        run_parts = [self.summary, self.policy, self.other, self.mode, self.curves]
        shown = [self.table, self.player, self.seed]
        first = {"fn": self._first_episode, "inputs": [*choice, self.mode], "outputs": shown}
        page.load(
            self._open,
            None,
            [self.run, *run_parts],
            api_name="open",
            show_progress="hidden",
        ).then(**first, api_name="first_episode", show_progress="minimal")
        self.run.input(
            self._choose_run, self.run, run_parts, api_name="choose_run", show_progress="hidden"
        ).then(**first, api_name=False, show_progress="minimal")
        self.refresh.click(
            self._refresh,
            choice,
            [self.run, self.summary, self.policy, self.other, self.curves],
            api_name="refresh",
            show_progress="hidden",
        )
        for component in (self.policy, self.other):
            component.input(**first, api_name=False, show_progress="minimal")
        asked = [*choice, self.mode, self.seed, self.count]
        self.play.click(self._play, asked, shown, api_name="play", show_progress="minimal")
        self.table.select(
            self._pick, choice, [self.player, self.table], api_name=False, show_progress="minimal"
        )

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

    @_told
    def _refresh(self, run_id: str, policy: str | None, other: str) -> tuple[Any, ...]:
        desk = self._desk
        policies = desk.checkpoints(run_id)
        names = [name for _, name in policies]
        return (
            gr.Dropdown(choices=desk.run_ids(), value=run_id),
            desk.summary(run_id),
            gr.Dropdown(
                choices=policies,
                value=policy if policy in names else desk.first_checkpoint(run_id),
            ),
            gr.Dropdown(
                choices=[("nobody", _NOBODY), *policies],
                value=other if other in names else _NOBODY,
            ),
            desk.curves(run_id),
        )

    @_told
    def _first_episode(
        self, run_id: str, policy: str | None, other: str | None, mode: str
    ) -> tuple[Any, ...]:
        """Show the first recorded episode; record one where there is none yet."""
        if policy is None:
            return self._table(run_id, policy, other), None, 0
        _, rows = self._desk.table(run_id, policy, other or None)
        seed, mode = (rows[0][0], rows[0][1]) if rows else (0, mode)
        value = self._desk.show(run_id, policy, other or None, seed=seed, mode=mode)
        return self._table(run_id, policy, other), value, self._next_seed(run_id, policy)

    def _play(
        self, run_id: str, policy: str | None, other: str | None, mode: str, seed: Any, count: Any
    ) -> Iterator[tuple[Any, ...]]:
        """Record episodes one after another and show each."""
        try:
            if policy is None:
                raise UserError("this run has no checkpoint yet: nobody can play")
            for k in range(count_of(count)):
                value = self._desk.show(run_id, policy, other or None, seed=seed + k, mode=mode)
                yield self._table(run_id, policy, other), value, seed + k + 1
        except UserError as error:
            raise _as_message(error) from error

    @_told
    def _pick(
        self, run_id: str, policy: str, other: str | None, event: gr.SelectData
    ) -> tuple[Any, ...]:
        seed, mode = event.row_value[:2]
        value = self._desk.show(run_id, policy, other or None, seed=int(seed), mode=mode)
        # The other policy's episode may be a new one.
        return value, self._table(run_id, policy, other) if other else gr.skip()

    def _table(self, run_id: str, policy: str | None, other: str | None) -> dict[str, Any]:
        headers, rows = self._desk.table(run_id, policy, other or None)
        return {"headers": headers, "data": rows}

    def _next_seed(self, run_id: str, policy: str) -> int:
        _, rows = self._desk.table(run_id, policy, None)
        return max((row[0] for row in rows), default=-1) + 1
