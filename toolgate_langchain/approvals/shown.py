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

_BLANK: Final = r"[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
"""Blanks; control characters that count as white space are shown as escapes instead."""

_BLANK_RUN: Final = re.compile(rf"(?:{_BLANK}{{{_LONGEST_BLANK + 1},}}|(?:{_BLANK}*\n){{4,}}{_BLANK}*)")

_FEW_BLANKS: Final = re.compile(rf"[{_BLANK[1:-1]}\n]" * 4)
"""What every long run of blanks has in it, and what is found to be nowhere in a tenth of the time."""

_HALF: Final = MAX_SHOWN // 2

_STYLES: Final = "\ufe0e\ufe0f"
"""Variation selectors that make a symbol text or picture."""

_FILLERS: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U00013441\U00013442\U00016fe4\U0001d159"
)
"""Characters that Unicode counts as letters or marks and that show as nothing."""

_ESCAPED_BY_JSON: Final = re.compile(r"(?<!\\)(?:\\\\)*\\(?:u00[01]|[bfr])")
"""A control character, other than a line break or a tab, as JSON writes it."""

_INVISIBLE_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Shown:
    """Text made safe to show, and what was done to it."""

    text: str
    warnings: tuple[str, ...] = ()


def show_text(text: str, *, what: str = "the text") -> Shown:
    """Make text safe to show on a terminal or a page.

    What will not be shown is not looked at character by character, so that a huge text costs little.

    Args:
        text: Anything.
        what: Its name, for the warnings.
    """
    warnings: list[str] = []
    collapsed = _BLANK_RUN.sub(_count_blanks, text) if _FEW_BLANKS.search(text) else text
    head, left_out, tail = _cut(collapsed)
    if not (text.isascii() and text.isprintable()):
        pieces = _escaped(head), _escaped(tail)
        if pieces != (head, tail) or any(map(_is_hidden, set(text) - {"\n", "\t"})):
            warnings.append(f"{what} contains control or invisible characters, shown as escapes")
            # Escapes are longer than what they stand for.
            head, more, tail = _cut("".join(pieces)) if not left_out else (pieces[0][:_HALF], 0, pieces[1][-_HALF:])
            left_out += more
    if collapsed != text:
        warnings.append(f"{what} contains long runs of blanks, shown as a count")
    if not left_out:
        return Shown(head, tuple(warnings))
    warnings.append(f"{what} is too long to show in full")
    return Shown(f"{head}⟨{left_out:,} characters left out⟩{tail}", tuple(warnings))


def _cut(text: str) -> tuple[str, int, str]:
    """The start of a text, how much of its middle is left out, and its end."""
    if len(text) <= MAX_SHOWN:
        return text, 0, ""
    return text[:_HALF], len(text) - 2 * _HALF, text[-_HALF:]


def show_arguments(arguments: Mapping[str, Any]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Make each argument of a call safe to show.

    Returns:
        Name and value of each argument as text (strings as they are, everything else as JSON), and
        the warnings of all of them.
    """
    shown: dict[str, str] = {}
    same: dict[str, int] = {}
    warnings: list[str] = []
    total = 0
    for name, value in arguments.items():
        key = _show_name(name)
        label = key.text
        while label in shown:
            # Two names that look the same are two arguments, and both are shown.
            same[key.text] = count = same.get(key.text, 0) + 1
            label = f"{key.text} (another)" if count == 1 else f"{key.text} (another, {count})"
        if isinstance(value, str):
            text = show_text(value, what=f"argument {key.text}")
            # Nested strings keep JSON's quotes, so only a top-level one can be mistaken for a value
            # of another type.
            rendered = text.text
        else:
            plain = json.dumps(value, ensure_ascii=False)
            text = show_text(plain, what=f"argument {key.text}")
            rendered = text.text
            if _ESCAPED_BY_JSON.search(plain):
                # Visible already, but a tool would be given the character itself.
                warnings.append(f"argument {key.text} contains control or invisible characters, shown as escapes")
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


def _escaped(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(text, i) for i in range(len(text)))


def _visible(text: str, index: int) -> str:
    character = text[index]
    if character in "\n\t":
        return character
    if character in _STYLES:
        # It belongs to a symbol (an emoji's colour); anywhere else it only hides.
        after_symbol = index and unicodedata.category(text[index - 1]) == "So"
        return character if after_symbol else _escape(ord(character))
    return _escape(ord(character)) if _is_hidden(character) else character


def _is_hidden(character: str) -> bool:
    """Whether a character shows as nothing wherever it stands, or as something else than itself."""
    code = ord(character)
    selector = 0xFE00 <= code <= 0xFE0D or 0xE0100 <= code <= 0xE01EF
    return selector or character in _FILLERS or unicodedata.category(character) in _INVISIBLE_CATEGORIES


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


def _count_blanks(match: re.Match[str]) -> str:
    blanks = match.group()
    lines = blanks.count("\n")
    return f"⟨{lines:,} blank lines⟩\n" if lines else f"⟨{len(blanks):,} blanks⟩"
