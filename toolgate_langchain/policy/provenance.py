"""Where a value comes from: the person's own words, data that is trusted, or neither.

By whole values and structure, never by substring. What the person's words name by itself, they vouch for; a
trusted result vouches for each of its values, but for none that its own call had brought along. Nothing else
vouches for anything: a value that the model made up, worked out or read elsewhere is nobody's.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.policy.brought_along import brought_along
from toolgate_langchain.policy.choosing import Stakes, chosen_by_nobody
from toolgate_langchain.policy.dates import read_moment
from toolgate_langchain.policy.held import Held
from toolgate_langchain.policy.history import MAX_READ, History, ReadResult, Scalar, scalars
from toolgate_langchain.policy.looks import TOO_MUCH, Looks
from toolgate_langchain.policy.matching import can_name, is_id, is_value, mentions, of_one_kind
from toolgate_langchain.policy.naming import names_day, said_by_person
from toolgate_langchain.policy.tokens import address
from toolgate_langchain.policy.untrusted import UntrustedTexts
from toolgate_langchain.policy.wording import wording

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PERSON", "Origin", "Provenance"]

PERSON: Final = "the person's own words"

_PLACES: Final = 8
"""Places of a result in which a value is looked at; an id stands in one or two, and each look reads everything."""

_VALUES: Final = 200
"""Values of one record that are looked at, each in everything that was read; the fields of a larger one vouch for
nothing."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from, in words, and whether that vouches for it."""

    vouched: bool
    words: str


class Provenance:
    """Where values come from, in one conversation.

    Args:
        history: The conversation, labelled.
        stakes: What is at stake in the call whose values are looked at.
    """

    def __init__(self, history: History, stakes: Stakes) -> None:
        self._history, self._stakes, self._looks = history, stakes, Looks()
        self._held = Held(history)
        self._untrusted = UntrustedTexts(history, self._held)

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
        contested = TOO_MUCH if self._looks.used_up else ""
        for result, found in islice(self._held.fields(value, name), _PLACES):
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
            if not self._looks.allow(given):
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
        if not self._looks.allow(values=self._untrusted.cost):
            return False
        # The trusted parts say the same hours as whoever wrote the others can have read in them.
        return not any(moment[1] in wording(text).times for _, text in self._untrusted.all)

    # --- results ------------------------------------------------------------------------------

    def _in_trusted(self, result: ReadResult, value: Any, name: str) -> bool:
        held = self._held.values(result)
        if not self._looks.allow((result.text,), len(held) + len(result.arguments)):
            return False
        if brought_along(result, value, name):
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

    def _doubt(self, result: ReadResult, found: Scalar, value: Any, name: str) -> str:
        """Why a trusted field vouches for nothing: something untrusted names it, or what it belongs to."""
        held = self._held.values(result)
        if not self._looks.allow(values=len(held) + len(result.arguments)):
            return TOO_MUCH
        if brought_along(result, value, name):
            return "its own call had brought it along"
        record = [one for one in held if one.record == found.record]
        if len(record) > _VALUES:
            return "it belongs to more values than can be looked at"
        others = {one.value for one in held if one.record != found.record}
        # Two records that are called alike are not told apart by the name.
        named = any(
            one.path != found.path and one.value not in others and self._names_record(one.value) for one in record
        )
        alike = self._held.alike(found.path)
        if not self._looks.allow(values=len(alike)):
            return TOO_MUCH
        if (doubt := chosen_by_nobody(value, name, found.path, self._stakes, alike, named=named)) or named:
            return doubt
        loose = [one for one in record if one.path not in result.label.trusted_fields and can_name(one.value)]
        telling = [one.value for one in loose if one.value not in others]
        # All texts are looked through for it, and for each of those.
        if self._held.left_out or not self._looks.allow(values=self._untrusted.cost * (2 + len(telling))):
            return TOO_MUCH
        for source, text in self._untrusted.all:
            if mentions(text, value):
                return f"{source} names it too"
        for source, text in self._untrusted.outside(found, value):
            for sibling in telling:
                if mentions(text, sibling):
                    return f"{source} names {sibling!r}, which it belongs to"
        return ""

    def _names_record(self, value: Any) -> bool:
        """Whether the person named what a value belongs to, by another of its values."""
        return can_name(value) and said_by_person(value, "", self._history.words)

    # --- what is not trusted ------------------------------------------------------------------

    def _untrusted_source(self, value: Any) -> str:
        if not self._looks.allow(values=self._untrusted.cost):
            return f"what nobody knows: {TOO_MUCH}"
        for source, text in self._untrusted.all:
            if mentions(text, value):
                return source
        return "the model alone"
