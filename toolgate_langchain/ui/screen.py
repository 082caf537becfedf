"""The screen: a rich console that takes every text as it is, never as markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolgate_langchain.approvals.shown import show_text
from toolgate_langchain.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

__all__ = ["Screen", "fold", "new_console", "one_line"]

_NARROWEST: Final = 20
"""Columns below which nobody can read a call; a narrower terminal wraps on its own."""


def new_console(feature: str) -> Console:
    """A console on standard output.

    Args:
        feature: What needs it, for the message.

    Raises:
        MissingExtraError: If rich is not installed.
    """
    try:
        from rich.console import Console
    except ModuleNotFoundError as error:
        raise MissingExtraError(feature, "console") from error
    return Console()


def one_line(text: str) -> str:
    """Text made visible, with line ends as escapes: a name must not write a line of its own."""
    return show_text(text).text.replace("\n", "\\n").replace("\t", "\\t")


def fold(text: str, width: int) -> Iterator[str]:
    """Cut text into lines of at most `width` columns without losing a character.

    Cut after a blank where there is one late enough. Rich's own wrapping drops blanks at line ends,
    and what is shown here must be what runs.
    """
    from rich.cells import get_character_cell_size

    start = columns = 0
    blank = 0
    for position, character in enumerate(text):
        size = get_character_cell_size(character)
        if columns + size > width and position > start:
            cut = blank if blank - start > (position - start) // 2 else position
            yield text[start:cut]
            columns = sum(map(get_character_cell_size, text[cut:position]))
            start = cut
        columns += size
        if character == " ":
            blank = position + 1
    yield text[start:]


class Screen:
    """Writes lines to a console.

    Args:
        console: A rich console. Nothing that is written is read as markup, emoji codes or links.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._encoding = console.encoding or "utf-8"
        self.bar = "│ " if self._encodable("│") else "| "

    def write(self, text: str = "", style: str = "", *, before: str = "", cut: bool = True) -> None:
        """Write one text; its line ends are kept, and long lines are folded.

        Args:
            text: The text, visible already.
            style: A rich style.
            before: What stands before its first line; the others are indented by as much.
            cut: Whether long lines are folded. Left to the terminal, they can be copied whole.
        """
        width = max(self.console.width - 1 - len(before), _NARROWEST)
        lead = before
        for line in self._in_encoding(text).expandtabs(4).split("\n"):
            for piece in fold(line, width) if cut else (line,):
                self._print(lead, piece, style)
                lead = " " * len(before)

    def quote(self, text: str) -> None:
        """Write a text that is not ours behind a bar, so that none of its lines can pass for one of ours."""
        width = max(self.console.width - 1 - 2 - len(self.bar), _NARROWEST)
        for line in self._in_encoding(text).expandtabs(4).split("\n"):
            for piece in fold(line, width):
                self._print(f"  {self.bar}", piece, "")

    def prompt(self, text: str) -> None:
        """Write a question and stay on its line."""
        self._print("", self._in_encoding(text), "bold", end=" ")

    def _print(self, lead: str, text: str, style: str, end: str = "\n") -> None:
        from rich.text import Text

        line = Text().append(lead, "dim").append(text, style or None)
        self.console.print(
            line, end=end, no_wrap=True, overflow="ignore", crop=False, markup=False, highlight=False, emoji=False
        )

    def _in_encoding(self, text: str) -> str:
        """What the terminal cannot write is shown as an escape; an error here would end the run."""
        return text.encode(self._encoding, "backslashreplace").decode(self._encoding)

    def _encodable(self, text: str) -> bool:
        return self._in_encoding(text) == text
