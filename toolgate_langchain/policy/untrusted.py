"""What anybody can have written of all that was read: the texts that speak against a value."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolgate_langchain.policy.beside import text_beside
from toolgate_langchain.policy.history import History, ReadResult, Scalar, scalars
from toolgate_langchain.policy.looks import cost
from toolgate_langchain.policy.matching import same

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolgate_langchain.policy.held import Held

__all__ = ["UntrustedTexts"]


class UntrustedTexts:
    """The texts of a conversation that are not trusted, each with where it comes from.

    Args:
        history: The conversation, labelled.
        held: What its results hold.
    """

    def __init__(self, history: History, held: Held) -> None:
        self._history, self._held = history, held

    @cached_property
    def all(self) -> tuple[tuple[str, str], ...]:
        """All of them."""
        texts = list(self._history.others)
        for result in self._history.results:
            if not result.label.trusted:
                texts.extend((_named(result), text) for text in _loose_texts(result))
                if id(result) in self._beside:
                    texts.append((_named(result), self._beside[id(result)]))
        return tuple(texts)

    @cached_property
    def cost(self) -> int:
        """How much it is to look through all of them once; see `Looks.allow`."""
        return cost(text for _, text in self.all)

    def outside(self, found: Scalar, value: Any) -> Iterator[tuple[str, str]]:
        """Those that are no part of the very records that a trusted field belongs to.

        Args:
            found: The field.
            value: Its value.
        """
        yield from self._history.others
        for result in self._history.results:
            if result.label.trusted:
                continue
            if result.structure is None or not result.label.trusted_fields:
                yield _named(result), result.text
                continue
            yield _named(result), self._beside[id(result)]
            held = self._held.values(result)
            own = {one.record for one in held if one.path == found.path and same(one.value, value)}
            for one in held:
                inside = one.record in own or any(around in own for around in one.ancestors)
                if isinstance(one.value, str) and one.path not in result.label.trusted_fields and not inside:
                    yield _named(result), one.value

    @cached_property
    def _beside(self) -> dict[int, str]:
        """What the texts of results say that are looked at by their structure, besides it."""
        return {
            id(result): text_beside(result)
            for result in self._history.results
            if not result.label.trusted and result.structure is not None and result.label.trusted_fields
        }


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
