"""The operator's record of one remote tool server.

A server describes its own tools and may be wrong or hostile. Only what the operator writes here can
make one of its tools milder; what the server sends can only make it stricter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Strict, field_validator
from pydantic.dataclasses import dataclass

from toolgate_langchain.catalog.profile import STRICT, ToolProfile
from toolgate_langchain.vocabulary import Tier

__all__ = ["ALL_TOOLS", "Declaration", "RemoteServer", "tier_from_hints"]

ALL_TOOLS: Final = "*"
"""The written-out way to declare something for every tool of a server."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Declaration:
    """What the operator declared about one remote tool, and for which definition of it."""

    requires_approval: bool
    """The operator's answer to "does this tool need a person?"."""

    fingerprint: str | None = None
    """The definition that was looked at. `None` pins the definition seen when the server's tools
    are first registered; after it changes, the tool counts as undeclared."""


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

    def profile(self, tool_name: str) -> ToolProfile:
        """The operator's classification of this tool; unclassified where there is none."""
        return (self.profiles or {}).get(tool_name, ToolProfile())


def tier_from_hints(tier: Tier | None, hints: Mapping[str, Any], *, trusted: bool) -> Tier | None:
    """Combine the operator's tier with the hints that a server sent (Model Context Protocol names).

    Hints raise a tier and never lower it. Only where the operator trusts the server's hints do they
    also fill in a missing tier. Anything that is not exactly a bool is not a hint.

    Args:
        tier: The operator's tier, `None` if unclassified.
        hints: The server's annotations; `readOnlyHint` and `destructiveHint` are read.
        trusted: `RemoteServer.trust_hints`.
    """
    read_only, destructive = hints.get("readOnlyHint"), hints.get("destructiveHint")
    hinted: Tier | None = None
    if destructive is True:
        hinted = Tier.CONSEQUENTIAL
    elif read_only is False:
        # The protocol's default for a tool that changes things is "destructive".
        hinted = Tier.ROUTINE if destructive is False else Tier.CONSEQUENTIAL
    elif read_only is True:
        hinted = Tier.READ_ONLY
    if hinted is None:
        return tier
    if tier is None:
        return hinted if trusted else None
    return max(tier, hinted)
