"""When two values are one, and when a text speaks of a value at all."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.policy.dates import read_moment
from toolgate_langchain.policy.history import MAX_READ
from toolgate_langchain.policy.naming import ID_WORDS, names_day, parts_of, stems_of
from toolgate_langchain.policy.tokens import address, is_code, number_of, number_text, readings, web_schemes
from toolgate_langchain.policy.wording import wording

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolgate_langchain.policy.history import Scalar

__all__ = ["can_name", "is_id", "is_value", "keys_of", "mentions", "of_one_kind", "plain_text", "same"]

_SHORTEST_NAME: Final = 4
"""Characters of a value that can name a record in a text; shorter ones stand in any text."""

_PLACES_BY_HAND: Final = 8
"""Places at which a value is compared one by one; ordinary texts have fewer in which it is a part of a word."""

_BLANKS: Final = re.compile(" +")
_PARTED: Final = re.compile(r"[\s.()/-]+")
"""What parts the digits of an account where people write it in groups."""
_SHORTEST_CODE: Final = 8

_VERBS: Final = re.compile("get|list|read|search|find|add|create|update|delete|remove|send|set|by|to|")
"""Words of tool names that say nothing of what the tool is about."""


def same(one: Any, other: Any) -> bool:
    """Whether two values are one: numbers by their amount, addresses in their normal form, other texts exactly."""
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return False
    first, second = plain_text(one), plain_text(other)
    if first == second:
        return bool(first)
    numbers = number_text(first), number_text(second)
    if None not in numbers:
        return numbers[0] == numbers[1]
    known = address(first)
    return known is not None and known == address(second)


def keys_of(value: Any) -> Iterator[tuple[str, str]]:
    """What two values that are `same` have in common, one of these at least: to find one without looking at all."""
    if value is None or isinstance(value, bool):
        return
    plain = plain_text(value)
    for kind, found in (("text", plain), ("number", number_text(plain)), ("address", address(plain))):
        if found:
            yield kind, found


def plain_text(value: Any) -> str:
    """A value as text, blanks put together; a line break is none, as in a command."""
    if isinstance(value, float):
        return number_of(value) or repr(value)
    return _BLANKS.sub(" ", str(value).strip())


def is_value(one: Scalar, value: Any, name: str) -> bool:
    """Whether a value of a result is the one of an argument; a number only where both are called alike.

    The id 5 of a record is not the amount of 5.00, and a text `1.500` is nothing but that text.
    """
    if not same(one.value, value) or _by_other_schemes(one.value, value):
        return False
    if plain_text(one.value) != plain_text(value) and any(_unclear(given) for given in (one.value, value)):
        return False
    return number_text(plain_text(value)) is None or bool(stems_of(one.path) & stems_of(name))


def _unclear(value: Any) -> bool:
    return isinstance(value, str) and len(readings(value)) > 1


def _by_other_schemes(one: Any, other: Any) -> bool:
    """Whether two addresses say different schemes: who has `https://a.example` has not said `http://a.example`."""
    said = [next((scheme for scheme, _ in web_schemes(plain_text(value))), None) for value in (one, other)]
    return None not in said and said[0] != said[1]


def is_id(value: Any, name: str) -> bool:
    """Whether a value is a number that says nothing without the kind of what it numbers."""
    if isinstance(value, bool) or not isinstance(value, int | str) or number_text(str(value)) is None:
        return False
    return isinstance(value, str) or bool(parts_of(name) & ID_WORDS)


def of_one_kind(name: str, tool: str, other: str) -> bool:
    """Whether the names of two tools, and of an argument, have a word in common that says what they are about."""
    about = (stems_of(name) | stems_of(tool)) - ID_WORDS
    return any(not _VERBS.fullmatch(stem) for stem in about & stems_of(other))


def can_name(value: Any) -> bool:
    """Whether a value is long enough, and of a kind, to tell one record from another."""
    if not isinstance(value, str) or not _SHORTEST_NAME <= len(value) <= 300:
        return False
    return number_text(value) is None and read_moment(value) is None


def mentions(text: str, value: Any) -> bool:
    """Whether a text holds a value at all, by itself; generous, because it only ever speaks against a value."""
    if len(text) > MAX_READ:
        return True
    plain = " ".join(plain_text(value).split())
    if not plain:
        return False
    if numbers := readings(plain) if isinstance(value, str) else frozenset(filter(None, (number_text(plain),))):
        return not numbers.isdisjoint(wording(text).numbers | wording(text).unclear)
    if (known := address(plain)) is not None and known in wording(text).addresses:
        return True
    if (moment := read_moment(plain)) is not None:
        return names_day(wording(text), moment[0])
    code = _PARTED.sub("", plain).casefold()
    if len(code) >= _SHORTEST_CODE and is_code(plain) and code in _run_together(text):
        return True
    return _stands_in(_folded(text), plain.casefold())


def _stands_in(text: str, plain: str) -> bool:
    """Whether it stands in a text as a whole. The first places are looked at without a pattern, which costs less."""
    place = text.find(plain)
    for _ in range(_PLACES_BY_HAND):
        if place < 0:
            return False
        end = place + len(plain)
        if not (_in_word(text[place - 1 : place]) or _in_word(text[end : end + 1])):
            return True
        place = text.find(plain, place + 1)
    # `aaa` stands at every letter of `aaaaaa`: a pattern compares only where a word begins.
    return place >= 0 and _alone(plain).search(text, place) is not None


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


@lru_cache(maxsize=64)
def _alone(plain: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(plain)}(?!\w)")


@lru_cache(maxsize=512)
def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


@lru_cache(maxsize=512)
def _run_together(text: str) -> str:
    return _PARTED.sub("", text).casefold()
