"""What the catalog checks of what an operator gives it, and how it says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate_langchain.catalog.profile import ToolProfile
from toolgate_langchain.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_profile", "check_switch", "no_such_tool"]


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


def no_such_tool(what: str, names: Sequence[str], known: Sequence[str]) -> str:
    """The message for names of tools that do not exist, with those that do."""
    listed = ", ".join(map(repr, known[:20])) or "none"
    return f"{what} {', '.join(map(repr, names))}, but there is no such tool; registered: {listed}"
