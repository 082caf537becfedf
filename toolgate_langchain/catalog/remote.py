"""The operator's record of one remote tool server.

A server describes its own tools and may be wrong or hostile. Only what the operator writes here can
make one of its tools milder; what the server sends can only make it stricter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Strict, field_validator
from pydantic.dataclasses import dataclass

from toolgate_langchain.catalog.profile import STRICT, ToolProfile

__all__ = ["ALL_TOOLS", "Declaration", "RemoteServer"]

ALL_TOOLS: Final = "*"
"""The written-out way to declare something for every tool of a server."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Declaration:
    """What the operator declared about one remote tool, and for which definition of it."""

    requires_approval: bool
    """The operator's answer to "does this tool need a person?"."""

    fingerprint: str | None = None
    """The definition that was looked at. `None` pins the definition seen when the server's tools
    are first registered. After it changes, a tool that was declared to need nobody counts as
    undeclared, and is not exempt where undeclared tools are."""


@dataclass(frozen=True, config=STRICT)
class RemoteServer:
    """The operator's record of one remote tool server.

    Args:
        name: The server's name here; part of the origin of each of its tools.
        launch: What identifies the running server: its URL, or its command with arguments. Part of
            every fingerprint, so that a server behind the same name cannot be swapped.
        declarations: Per tool name, or `"*"`, whether a person is needed. A bare bool is short for
            `Declaration(requires_approval=…)`.
        profiles: Per tool name, the operator's own classification.
        trust_hints: Whether the server's hints may lower a tier. Off by default.

    Raises:
        pydantic.ValidationError: If a field has the wrong type, or the name is empty.
    """

    name: str
    launch: Annotated[tuple[str, ...], Strict(False)] = ()
    declarations: Mapping[str, Declaration | bool] | None = None
    profiles: Mapping[str, ToolProfile] | None = None
    trust_hints: bool = False

    @field_validator("name")
    @classmethod
    def _named(cls, name: str) -> str:
        if not name or not name.isprintable():
            raise ValueError("a server's name must be non-empty and printable")
        return name

    def declaration(self, tool_name: str) -> Declaration | None:
        """The declaration that names this tool, or the written-out `"*"`, or `None`."""
        declared = self.declarations or {}
        found = declared.get(tool_name, declared.get(ALL_TOOLS))
        return Declaration(requires_approval=found) if isinstance(found, bool) else found

    @property
    def named(self) -> frozenset[str]:
        """The tools that the record names, in a declaration or with a profile."""
        return frozenset({*(self.declarations or ()), *(self.profiles or ())} - {ALL_TOOLS})

    def profile(self, tool_name: str) -> ToolProfile:
        """The operator's classification of this tool; unclassified where there is none."""
        return (self.profiles or {}).get(tool_name, ToolProfile())
