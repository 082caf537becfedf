"""Taking in the tools of one remote server: which, as what, and which not.

Nothing that a server sends can raise out of here: a tool with a malformed or taken name is refused
and reported, and whatever cannot be read costs the server that tool and nobody anything else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from langchain_core.tools import BaseTool

from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.catalog.fitting import misnamed_argument
from toolgate_langchain.catalog.hints import claims_nested_profile
from toolgate_langchain.catalog.profile import claims_profile, profile_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, MutableMapping, Sequence

    from toolgate_langchain.catalog.definition import Definition
    from toolgate_langchain.catalog.remote import RemoteServer

__all__ = ["CLAIMED", "Intake", "RefusedTool", "claims_own_profile", "looks_like", "take_in"]

CLAIMED: Final = "it tries to supply its own profile; ignored"

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""Names that every provider accepts and no reader can mistake; others are refused, not rewritten."""


@dataclass(frozen=True, slots=True)
class RefusedTool:
    """What the catalog did not take in, and why.

    A tool, a whole server, a tool's own claim, or what a record says of a tool that is not listed.
    """

    server: str
    """The server's name; empty for a tool of the agent's own."""
    name: str
    """The tool's name; empty where it is about the server."""
    why: str


@dataclass(slots=True)
class Intake:
    """What came of one list of tools."""

    entries: list[CatalogEntry] = field(default_factory=list)
    refused: list[RefusedTool] = field(default_factory=list)
    claims: list[RefusedTool] = field(default_factory=list)
    """Claims that were ignored; the tools themselves were taken in."""


def take_in(
    server: RemoteServer,
    listed: Sequence[Any],
    taken: Mapping[str, CatalogEntry],
    pinned: MutableMapping[tuple[str, str], Definition],
) -> Intake:
    """Take in what one server lists.

    Args:
        server: The operator's record.
        listed: Its tools, or whatever it gave instead.
        taken: The tools of everybody else, by name.
        pinned: The definitions first registered, by server and tool; new ones are added.
    """
    intake = Intake()
    names = {tool.name for tool in listed if isinstance(tool, BaseTool)}
    missing = sorted(server.named - names)
    # Nothing was listed: the server could not be reached, or it has nothing that could be mistaken.
    if listed:
        shown = ", ".join(sorted(name for name in names if _NAME.fullmatch(name))[:20]) or "nothing with a usable name"
        why = f"its record names this tool, which the server does not list; it lists: {shown}"
        intake.refused += [RefusedTool(server.name, name, why) for name in missing]
    mine: dict[str, CatalogEntry] = {}
    for tool in listed:
        problem = _problem(server, tool, taken, mine, missing)
        if problem is None:
            try:
                entry = _entry(server, tool, pinned)
                problem = misnamed_argument(entry)
            except Exception as error:  # a hostile or broken schema; the tool is lost, nothing else
                problem = f"its definition cannot be read: {error}"
            else:
                if problem is None:
                    mine[tool.name] = entry
                if problem is None and claims_own_profile(tool):
                    intake.claims.append(RefusedTool(server.name, tool.name, CLAIMED))
        if problem is not None:
            intake.refused.append(RefusedTool(server.name, str(getattr(tool, "name", "?"))[:128], problem))
    intake.entries = list(mine.values())
    return intake


def _problem(
    server: RemoteServer,
    tool: Any,
    taken: Mapping[str, CatalogEntry],
    mine: Mapping[str, CatalogEntry],
    missing: list[str],
) -> str | None:
    if not isinstance(tool, BaseTool):
        return f"not a tool but {type(tool).__name__}"
    if not _NAME.fullmatch(tool.name):
        return "its name is not 1 to 128 of A-Z a-z 0-9 _ . -"
    if (other := taken.get(tool.name) or mine.get(tool.name)) is not None:
        return f"its name is taken by a tool of {other.origin}"
    if missing and tool.name not in server.named:
        # A restriction under a misspelt name must not leave the tool that was meant to `"*"` or to nobody.
        named = ", ".join(map(repr, missing[:5]))
        return f"its server's record names {named}, which is not listed, and this may be what was meant"
    return None


def _entry(server: RemoteServer, tool: BaseTool, pinned: MutableMapping[tuple[str, str], Definition]) -> CatalogEntry:
    """The entry of a tool. Of one that is not what its profile was written for, only the restrictions are kept."""
    profile = server.profile(tool.name)
    definition = CatalogEntry(tool.name, profile, tool=tool, server=server).definition
    _ = definition.fingerprint
    first = pinned.setdefault((server.name, tool.name), definition)
    entry = CatalogEntry(tool.name, profile, tool=tool, server=server, pinned=first)
    if entry.as_looked_at:
        return entry
    return CatalogEntry(tool.name, profile.without_tier(), tool=tool, server=server, pinned=first)


def claims_own_profile(tool: BaseTool) -> bool:
    """Whether a remote tool brings along something that looks like a profile, in whatever place."""
    return claims_profile(tool) or profile_of(tool) is not None or claims_nested_profile(tool.metadata)


def looks_like(name: str, others: Iterable[str]) -> str | None:
    """Another server's name that a reader, or a prefix made of it, could take for this one."""
    mine = _folded(name)
    return next((other for other in others if other != name and _folded(other) == mine), None)


def _folded(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name.casefold())
