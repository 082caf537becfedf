"""What a text names as a whole: addresses, names, numbers, days and times, each told apart from its surroundings.

A value comes from a text where the text names it by itself. "June 13" is a day: it names no file 13, and the
word `a` in a sentence names nothing at all. So a text is taken apart once, and values are looked up in its parts.
Whatever is not plainly named is not named.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from toolgate_langchain.policy.dates import Day, Moment, days_and_times
from toolgate_langchain.policy.history import MAX_READ
from toolgate_langchain.policy.tokens import NEXT_SENTENCE, address, addresses, bare, is_code, readings, web_schemes

__all__ = ["Wording", "wording"]

_LONGEST_NAME: Final = 8
"""Words of a name that is told by its capital letters alone."""

_QUOTED: Final = re.compile(
    r"(?<!\w)'([^'\n]{1,300})'(?!\w)|\"([^\"\n]{1,300})\"|\u201c([^\u201c\u201d\n]{1,300})\u201d"
    r"|`([^`\n]{1,300})`|\u2018([^\u2018\u2019\n]{1,300})\u2019(?!\w)"
)
_TOKEN: Final = re.compile(r"\S+")
_ENDS_SENTENCE: Final = (".", "!", "?", ":", ";")
_ENDS_NAME: Final = (*_ENDS_SENTENCE, ",", ")", "]", '"', "\u201d")
_NUMBER: Final = re.compile(r"[$€£¥]?[0-9][0-9,]*(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Wording:
    """The parts of a text that stand for something by themselves."""

    addresses: frozenset[str] = frozenset()
    """Mail addresses, URLs, hosts and account numbers, in their normal form."""
    schemes: frozenset[tuple[str, str]] = frozenset()
    """`http` or `https` with each web address that is written with one."""
    names: frozenset[str] = frozenset()
    """Quoted parts, runs of words with capital letters, codes and paths, letter by letter."""
    numbers: frozenset[str] = frozenset()
    """Numbers that are not a part of a day, a time or a longer word, and that everybody reads alike."""
    unclear: frozenset[str] = frozenset()
    """Both readings of numbers such as `1.500`: they name nothing, and count where they speak against a value."""
    numbered: frozenset[tuple[str, str]] = frozenset()
    """Numbers with the word in front of them, as in `file 13`."""
    days: frozenset[Day] = frozenset()
    times: frozenset[Moment] = frozenset()

    def names_whole(self, value: str) -> bool:
        """Whether a text without a form of its own is named."""
        return value in self.names

    def names_address(self, value: str) -> bool:
        """Whether an address is named. `http` is not meant where the text has it by `https` alone, nor the other way.

        Args:
            value: An address as a whole. One without a scheme, on either side, leaves it open.
        """
        known = address(value)
        if known is None or known not in self.addresses:
            return False
        written = {scheme for scheme, named in self.schemes if named == known}
        own = next((scheme for scheme, _ in web_schemes(value.strip().strip("<>"))), None)
        return own is None or not written or own in written


@lru_cache(maxsize=512)
def wording(text: str) -> Wording:
    """Take a text apart.

    Args:
        text: Any text; the time that it takes grows with its length alone.
    """
    text = text[:MAX_READ]
    days, times, rest = days_and_times(text)
    names = {" ".join(part.split()) for found in _QUOTED.finditer(text) for part in found.groups() if part}
    numbers: set[str] = set()
    unclear: set[str] = set()
    for name in names:
        _sort(readings(name), numbers, unclear)
    numbered: set[tuple[str, str]] = set()
    run: list[str] = []
    starts, before = True, ""
    at_start = True
    for found in _TOKEN.finditer(rest):
        token = found.group()
        word = bare(token)
        read = readings(word) if _NUMBER.fullmatch(word) else frozenset[str]()
        if read and not token.endswith("%"):
            _sort(read, numbers, unclear)
            if len(read) == 1:
                numbered.add(("#" if token.lstrip("('\"").startswith("#") else before, next(iter(read))))
        elif is_code(word):
            names.update(_codes(word))
        if token.startswith(("#", "@")) and word:
            names.add(word)
        if word[:1].isupper():
            if not run:
                at_start = starts
            run.append(word)
        else:
            names.update(_names(run, at_start=at_start))
            run = []
        starts = token.endswith(_ENDS_SENTENCE)
        if starts or token.endswith(_ENDS_NAME):
            names.update(_names(run, at_start=at_start))
            run = []
        before = word.casefold()
    names.update(_names(run, at_start=at_start))
    for line in text.splitlines():
        _, colon, said = line.partition(": ")
        if colon and 0 < len(said.strip()) <= 300:
            names.update({" ".join(said.split()), " ".join(said.split()).rstrip(".!")})
    return Wording(
        frozenset(addresses(text)),
        frozenset(web_schemes(text)),
        frozenset(names),
        frozenset(numbers),
        frozenset(unclear),
        frozenset(numbered),
        frozenset(days),
        frozenset(times),
    )


def _sort(read: frozenset[str], numbers: set[str], unclear: set[str]) -> None:
    """Put the readings of a number where they belong."""
    (numbers if len(read) == 1 else unclear).update(read)


def _names(run: list[str], *, at_start: bool) -> set[str]:
    """The names in a run of words with capital letters; the first word of a sentence has one in any case."""
    if not run or len(run) > _LONGEST_NAME:
        return set()
    found = {" ".join(run)}
    if at_start and len(run) > 1:
        found.add(" ".join(run[1:]))
    return found


def _codes(word: str) -> set[str]:
    """A word such as `External_0` or `notes.txt`, also where the next sentence was written right behind it."""
    cut = NEXT_SENTENCE.split(word, maxsplit=1)[0]
    return {word, cut} if cut and is_code(cut) else {word}
