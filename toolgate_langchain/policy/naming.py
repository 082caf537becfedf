"""Whether a text names a value as a whole, and as what: the one test that all provenance by words rests on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.policy.dates import Day, read_moment
from toolgate_langchain.policy.tokens import address, number_of, readings
from toolgate_langchain.policy.wording import Wording, wording

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ID_WORDS", "names_day", "parts_of", "said_by_person", "stems_of"]

ID_WORDS: Final = frozenset({"id", "ids", "number", "no", "nr", "key", "#"})
"""Words that say that a number is the name of something."""

_BLANKS: Final = re.compile(" +")


def said_by_person(value: Any, name: str, words: Iterable[str]) -> bool:
    """Whether the person's own words name a value as a whole.

    Args:
        value: A text or a number; anything else is never named.
        name: The argument that it is given as. `file 13` names 13 for `file_id`, and for no other argument.
        words: What the person said.
    """
    return any(_names(wording(text), value, name) for text in words)


def _names(said: Wording, value: Any, name: str) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    parts = parts_of(name)
    if isinstance(value, int | float):
        number = number_of(value)
        return number is not None and _names_number(said, number, parts, is_id=bool(parts & ID_WORDS))
    if not isinstance(value, str):
        return False
    # Blanks tell nothing apart; a line break does, as in a command or the head of a mail.
    text = _BLANKS.sub(" ", value.strip())
    if not text:
        return False
    if (moment := read_moment(text)) is not None:
        return names_day(said, moment[0]) and (moment[1] is None or moment[1] in said.times)
    if said.names_whole(text):
        return True
    if address(text) is not None:
        return said.names_address(text)
    read = readings(text)
    return len(read) == 1 and _names_number(said, next(iter(read)), parts, is_id=True)


def _names_number(said: Wording, number: str, parts: frozenset[str], *, is_id: bool) -> bool:
    if not is_id:
        return number in said.numbers
    # "Three files" or "13 mails" names no file 13; "file 13", "#13" and "'13'" do.
    return said.names_whole(number) or any((word, number) in said.numbered for word in parts | ID_WORDS)


def names_day(said: Wording, day: Day) -> bool:
    """Whether a text says a day, with its year or without one."""
    return day in said.days or (None, *day[1:]) in said.days


def parts_of(name: str) -> frozenset[str]:
    """The words of a name: `fileId` and `file_id` are file and id."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[:200])
    return frozenset(part for part in re.split(r"[^a-z0-9]+", spaced.casefold()) if part)


def stems_of(name: str) -> frozenset[str]:
    """The words of a name, one and many alike."""
    return frozenset(part.rstrip("s") for part in parts_of(name))
