"""The entry of a tool that an agent has and that is not the very one that was registered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate_langchain.catalog.checks import check_profile
from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.catalog.profile import ToolProfile, profile_of
from toolgate_langchain.catalog.wellknown import well_known_profile

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from toolgate_langchain.catalog.intake import RefusedTool

__all__ = ["met_entry", "own_profile"]


def met_entry(
    tool: BaseTool, known: CatalogEntry | None, withdrawn: CatalogEntry | None, refused: RefusedTool | None
) -> CatalogEntry:
    """The entry of a tool that was met on an agent.

    Args:
        tool: The tool.
        known: What is registered under its name, if anything is.
        withdrawn: What a server listed under its name before and lists no longer.
        refused: What a server was refused under its name.
    """
    before = known or withdrawn
    profile = own_profile(tool, None) if before is None else before.profile
    server, pinned = (None, None) if before is None else (before.server, before.pinned)
    withheld = ""
    if refused is not None:
        # Two tools of one name may look alike and yet answer from different places.
        withheld = f"a tool of this name was refused to server {refused.server!r}: {refused.why}"
        profile = profile.without_tier()
    elif known is None and withdrawn is not None:
        withheld = f"{withdrawn.origin} no longer lists it"
    if known is None or withheld:
        return CatalogEntry(
            tool.name,
            profile,
            tool=tool,
            server=server,
            pinned=pinned,
            first_sight=known is None,
            withheld=withheld,
        )
    met = CatalogEntry(tool.name, profile, tool=tool, server=server, pinned=pinned)
    if known.tool is not None and met.fingerprint == known.fingerprint and not _loses_its_code(known, tool):
        return met
    # The registered classification was made for something else, and so were rules and declarations.
    listed = None if server is None else known.definition
    return CatalogEntry(tool.name, profile.without_tier(), tool=tool, server=server, pinned=pinned, listed=listed)


def _loses_its_code(known: CatalogEntry, tool: BaseTool) -> bool:
    """Whether the profile was given to the registered tool's code, and this tool runs another one.

    Two tools can have one definition; what was written down about a well-known one holds for it alone.
    """
    recognised = known.tool is not None and well_known_profile(known.tool) is known.profile
    return recognised and well_known_profile(tool) is not known.profile


def own_profile(tool: BaseTool, given: ToolProfile | None) -> ToolProfile:
    """The profile given, else the one that the tool carries, else a well-known one, else unclassified.

    Raises:
        CatalogError: If what is given is no profile.
    """
    if given is not None:
        check_profile(tool.name, given)
        return given
    return profile_of(tool) or well_known_profile(tool) or ToolProfile()
