"""Approves a call whose decisive arguments the person said."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.approvals.ready_heuristics.base import checked_origin
from toolgate_langchain.catalog.checks import check_name, listed_names
from toolgate_langchain.catalog.entry import LOCAL
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.policy.naming import said_by_person

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from langchain_core.messages import ToolCall

    from toolgate_langchain.approvals.heuristics import HeuristicContext

__all__ = ["GivenByPerson"]

MAX_VALUES: Final = 100
"""Values of one call that are looked for; a call with more is left to a person."""


class GivenByPerson:
    """Approves a call in which every value of the decisive arguments stands in the person's own words.

    Values are looked for whole and by their structure, an address, an id, a number, a path, never as a part of
    something else: "June 13" does not give file 13. Every other argument that has a value must be named in
    `others`.

    Only the input to the root graph is the person's own words, as for `FlowPolicy`: what an agent tells another one
    that it uses as a tool, summaries, and history from elsewhere are not.

    It does not protect from a person who was told what to say, nor from a value that was said for another purpose:
    an address to be looked up is not one to write to. `FlowPolicy` also knows what was read, and holds whatever a
    heuristic says.

    Args:
        tool: The name of the tool.
        arguments: The decisive arguments; each that has a value must have been said.
        others: The names of arguments that may have any value.
        origin: Where the tool comes from; see `ArgumentHeuristic`.

    Raises:
        ConfigurationError: If no decisive argument is named, or something is no name.
    """

    needs_history = True
    """The conversation is labelled for it."""

    def __init__(self, tool: str, arguments: Iterable[str], *, others: Iterable[str] = (), origin: str = LOCAL) -> None:
        check_name("tool", tool)
        self._origin, self.tool = checked_origin(origin), tool
        self._arguments = frozenset(listed_names("arguments", arguments))
        self._others = frozenset(listed_names("others", others))
        if not self._arguments:
            raise ConfigurationError("name the decisive arguments; a call without any was given by nobody")
        self.__name__ = f"{type(self).__name__}({tool})"

    def __call__(self, call: ToolCall, context: HeuristicContext) -> bool:
        """Whether the person said every decisive value."""
        given = {name: value for name, value in call["args"].items() if value is not None}
        decisive = {name: value for name, value in given.items() if name in self._arguments}
        if (
            call["name"] != self.tool
            or context.entry.origin != self._origin
            or not decisive
            or not given.keys() <= self._arguments | self._others
        ):
            return False
        words = () if context.history is None else context.history.words
        everything = ((name, value) for name, one in decisive.items() for value in _values(one))
        values = list(islice(everything, MAX_VALUES + 1))
        if len(values) > MAX_VALUES:
            return False
        return all(said_by_person(value, name, words) for name, value in values)


def _values(given: Any) -> Iterator[Any]:
    """The values in one argument; an empty list or object is a value that nobody says."""
    pending = [given]
    while pending:
        one = pending.pop()
        if isinstance(one, list) and one:
            pending.extend(one)
        elif isinstance(one, dict) and one:
            pending.extend(one.values())
        else:
            yield one
