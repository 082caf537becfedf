"""One tool as the catalog knows it: the tool, its profile, where it comes from, its fingerprint."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

from toolgate_langchain.canonical import digest
from toolgate_langchain.catalog.arguments import ArgumentSchema
from toolgate_langchain.catalog.remote import RemoteServer, tier_from_hints
from toolgate_langchain.vocabulary import Tier

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from toolgate_langchain.catalog.profile import ToolProfile

__all__ = ["LOCAL", "CatalogEntry"]

LOCAL: Final = "local"
"""The origin of a tool that runs in this process."""

_LITERAL: Final = ("const", "default", "enum", "examples")
"""Keywords of a JSON Schema whose values are values and not schemas."""

_HINTS: Final = ("title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


class CatalogEntry:
    """One tool as the catalog knows it. Treat as immutable.

    Args:
        name: The tool's name, byte for byte.
        profile: What it is.
        tool: The LangChain tool; `None` for one that the model's provider runs.
        server: The operator's record of the server that it comes from; `None` if local.
        fingerprint_pinned: For a remote tool, the definition for which a declaration without a
            fingerprint of its own holds: the one first registered.
        first_sight: Whether the catalog was never told of it and met it on the agent.
        withdrawn: Whether the server that it comes from no longer lists it.
    """

    def __init__(
        self,
        name: str,
        profile: ToolProfile,
        *,
        tool: BaseTool | None = None,
        server: RemoteServer | None = None,
        fingerprint_pinned: str | None = None,
        first_sight: bool = False,
        withdrawn: bool = False,
    ) -> None:
        self.name = name
        self.profile = profile
        self.tool = tool
        self.server = server
        self.first_sight, self.withdrawn = first_sight, withdrawn
        self.pinned = fingerprint_pinned
        self.origin = LOCAL if server is None else f"server:{server.name}"

    def __repr__(self) -> str:
        return f"CatalogEntry({self.name!r}, {self.tier or 'unclassified'}, origin={self.origin!r})"

    @cached_property
    def tier(self) -> Tier | None:
        """The tier after the server's hints, `None` if unclassified."""
        if self.server is None or self.tool is None:
            return self.profile.tier
        return tier_from_hints(self.profile.tier, self.tool.metadata or {}, trusted=self.server.trust_hints)

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
    def fingerprint(self) -> str:
        """A digest of the tool's definition. A standing rule dies when it changes.

        Covers name, origin and schema; for a remote tool also its description, its annotations and
        the server's launch identity, all of which a server can change under an approval.
        """
        schema = None if self.arguments is None else self.arguments.json_schema
        parts: list[Any] = [
            "toolgate:fingerprint:1",
            self.name,
            self.origin,
            _without_prose(schema),
        ]
        if self.server is not None and self.tool is not None:
            metadata = self.tool.metadata or {}
            hints = {key: repr(metadata[key]) for key in _HINTS if key in metadata}
            parts += [schema, self.tool.description, hints, list(self.server.launch)]
        return digest(*parts)

    @property
    def declared(self) -> bool | None:
        """The operator's declaration where it holds for this definition, else `None`."""
        declaration = None if self.server is None else self.server.declaration(self.name)
        if declaration is None:
            return None
        pinned = declaration.fingerprint
        if pinned is None:
            pinned = self.fingerprint if self.pinned is None else self.pinned
        return declaration.requires_approval if pinned == self.fingerprint else None


def _without_prose(schema: Any) -> Any:
    """A local tool's schema without titles and descriptions, which only the model reads."""
    if isinstance(schema, dict):
        # A property may itself be called "title", and a default is a value: neither is prose.
        return {
            key: item if key in _LITERAL else _without_prose(item)
            for key, item in schema.items()
            if key not in ("title", "description") or not isinstance(item, str)
        }
    if isinstance(schema, list):
        return [_without_prose(item) for item in schema]
    return schema
