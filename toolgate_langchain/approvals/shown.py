"""What a person is shown: every character visible, nothing said by looks alone.

Text comes from the model, from tools and from remote servers, and any of them may try to hide what
a call does: right-to-left overrides, zero-width characters, terminal escapes, screens of blanks.
Only the display is changed here; what runs are the exact bytes, or nothing.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MAX_SHOWN", "Shown", "show_arguments", "show_text"]

MAX_SHOWN: Final = 20_000
"""Characters of one call that a person can be expected to look at (some four hundred lines)."""

_LONGEST_BLANK: Final = 24
"""Blanks in a row that still read as indentation or alignment."""

_BLANK_RUN: Final = re.compile(rf"(?:[^\S\n]{{{_LONGEST_BLANK + 1},}}|(?:[^\S\n]*\n){{4,}}[^\S\n]*)")

_FILLERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that Unicode counts as letters or marks and that show as nothing."""

_INVISIBLE_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Shown:
    """Text made safe to show, and what was done to it."""

    text: str
    warnings: tuple[str, ...] = ()


def show_text(text: str, *, what: str = "the text") -> Shown:
    """Make text safe to show on a terminal or a page.

    Args:
        text: Anything.
        what: Its name, for the warnings.
    """
    warnings: list[str] = []
    if not (text.isascii() and text.isprintable()):
        shown = "".join(_visible(text, i) for i in range(len(text)))
        if shown != text:
            warnings.append(f"{what} contains control or invisible characters, shown as escapes")
    else:
        shown = text
    collapsed = _BLANK_RUN.sub(_count_blanks, shown)
    if collapsed != shown:
        warnings.append(f"{what} contains long runs of blanks, shown as a count")
    if len(collapsed) > MAX_SHOWN:
        half = MAX_SHOWN // 2
        left_out = len(collapsed) - 2 * half
        collapsed = f"{collapsed[:half]}⟨{left_out:,} characters left out⟩{collapsed[-half:]}"
        warnings.append(f"{what} is too long to show in full")
    return Shown(collapsed, tuple(warnings))


def show_arguments(arguments: Mapping[str, Any]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Make each argument of a call safe to show.

    Returns:
        Name and value of each argument as text (strings as they are, everything else as JSON), and
        the warnings of all of them.
    """
    shown: dict[str, str] = {}
    warnings: list[str] = []
    total = 0
    for name, value in arguments.items():
        key = _show_name(name)
        label = key.text
        while label in shown:
            # Two names that look the same are two arguments, and both are shown.
            label += " (another)"
        if isinstance(value, str):
            text = show_text(value, what=f"argument {key.text}")
            # Nested strings keep JSON's quotes, so only a top-level one can be mistaken for a value
            # of another type.
            rendered = text.text
        else:
            text = show_text(json.dumps(value, ensure_ascii=False), what=f"argument {key.text}")
            rendered = text.text
        shown[label] = rendered
        total += len(rendered)
        warnings += [*key.warnings, *text.warnings]
    if total > MAX_SHOWN and not any("too long" in warning for warning in warnings):
        warnings.append("the arguments together are too long to take in")
    return shown, tuple(dict.fromkeys(warnings))


def _show_name(name: str) -> Shown:
    """A name in one line: a line break in it could pass for the end of the argument."""
    shown = show_text(name, what="an argument's name")
    if "\n" not in shown.text:
        return shown
    warning = "an argument's name contains line breaks, shown as escapes"
    return Shown(shown.text.replace("\n", _escape(ord("\n"))), (*shown.warnings, warning))


def _visible(text: str, index: int) -> str:
    character = text[index]
    if character in "\n\t":
        return character
    code = ord(character)
    if 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        # A variation selector belongs to a symbol (an emoji's colour); anywhere else it only hides.
        after_symbol = code in (0xFE0E, 0xFE0F) and index and unicodedata.category(text[index - 1]) == "So"
        return character if after_symbol else _escape(code)
    if character in _FILLERS or unicodedata.category(character) in _INVISIBLE_CATEGORIES:
        return _escape(code)
    return character


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


def _count_blanks(match: re.Match[str]) -> str:
    blanks = match.group()
    lines = blanks.count("\n")
    return f"⟨{lines:,} blank lines⟩\n" if lines else f"⟨{len(blanks):,} blanks⟩"
