"""Everything that this package knows of LangGraph beyond its public names, in one place.

The dependency is capped below the next minor version because of this module.
"""

from __future__ import annotations

from typing import Any, Final

from langgraph.config import get_config

from toolgate_langchain.errors import ConfigurationError

__all__ = ["check_innermost", "has_checkpointer"]

_CHECKPOINTER_KEY: Final = "__pregel_checkpointer"
"""Where a running graph keeps its checkpointer in the configurable part of its config."""


def has_checkpointer() -> bool:
    """Whether the graph that runs now can keep a pending question."""
    configurable: dict[str, Any] = get_config().get("configurable", {})
    return configurable.get(_CHECKPOINTER_KEY) not in (None, False)


_TOOL_NODE_MODULE: Final = "langgraph.prebuilt.tool_node"
"""Where the function that runs a tool is defined; other middleware's is defined elsewhere."""


def check_innermost(handler: object) -> None:
    """Refuse to release a call through other middleware, which could change it after the check.

    Raises:
        ConfigurationError: If the handler is not the tool node's own.
    """
    if getattr(handler, "__module__", None) != _TOOL_NODE_MODULE:
        raise ConfigurationError(
            "another middleware with wrap_tool_call stands behind the gate and could change a call after its last "
            "check; put ToolGateMiddleware last in create_agent(middleware=[...]), or use "
            "middleware=gate.around([...the others...])"
        )
