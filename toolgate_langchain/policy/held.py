"""What the results of a conversation hold: the values of each, and those that a system filled in itself."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolgate_langchain.policy.history import History, ReadResult, Scalar, scalars, too_many
from toolgate_langchain.policy.matching import is_value, keys_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Held"]


class Held:
    """The structured results of a conversation, taken apart once.

    Args:
        history: The conversation, labelled.
    """

    def __init__(self, history: History) -> None:
        self._results = history.results

    def values(self, result: ReadResult) -> tuple[Scalar, ...]:
        """The values of a result; none where it has no structure."""
        return self._values[id(result)]

    def fields(self, value: Any, name: str) -> Iterator[tuple[ReadResult, Scalar]]:
        """The trusted fields, of results that are not trusted otherwise, that hold an argument's value, in order.

        Args:
            value: The value.
            name: The argument.
        """
        places = {place: (result, one) for key in keys_of(value) for place, result, one in self._fields.get(key, ())}
        for _, (result, one) in sorted(places.items()):
            if is_value(one, value, name):
                yield result, one

    def alike(self, path: str) -> list[Any]:
        """The values of all trusted fields that are called like one.

        Args:
            path: The path of the field; what counts is its last name.
        """
        return self._by_name.get(path.rpartition(".")[2], [])

    @cached_property
    def left_out(self) -> bool:
        """Whether a result that is not trusted has more values than are looked at."""
        return any(not result.label.trusted and too_many(result.structure) for result in self._results)

    @cached_property
    def _values(self) -> dict[int, tuple[Scalar, ...]]:
        return {
            id(result): () if result.structure is None else tuple(scalars(result.structure)) for result in self._results
        }

    @cached_property
    def _by_name(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for result in self._results:
            for one in () if result.label.trusted else self.values(result):
                if one.path in result.label.trusted_fields and one.value not in (None, ""):
                    found.setdefault(one.path.rpartition(".")[2], []).append(one.value)
        return found

    @cached_property
    def _fields(self) -> dict[tuple[str, str], list[tuple[int, ReadResult, Scalar]]]:
        """The trusted fields, each with its place, by what finds them."""
        found: dict[tuple[str, str], list[tuple[int, ReadResult, Scalar]]] = {}
        place = 0
        for result in self._results:
            if result.label.trusted or result.structure is None:
                continue
            for one in self.values(result):
                if one.path in result.label.trusted_fields:
                    place += 1
                    for key in keys_of(one.value):
                        found.setdefault(key, []).append((place, result, one))
        return found
