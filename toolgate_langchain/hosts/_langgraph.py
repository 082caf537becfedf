"""Everything that this package knows of LangGraph beyond its public names, in one place.

The dependency is capped below the next minor version because of this module.
"""

from __future__ import annotations

from typing import Any, Final

from langgraph.config import get_config

__all__ = ["has_checkpointer"]

_CHECKPOINTER_KEY: Final = "__pregel_checkpointer"
"""Where a running graph keeps its checkpointer in the configurable part of its config."""


def has_checkpointer() -> bool:
    """Whether the graph that runs now can keep a pending question."""
    configurable: dict[str, Any] = get_config().get("configurable", {})
    return configurable.get(_CHECKPOINTER_KEY) not in (None, False)
