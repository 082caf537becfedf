"""All well-known tools, by the package that ships them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from toolgate_langchain.catalog.wellknown import community, deepagents, langchain_middleware, mcp_servers
from toolgate_langchain.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolgate_langchain.catalog.profile import ToolProfile
    from toolgate_langchain.catalog.wellknown.record import WellKnownTool

__all__ = ["WELL_KNOWN_TOOLS", "well_known_profiles"]

WELL_KNOWN_TOOLS: Final[Mapping[str, tuple[WellKnownTool, ...]]] = MappingProxyType(
    {
        "langchain": langchain_middleware.TOOLS,
        "deepagents": deepagents.TOOLS,
        "langchain-community": community.TOOLS,
        **mcp_servers.SERVERS,
    }
)
"""What was written down, by the name of the package, in the order in which its page tells it."""


def well_known_profiles(package: str) -> dict[str, ToolProfile]:
    """The ready profiles of one package's tools, by tool name.

    For `RemoteServer(profiles=...)` of a server that the operator starts from that package, and as
    a start for profiles of one's own. The local tools of a package need no call: the catalog
    recognises them by their code.

    Args:
        package: The package's name in its registry, as `"@modelcontextprotocol/server-filesystem"`.

    Returns:
        A new dict, so that single profiles can be replaced.

    Raises:
        CatalogError: If nothing was written down for a package of that name.
    """
    tools = WELL_KNOWN_TOOLS.get(package) if isinstance(package, str) else None
    if tools is None:
        known = ", ".join(repr(name) for name in WELL_KNOWN_TOOLS)
        raise CatalogError(f"no well-known tools are written down for {package!r}; there are some for {known}")
    return {tool.name: tool.profile for tool in tools}
