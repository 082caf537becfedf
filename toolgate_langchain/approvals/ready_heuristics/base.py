"""What all ready heuristics share: one tool, one argument that is looked at, and nothing else that is let through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.catalog.checks import listed_names
from toolgate_langchain.catalog.entry import LOCAL
from toolgate_langchain.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from langchain_core.messages import ToolCall

    from toolgate_langchain.approvals.heuristics import HeuristicContext

__all__ = ["MAX_LISTED", "ArgumentHeuristic", "checked_origin"]

MAX_LISTED: Final = 100
"""Values in one list that are looked at; a call with more of them is left to a person."""


def checked_origin(origin: Any) -> str:
    """Refuse what cannot be where a tool comes from: the name of a server alone would never be met.

    Raises:
        ConfigurationError: Saying what was given and what is allowed.
    """
    if not isinstance(origin, str) or (origin != LOCAL and (not origin.startswith("server:") or origin == "server:")):
        raise ConfigurationError(f"origin is {origin!r}; it must be {LOCAL!r} or 'server:NAME'")
    return origin


class ArgumentHeuristic:
    """A heuristic about one argument of one tool.

    It says yes only to a call of that tool in which the argument is there and `approves` says so. Every other
    argument that has a value must be named in `others`: nobody looked at it, and `{"command": "git log", "env":
    {...}}` is not `{"command": "git log"}`.

    Args:
        tool: The name of the tool.
        argument: The name of the argument that is looked at.
        others: The names of arguments that may have any value.
        origin: Where the tool comes from: `"local"`, or `"server:NAME"`. What was said of a local tool holds for no
            server's tool of that name.

    Raises:
        ConfigurationError: If a name is no text or empty, `others` is one text, or `origin` is no origin.
    """

    def __init__(self, tool: str, argument: str, *, others: Iterable[str] = (), origin: str = LOCAL) -> None:
        self.origin = checked_origin(origin)
        self.tool, self.argument, self.others = tool, argument, frozenset(listed_names("others", others))
        for what, name in (("tool", tool), ("argument", argument)):
            if not isinstance(name, str) or not name:
                raise ConfigurationError(f"{what} is wrong: {name!r} is not the name of a tool or an argument")
        # What decisions and records say; a saved yes counts only while the gate has a heuristic of that name.
        self.__name__ = f"{type(self).__name__}({tool}.{argument})"

    def __call__(self, call: ToolCall, context: HeuristicContext) -> bool:
        """Whether the call is approved."""
        arguments = call["args"]
        if call["name"] != self.tool or context.entry.origin != self.origin or arguments.get(self.argument) is None:
            return False
        if any(value is not None and name != self.argument and name not in self.others
               for name, value in arguments.items()):  # fmt: skip
            return False
        return self.approves(arguments[self.argument], context) is True

    def approves(self, value: Any, context: HeuristicContext) -> bool:
        """Whether this value of the argument is approved. It raises nothing, whatever the value is."""
        raise NotImplementedError
