"""Tools that are known to be harmless, so that nobody is asked about an agent's own to-do list.

A name proves nothing: a tool counts as well known only if it is the very code that was looked at,
told by the module and name of the function that runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolgate_langchain.catalog.profile import ToolProfile
from toolgate_langchain.vocabulary import DataClass, Tier

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

__all__ = ["well_known_profile"]

_WELL_KNOWN: Final = {
    ("langchain.agents.middleware.todo", "write_todos"): ToolProfile(
        tier=Tier.READ_ONLY,
        idempotent=True,
        data_class=DataClass.PUBLIC,
        reason="writes only the agent's own to-do list in its own state",
    ),
}


def well_known_profile(tool: BaseTool) -> ToolProfile | None:
    """The profile of a well-known harmless tool, or `None`."""
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    module = getattr(function, "__module__", None)
    return _WELL_KNOWN.get((module, tool.name)) if isinstance(module, str) else None
