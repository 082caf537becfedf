"""Where a value comes from: the person's own words, data that is trusted, or neither.

By whole values and structure, never by substring. What the person's words name by itself, they vouch for; a
trusted result vouches for each of its values, but for none that its own call had brought along. Nothing else
vouches for anything: a value that the model made up, worked out or read elsewhere is nobody's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.policy.beside import text_beside
from toolgate_langchain.policy.dates import read_moment
from toolgate_langchain.policy.history import MAX_READ, History, ReadResult, Scalar, scalars, too_many
from toolgate_langchain.policy.matching import (
    can_name,
    is_id,
    is_value,
    keys_of,
    mentions,
    of_one_kind,
    plain_text,
    same,
)
from toolgate_langchain.policy.naming import names_day, said_by_person
from toolgate_langchain.policy.tokens import address, number_text
from toolgate_langchain.policy.wording import wording

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["PERSON", "Origin", "Provenance"]

PERSON: Final = "the person's own words"

_PLACES: Final = 8
"""Places of a result in which a value is looked at; an id stands in one or two, and each look reads everything."""

_VALUES: Final = 200
"""Values of one record that are looked at, each in everything that was read; the fields of a larger one vouch for
nothing."""


_LOOKS: Final = 300_000
"""Values and hundreds of characters that are looked at for one call, all its values together: about a second. What
is left then is vouched for by nobody but the person."""

_TOO_MUCH: Final = "more was read than can be looked at"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from, in words, and whether that vouches for it."""

    vouched: bool
    words: str


