"""Approves an argument that has one of the values that it may have, or lies in a range."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.ready_heuristics.base import ArgumentHeuristic
from toolgate_langchain.canonical import canonical_json, check_plain
from toolgate_langchain.catalog.entry import LOCAL
from toolgate_langchain.errors import ConfigurationError, NotPlainJsonError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolgate_langchain.approvals.heuristics import HeuristicContext

__all__ = ["ArgumentEquals", "ArgumentInRange"]


class ArgumentEquals(ArgumentHeuristic):
    """Approves a call in which one argument is exactly one of the values given.

    Values are compared as standing rules compare them: `1`, `1.0`, `"1"` and `true` all differ, and no letter is
    taken for another. It does not look at any other argument, nor at what the value names: a path that is allowed
    may name another file tomorrow.

    Args:
        tool: The name of the tool.
        argument: The argument.
        values: The values that are approved, plain JSON.
        others: The names of arguments that may have any value.
        origin: Where the tool comes from; see `ArgumentHeuristic`.

    Raises:
        NotPlainJsonError: (a `ValueError`) If a value is not plain JSON.
    """

    def __init__(self, tool: str, argument: str, *values: Any, others: Iterable[str] = (), origin: str = LOCAL) -> None:
        super().__init__(tool, argument, others=others, origin=origin)
        for value in values:
            check_plain(value, where="values")
        self._values = frozenset(map(canonical_json, values))

    def approves(self, value: Any, context: HeuristicContext) -> bool:
        """Whether it is one of the values."""
        try:
            return canonical_json(value) in self._values
        except NotPlainJsonError:
            return False


class ArgumentInRange(ArgumentHeuristic):
    """Approves a call in which one argument is a number from one to another, both included.

    Only numbers are: `true`, `"5"` and NaN lie in no range. It does not protect from many calls that each stay in
    the range, nor from another unit than was meant.

    Args:
        tool: The name of the tool.
        argument: The argument.
        least: The smallest number that is approved.
        most: The greatest number that is approved.
        others: The names of arguments that may have any value.
        origin: Where the tool comes from; see `ArgumentHeuristic`.

    Raises:
        ConfigurationError: If the range is none.
    """

    def __init__(
        self, tool: str, argument: str, least: float, most: float, *, others: Iterable[str] = (), origin: str = LOCAL
    ) -> None:
        super().__init__(tool, argument, others=others, origin=origin)
        if not (_is_number(least) and _is_number(most) and least <= most):
            raise ConfigurationError(f"from {least!r} to {most!r} is no range of numbers")
        self._least, self._most = least, most

    def approves(self, value: Any, context: HeuristicContext) -> bool:
        """Whether it is a number in the range."""
        return _is_number(value) and self._least <= value <= self._most


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))
