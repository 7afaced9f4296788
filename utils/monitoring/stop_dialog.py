"""The question before a training is stopped."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Static
from typing_extensions import override


class StopDialog(ModalScreen[bool]):
    """Asks whether the training shall end; closes with the answer."""

    CSS = """
    StopDialog { align: center middle; }
    StopDialog Vertical {
        width: 60; max-width: 90%; height: auto; padding: 1 2;
        border: round $warning; background: $surface;
    }
    StopDialog Horizontal { height: auto; margin-top: 1; align-horizontal: center; }
    StopDialog Button { margin: 0 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Stop"),
        Binding("n,escape", "answer(False)", "Go on"),
    ]

    def __init__(self, config_id: str) -> None:
        """Ask about a run.

        Args:
            config_id: What it trains.
        """
        super().__init__()
        self._config_id = config_id

    @override
    def compose(self) -> ComposeResult:
        text = Text(
            f"Stop training {self._config_id} after this epoch?\n"
            "It saves first; train.py --resume goes on with it."
        )
        with Vertical():
            yield Static(text)
            with Horizontal():
                yield Button("Stop (y)", variant="warning", id="stop")
                yield Button("Go on (n)", id="go-on")

    def on_mount(self) -> None:
        """Let Enter alone stop nothing."""
        self.query_one("#go-on").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Close with the answer of the button."""
        self.dismiss(event.button.id == "stop")

    def action_answer(self, is_sure: bool) -> None:
        """Close with the answer of a key."""
        self.dismiss(is_sure)
