"""Single keys of the terminal in which a program runs, read beside its work."""

from utils.keyboard.keyboard import Keyboard, has_keyboard

__all__ = ["Keyboard", "has_keyboard"]
