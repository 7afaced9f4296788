"""A terminal that keeps what a person sees."""

from __future__ import annotations

import io
import os
import re


class Screen(io.StringIO):
    """A terminal: takes the control codes that the console uses and keeps what a person sees."""

    encoding = "utf-8"

    def __init__(self, columns=80, rows=24):
        super().__init__()
        self.size = os.terminal_size((columns, rows))
        self.lines = [""]
        self.row = self.column = 0
        self.raw = ""

    def isatty(self):
        return True

    def fileno(self):
        return 1

    def write(self, text):
        self.raw += text
        for token in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|.|\n", text):
            self._take(token)
        return len(text)

    def _take(self, token):
        if token.startswith("\x1b["):
            self._control(token[2:-1], token[-1])
        elif token == "\r":
            self.column = 0
        elif token == "\n":
            self.row, self.column = self.row + 1, 0
            if self.row == len(self.lines):
                self.lines.append("")
        else:
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + token + line[self.column + 1 :]
            self.column += 1
            assert self.column < self.size.columns, f"line wraps: {self.lines[self.row]!r}"

    def _control(self, argument, code):
        if code == "A":
            self.row -= int(argument)
            top = len(self.lines) - self.size.lines
            assert self.row >= max(0, top), "the table is higher than the terminal"
        elif code == "K":
            self.lines[self.row] = self.lines[self.row][: self.column]
        elif code == "J" and argument == "":
            self.lines = [*self.lines[: self.row], self.lines[self.row][: self.column]]
        elif code == "J":
            self.lines = [""]
        elif code == "H":
            self.row = self.column = 0
        else:
            assert code == "m", code
