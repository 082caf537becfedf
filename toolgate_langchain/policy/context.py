"""Everything that a decision may depend on besides the call, handed in as one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from toolgate_langchain.vocabulary import TrustZone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.policy.caller import Caller, RunConfiguration
    from toolgate_langchain.policy.history import History
    from toolgate_langchain.policy.surface import Surface

__all__ = [
    "NO_RULES",
    "CallFacts",
    "NoRules",
    "RulesInForce",
    "RunContext",
    "RunMemory",
    "worst_zone",
]


class RulesInForce(Protocol):
    """The standing rules that hold now, for this thread, caller, surface and agent.

    Looking one up must not cost more with more rules.
    """

    def denies(self, entry: CatalogEntry, arguments: Mapping[str, Any]) -> str | None:
        """The reason of a standing deny that matches, or `None`."""
        ...

    def allows(self, entry: CatalogEntry, arguments: Mapping[str, Any]) -> str | None:
        """The reason of a standing allow that matches, or `None`."""
        ...


class NoRules:
    """No standing rules at all."""

    def denies(self, entry: CatalogEntry, arguments: Mapping[str, Any]) -> str | None:
        """Nothing matches."""
        return None

    def allows(self, entry: CatalogEntry, arguments: Mapping[str, Any]) -> str | None:
        """Nothing matches."""
        return None


NO_RULES: Final = NoRules()


@dataclass(frozen=True, slots=True)
class RunMemory:
    """What people said in this run, and how often nobody was asked."""

    rejected: frozenset[str] = frozenset()
    """Keys of calls that a person rejected (`call_key`)."""
    replaced: frozenset[str] = frozenset()
    """Keys of calls that a person replaced by an edit."""
    rejections: Mapping[str, int] = field(default_factory=dict)
    """How many rejections each tool got, by name."""
    auto_approved_turns: int = 0
    """Turns in a row in which rules or heuristics stood in for a person and nobody was asked."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """Where and for whom a run is driven. Fixed when the run starts."""

    surface: Surface
    caller: Caller | None = None
    configurations: tuple[RunConfiguration, ...] = ()
    """All must permit a tool: the one saved with the run, and the live one where it differs."""
    zone: TrustZone | None = None
    """The worst zone of the run's models; `None` where the operator declared none (gate off)."""
    combined: tuple[Surface, ...] = ()
    """The surfaces that `surface` was made of where a run inside of another names its own; else empty."""

    @property
    def surfaces(self) -> tuple[Surface, ...]:
        """The surfaces that hold, from the root's on."""
        return self.combined or (self.surface,)

    @property
    def caller_id(self) -> str | None:
        """For whom the run runs, by id; `None` for nobody."""
        return None if self.caller is None else self.caller.id


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What hosts obtained for one call before asking for a decision."""

    predicate: bool | None = None
    """The saved outcome of the profile's per-call predicate; `None` lets the rule ask it."""
    heuristic: str | None = None
    """The name of the first heuristic that said exactly `True`."""
    heuristics_run: bool = False
    """Whether heuristics were asked at all."""
    warnings: tuple[str, ...] = ()
    """Warnings that a person would be shown; such a call is released by a person only."""
    variant: bool = False
    """The tool was rejected in this run with other arguments."""
    at_cap: bool = False
    """The run has used up its auto-approved turns."""
    stopped: bool = False
    """The switch that stops all releases is on."""
    history: History | None = None
    """What was read and said before the call; obtained only where an argument policy asks for it."""


def worst_zone(zones: object) -> TrustZone | None:
    """The worst of the zones of a run's models.

    Args:
        zones: One zone, `None`, or a sequence of them, one per model.

    Returns:
        `None` if no zone was declared at all; otherwise the worst, an undeclared further model
        counted as external-anywhere.

    Raises:
        TypeError: If anything else is given.
    """
    if zones is None or isinstance(zones, TrustZone):
        return zones
    if isinstance(zones, list | tuple) and all(zone is None or isinstance(zone, TrustZone) for zone in zones):
        if all(zone is None for zone in zones):
            return None
        return max(TrustZone.EXTERNAL_ANYWHERE if zone is None else zone for zone in zones)
    raise TypeError(f"a zone is a TrustZone or a sequence of them, one per model, not {zones!r}")
