"""One tool as the catalog knows it: the tool, its profile, where it comes from, its fingerprint."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

from toolgate_langchain.canonical import digest
from toolgate_langchain.catalog.arguments import ArgumentSchema
from toolgate_langchain.catalog.definition import Definition, RemoteDefinition
from toolgate_langchain.catalog.hints import annotations_of, hints_of, tier_from_hints
from toolgate_langchain.vocabulary import Tier

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from toolgate_langchain.catalog.profile import ToolProfile
    from toolgate_langchain.catalog.remote import RemoteServer

__all__ = ["LOCAL", "CatalogEntry"]

LOCAL: Final = "local"
"""The origin of a tool that runs in this process."""


class CatalogEntry:
    """One tool as the catalog knows it. Treat as immutable.

    Args:
        name: The tool's name, byte for byte.
        profile: What it is.
        tool: The LangChain tool; `None` for one that the model's provider runs.
        server: The operator's record of the server that it comes from; `None` if local.
        pinned: For a remote tool, the definition first registered: what the operator wrote of it
            holds for that one, unless a declaration names another fingerprint.
        listed: What its server lists under the name, where the agent has something else.
        first_sight: Whether the catalog was never told of it and met it on the agent.
        withheld: Why it is not registered although its name is known; empty if it is.
    """

    def __init__(
        self,
        name: str,
        profile: ToolProfile,
        *,
        tool: BaseTool | None = None,
        server: RemoteServer | None = None,
        pinned: Definition | None = None,
        listed: Definition | None = None,
        first_sight: bool = False,
        withheld: str = "",
    ) -> None:
        self.name = name
        self.profile = profile
        self.tool = tool
        self.server = server
        self.pinned, self.listed = pinned, listed
        self.first_sight, self.withheld = first_sight, withheld
        self.origin = LOCAL if server is None else f"server:{server.name}"

    def __repr__(self) -> str:
        return f"CatalogEntry({self.name!r}, {self.tier or 'unclassified'}, origin={self.origin!r})"

    @cached_property
    def tier(self) -> Tier | None:
        """The tier after the server's hints, `None` if unclassified."""
        if self.server is None or self.tool is None:
            return self.profile.tier
        # The hints of an outdated definition say nothing of the tool that answers now.
        trusted = self.server.trust_hints and self.listed is None
        return tier_from_hints(self.profile.tier, hints_of(self.tool.metadata), trusted=trusted)

    @cached_property
    def effective_tier(self) -> Tier:
        """The tier, an unclassified tool counted as consequential."""
        return Tier.CONSEQUENTIAL if self.tier is None else self.tier

    @cached_property
    def repeatable(self) -> bool:
        """Whether running the same call again does no further harm."""
        return self.profile.idempotent or self.tier is Tier.READ_ONLY

    @cached_property
    def widest_memory(self) -> Literal["never", "arguments", "tool"]:
        """The widest "don't ask again" that may be offered, after hints."""
        if self.profile.standing is not None:
            return self.profile.standing
        return "arguments" if self.effective_tier is Tier.CONSEQUENTIAL else "tool"

    @cached_property
    def arguments(self) -> ArgumentSchema | None:
        """How arguments are validated; `None` where the tool does not run in this process."""
        return None if self.tool is None else ArgumentSchema(self.tool)

    @cached_property
    def definition(self) -> Definition:
        """The tool's definition, as it is now."""
        schema = None if self.arguments is None else self.arguments.json_schema
        remote = None
        if self.server is not None and self.tool is not None:
            said = {name: repr(values)[1:-1] for name, values in annotations_of(self.tool.metadata).items()}
            remote = RemoteDefinition(self.tool.description, said, self.server.launch)
        return Definition(self.name, self.origin, schema, remote)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the tool's definition. A standing rule dies when it changes.

        Where the agent has another definition than the server lists, a digest of both: whatever was
        said of either was not said of a call that is made by the one and answered by the other.
        """
        if self.listed is None:
            return self.definition.fingerprint
        return digest("toolgate:outdated:1", self.definition.fingerprint, self.listed.fingerprint)

    @cached_property
    def as_looked_at(self) -> bool:
        """Whether it still has the definition that the operator's record of its server is about."""
        declaration = None if self.server is None else self.server.declaration(self.name)
        pinned = None if declaration is None else declaration.fingerprint
        if pinned is None:
            pinned = self.fingerprint if self.pinned is None else self.pinned.fingerprint
        return pinned == self.fingerprint

    @property
    def declared(self) -> bool | None:
        """The operator's declaration where it holds for this definition, else `None`.

        That a person is needed holds for every definition: a server must not shed it by a change.
        """
        declaration = None if self.server is None else self.server.declaration(self.name)
        if declaration is None or not (declaration.requires_approval or self.as_looked_at):
            return None
        return declaration.requires_approval

    @cached_property
    def change(self) -> str:
        """What is different from the definition that was first registered; empty where nothing is.

        The words are the server's own and are not yet fit to be shown.
        """
        if self.listed is not None:
            changes = self.listed.changes_from(self.definition)
            return f"its server lists another definition than the agent has: {changes}" if changes else ""
        changes = "" if self.pinned is None else self.definition.changes_from(self.pinned)
        return f"its definition changed since it was first registered: {changes}" if changes else ""
