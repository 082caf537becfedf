"""What the catalog checks of what an operator gives it, and how it says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool

from toolgate_langchain.catalog.profile import ToolProfile
from toolgate_langchain.errors import CatalogError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "as_tool",
    "check_name",
    "check_profile",
    "check_switch",
    "check_tool",
    "listed",
    "listed_names",
    "no_such_group",
    "no_such_tool",
]


def check_profile(name: str, given: Any) -> None:
    """Refuse whatever is not a `ToolProfile`.

    Raises:
        CatalogError: Naming the tool and what was given.
    """
    if not isinstance(given, ToolProfile):
        raise CatalogError(f"the profile given for {name!r} is {given!r}, which is not a ToolProfile")


def check_switch(name: str, given: Any) -> None:
    """Refuse whatever is not a bool: `"no"` and `0` are no answers.

    Raises:
        CatalogError: Naming the argument and what was given.
    """
    if not isinstance(given, bool):
        raise CatalogError(f"{name} is {given!r}; it must be True or False")


def check_name(what: str, given: Any) -> None:
    """Refuse whatever is no name.

    Raises:
        CatalogError: Saying what should have been one.
    """
    if not isinstance(given, str) or not given:
        raise CatalogError(f"{what} is {given!r}; it must be a name")


def check_tool(given: Any) -> None:
    """Refuse whatever is neither a tool nor a function that can become one.

    Raises:
        CatalogError: Saying what was given.
    """
    if not isinstance(given, BaseTool) and (not callable(given) or isinstance(given, type)):
        raise CatalogError(f"{given!r} is neither a tool nor a function")


def as_tool(given: Any) -> BaseTool:
    """A tool as it is, or the one that LangChain makes of a function.

    Raises:
        CatalogError: If it is neither.
    """
    check_tool(given)
    if isinstance(given, BaseTool):
        return given
    # Loaded when first needed: most programs hand in tools.
    from langchain_core.tools import tool

    made: BaseTool = tool(given)
    return made


def listed(
    what: str, given: Any, error: type[ConfigurationError] = ConfigurationError, *, of: str = "texts"
) -> tuple[Any, ...]:
    """What stands in a list of any kind; one text alone would be read letter by letter.

    Raises:
        ConfigurationError: Or the `error`, naming the argument and what was given.
    """
    if isinstance(given, str):
        raise error(f"{what} is the text {given!r}; it must be a list of {of}, not one text")
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise error(f"{what} is {given!r}; it must be a list")
    return tuple(given)


def listed_names(what: str, given: Any, error: type[ConfigurationError] = ConfigurationError) -> tuple[str, ...]:
    """The names in a list of any kind.

    Raises:
        ConfigurationError: Or the `error`, naming the argument and what in it is no name.
    """
    names = listed(what, given, error, of="names")
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise error(f"{what} has {name!r}, which is not a name")
    return names


def no_such_tool(what: str, names: Sequence[str], known: Sequence[str]) -> str:
    """The message for names of tools that do not exist, with those that do."""
    listed = ", ".join(map(repr, known[:20])) or "none"
    return f"{what} {', '.join(map(repr, names))}, but there is no such tool; registered: {listed}"


def no_such_group(names: Sequence[str], known: Sequence[str]) -> str:
    """The message for groups that no tool is in, with those that some are in."""
    there = ", ".join(map(repr, known[:20])) or "none"
    return (
        f"`disabled_groups` names {', '.join(map(repr, names))}, which no tool is in; known groups: {there}. "
        "`switch_group(name, on=False)` also holds for tools that are added later"
    )
