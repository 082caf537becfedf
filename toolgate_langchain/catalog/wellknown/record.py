"""What is written down about one well-known tool, and the three short ways to write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from toolgate_langchain.catalog.profile import ToolProfile
from toolgate_langchain.vocabulary import Tier

if TYPE_CHECKING:
    from toolgate_langchain.catalog.egress import EgressScope
    from toolgate_langchain.vocabulary import DataClass

__all__ = ["WellKnownTool", "consequential", "read_only", "routine"]

Standing = Literal["never", "arguments", "tool"]


@dataclass(frozen=True, kw_only=True, slots=True)
class WellKnownTool:
    """One tool of a package whose code was looked at."""

    name: str
    """The name under which the package ships it. Told to people; it identifies nothing."""

    code: tuple[str, ...]
    """Where its code is, as `module:qualname` of a tool class or of the functions that run. Empty
    for a tool of a remote server, whose code nobody here can see."""

    profile: ToolProfile
    """What the tool is; `ToolProfile.reason` says why it has its tier."""


def read_only(
    name: str,
    reason: str,
    *code: str,
    egress: EgressScope = "none",
    endpoints: tuple[str, ...] = (),
    data_class: DataClass | None = None,
    requires_approval: bool = False,
) -> WellKnownTool:
    """A tool that changes nothing, whatever it is given."""
    profile = ToolProfile(
        tier=Tier.READ_ONLY,
        reason=reason,
        data_class=data_class,
        egress=egress,
        endpoints=endpoints,
        requires_approval=requires_approval,
    )
    return WellKnownTool(name=name, code=code, profile=profile)


def routine(
    name: str,
    reason: str,
    *code: str,
    egress: EgressScope = "none",
    endpoints: tuple[str, ...] = (),
    idempotent: bool = False,
    standing: Standing | None = None,
) -> WellKnownTool:
    """A tool whose changes are small, or easily taken back."""
    profile = ToolProfile(
        tier=Tier.ROUTINE,
        reason=reason,
        egress=egress,
        endpoints=endpoints,
        idempotent=idempotent,
        standing=standing,
    )
    return WellKnownTool(name=name, code=code, profile=profile)


def consequential(
    name: str,
    reason: str,
    *code: str,
    egress: EgressScope = "none",
    endpoints: tuple[str, ...] = (),
    standing: Standing | None = None,
) -> WellKnownTool:
    """A tool that can do what cannot be taken back."""
    profile = ToolProfile(tier=Tier.CONSEQUENTIAL, reason=reason, egress=egress, endpoints=endpoints, standing=standing)
    return WellKnownTool(name=name, code=code, profile=profile)