class Provenance:
    """Where values come from, in one conversation.

    Args:
        history: The conversation, labelled.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._looks_left = _LOOKS

    def _may_look(self, texts: Iterable[str] = (), values: int = 0) -> bool:
        """Whether so much may be looked at; counted as looked at."""
        self._looks_left -= values + sum(1 + len(text) // 100 for text in texts)
        return self._looks_left >= 0

    def of(self, value: Any, name: str, tool: str) -> Origin:
        """Where one value of an argument comes from.

        Args:
            value: A text or a number.
            name: The argument.
            tool: The tool that is called. A short number names different things for different tools: the id of an
                event vouches for no file of the same id.
        """
        if said_by_person(value, name, self._history.words):
            if isinstance(value, str) and (reader := self._selected_by(value)):
                # Whoever is named to say what to read has not been named as the one to send to.
                return Origin(False, f"{PERSON}, where it says what {reader} was to read")
            return Origin(True, PERSON)
        if self._day_by_person(value):
            return Origin(True, f"{PERSON}, as far as the day goes")
        numbered = is_id(value, name)
        for result in self._history.results:
            if numbered and not of_one_kind(name, tool, result.tool):
                continue
            if result.label.trusted and self._in_trusted(result, value, name):
                return Origin(True, f"the result of {result.tool}, which is trusted")
        contested = "" if self._looks_left >= 0 else _TOO_MUCH
        for result, found in islice(self._in_fields(value, name), _PLACES):
            if numbered and not of_one_kind(name, tool, result.tool):
                continue
            doubt = self._doubt(result, found, value, name)
            if not doubt:
                return Origin(True, f"the field {found.path} of the result of {result.tool}, which is trusted")
            contested = contested or f"the field {found.path} of the result of {result.tool}, but {doubt}"
        return Origin(False, contested or self._untrusted_source(value))

    # --- the person ---------------------------------------------------------------------------

    def _selected_by(self, value: str) -> str:
        """The tool that read something untrusted by an address; empty where none did."""
        known = address(value)
        if known is None:
            return ""
        for result in self._history.results:
            given = [one.value for one in scalars(dict(result.arguments)) if isinstance(one.value, str)]
            if not self._may_look(given):
                return result.tool  # it may have been any
            if not result.label.trusted and any(address(one) == known for one in given):
                return result.tool
        return ""

    def _day_by_person(self, value: Any) -> bool:
        """Whether a time is on a day that the person named, at an hour that nothing untrusted says."""
        if not isinstance(value, str) or (moment := read_moment(value)) is None or moment[1] is None:
            return False
        if not any(names_day(wording(text), moment[0]) for text in self._history.words):
            return False
        if not self._may_look(values=self._all_texts):
            return False
        # The trusted parts say the same hours as whoever wrote the others can have read in them.
        return not any(moment[1] in wording(text).times for _, text in self._untrusted_texts)

    # --- results ------------------------------------------------------------------------------

    def _in_trusted(self, result: ReadResult, value: Any, name: str) -> bool:
        held = self._scalars[id(result)]
        if not self._may_look((result.text,), len(held) + len(result.arguments)) or _brought_along(result, value, name):
            return False
        if result.structure is not None:
            return any(is_value(one, value, name) for one in held) or self._said_in(
                (one.value for one in held if isinstance(one.value, str)), value
            )
        lines = [line.strip().removeprefix("- ").strip("'\"") for line in result.text[:MAX_READ].splitlines()]
        whole = [result.text.strip(), *lines, *(line.partition(": ")[2] for line in lines)]
        # A number on its own is of the kind that the tool's name says.
        return any(is_value(Scalar(one, result.tool, 0), value, name) for one in whole) or self._said_in(
            (result.text,), value
        )

    @staticmethod
    def _said_in(texts: Iterable[str], value: Any) -> bool:
        """Whether trusted text holds an address as a whole."""
        return isinstance(value, str) and any(wording(text).names_address(value) for text in texts)

    @cached_property
    def _scalars(self) -> dict[int, tuple[Scalar, ...]]:
        """The values of each structured result; none for the others."""
        return {
            id(result): () if result.structure is None else tuple(scalars(result.structure))
            for result in self._history.results
        }

    @cached_property
    def _fields(self) -> dict[tuple[str, str], list[tuple[int, ReadResult, Scalar]]]:
        """The trusted fields of results that are not trusted otherwise, each with its place, by what finds them."""
        found: dict[tuple[str, str], list[tuple[int, ReadResult, Scalar]]] = {}
        place = 0
        for result in self._history.results:
            if result.label.trusted or result.structure is None:
                continue
            for one in self._scalars[id(result)]:
                if one.path in result.label.trusted_fields:
                    place += 1
                    for key in keys_of(one.value):
                        found.setdefault(key, []).append((place, result, one))
        return found

    def _in_fields(self, value: Any, name: str) -> Iterator[tuple[ReadResult, Scalar]]:
        """Those of the fields that hold a value, in their order."""
        places = {place: (result, one) for key in keys_of(value) for place, result, one in self._fields.get(key, ())}
        for _, (result, one) in sorted(places.items()):
            if is_value(one, value, name):
                yield result, one

    def _doubt(self, result: ReadResult, found: Scalar, value: Any, name: str) -> str:
        """Why a trusted field vouches for nothing: something untrusted names it, or what it belongs to."""
        held = self._scalars[id(result)]
        if not self._may_look(values=len(held) + len(result.arguments)):
            return _TOO_MUCH
        if _brought_along(result, value, name):
            return "its own call had brought it along"
        record = [one for one in held if one.record == found.record]
        if len(record) > _VALUES:
            return "it belongs to more values than can be looked at"
        others = {one.value for one in held if one.record != found.record}
        # Two records that are called alike are not told apart by the name.
        if any(one.path != found.path and one.value not in others and self._names_record(one.value) for one in record):
            return ""
        loose = [one for one in record if one.path not in result.label.trusted_fields and can_name(one.value)]
        telling = [one.value for one in loose if one.value not in others]
        # All texts are looked through for it, and for each of those.
        if self._unread or not self._may_look(values=self._all_texts * (2 + len(telling))):
            return _TOO_MUCH
        for source, text in self._untrusted_texts:
            if mentions(text, value):
                return f"{source} names it too"
        for source, text in self._texts_beside(found, value):
            for sibling in telling:
                if mentions(text, sibling):
                    return f"{source} names {sibling!r}, which it belongs to"
        return ""

    def _names_record(self, value: Any) -> bool:
        """Whether the person named what a value belongs to, by another of its values."""
        return can_name(value) and said_by_person(value, "", self._history.words)

    # --- what is not trusted ------------------------------------------------------------------

    @cached_property
    def _unread(self) -> bool:
        """Whether a result that is not trusted has more values than are looked at."""
        return any(not result.label.trusted and too_many(result.structure) for result in self._history.results)

    @cached_property
    def _untrusted_texts(self) -> tuple[tuple[str, str], ...]:
        """All texts that are not trusted, each with where it comes from."""
        texts = list(self._history.others)
        for result in self._history.results:
            if not result.label.trusted:
                texts.extend((_named(result), text) for text in _loose_texts(result))
                if id(result) in self._beside:
                    texts.append((_named(result), self._beside[id(result)]))
        return tuple(texts)

    @cached_property
    def _all_texts(self) -> int:
        """How much it is to look through all texts that are not trusted once."""
        return sum(1 + len(text) // 100 for _, text in self._untrusted_texts)

    @cached_property
    def _beside(self) -> dict[int, str]:
        """What the texts of results say that are looked at by their structure, besides it."""
        return {
            id(result): text_beside(result)
            for result in self._history.results
            if not result.label.trusted and result.structure is not None and result.label.trusted_fields
        }

    def _texts_beside(self, found: Scalar, value: Any) -> Iterator[tuple[str, str]]:
        """The untrusted texts, but for those of the very record that a trusted field belongs to."""
        yield from self._history.others
        for result in self._history.results:
            if result.label.trusted:
                continue
            if result.structure is None or not result.label.trusted_fields:
                yield _named(result), result.text
                continue
            yield _named(result), self._beside[id(result)]
            held = self._scalars[id(result)]
            own = {one.record for one in held if one.path == found.path and same(one.value, value)}
            for one in held:
                inside = one.record in own or any(around in own for around in one.ancestors)
                if isinstance(one.value, str) and one.path not in result.label.trusted_fields and not inside:
                    yield _named(result), one.value

    def _untrusted_source(self, value: Any) -> str:
        if not self._may_look(values=self._all_texts):
            return f"what nobody knows: {_TOO_MUCH}"
        for source, text in self._untrusted_texts:
            if mentions(text, value):
                return source
        return "the model alone"


def _named(result: ReadResult) -> str:
    return f"the result of {result.tool}, which is untrusted"


def _loose_texts(result: ReadResult) -> Iterator[str]:
    """The parts of an untrusted result that anybody can have written."""
    if result.structure is None or not result.label.trusted_fields:
        yield result.text
        return
    for one in scalars(result.structure):
        if one.path not in result.label.trusted_fields and isinstance(one.value, str):
            yield one.value


def _brought_along(result: ReadResult, value: Any, name: str) -> bool:
    """Whether the call of a result said the value itself, so that the result only gives it back."""
    if too_many(result.arguments):
        return True
    said = [one.value for one in scalars(dict(result.arguments))]
    if any(isinstance(one, str) and len(one) > MAX_READ for one in said):
        return True
    texts = [one for one in said if isinstance(one, str)]
    if any(same(one, value) for one in said) or said_by_person(value, name, texts):
        return True
    number = number_text(plain_text(value))
    if number is not None and any(number in wording(text).unclear for text in texts):
        return True
    # By whatever scheme: what speaks against a value is read generously.
    known = address(value) if isinstance(value, str) else None
    return known is not None and any(known in wording(text).addresses for text in texts)
