"""What may take part in a run: where and for whom it is driven, and the tools that the gates let it have there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.checks import check_names
from toolgate_langchain.policy.caller import Caller, RunConfiguration
from toolgate_langchain.policy.context import RunContext, worst_zone
from toolgate_langchain.policy.gates import OfferDecision, decide_offer, filter_offerable
from toolgate_langchain.policy.surface import Surface
from toolgate_langchain.policy.unattended import UnattendedToolFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolgate_langchain.catalog.catalog import ToolCatalog
    from toolgate_langchain.policy.approval_rule import ApprovalRule
    from toolgate_langchain.vocabulary import TrustZone

__all__ = ["Offers", "surfaces_by_name"]


class Offers:
    """The part of `ToolGate` that says what may take part in a run."""

    catalog: ToolCatalog
    surfaces: dict[str, Surface]
    approval_rule: ApprovalRule

    def surface(self, surface: str | Surface) -> Surface:
        """The surface of a name.

        Raises:
            ConfigurationError: For a name that this gate does not have.
        """
        if isinstance(surface, Surface):
            if self.surfaces.get(surface.name) != surface:
                raise ConfigurationError(f"surface {surface.name!r} is not one of this gate; add it to `surfaces`")
            return surface
        found = self.surfaces.get(surface) if isinstance(surface, str) else None
        if found is None:
            raise ConfigurationError(f"unknown surface {surface!r}; known: {', '.join(map(repr, self.surfaces))}")
        return found

    def context(
        self,
        surface: str | Surface,
        *,
        caller: Caller | None = None,
        configuration: RunConfiguration | None = None,
        zone: TrustZone | Sequence[TrustZone | None] | None = None,
    ) -> RunContext:
        """Where and for whom a run is driven, checked.

        Args:
            surface: A surface of this gate or its name.
            caller: For whom; `None` is nobody, and nobody is not an administrator.
            configuration: What the run may use; `None` restricts nothing.
            zone: Where the run's models run, one or one per model; `None` leaves the zone gate off.

        Raises:
            ConfigurationError: For an unknown surface, a group that no tool is in, or a wrong type.
        """
        if caller is not None and not isinstance(caller, Caller):
            raise ConfigurationError(f"caller is {caller!r}, which is not a Caller")
        if configuration is not None and not isinstance(configuration, RunConfiguration):
            raise ConfigurationError(f"configuration is {configuration!r}, which is not a RunConfiguration")
        if configuration is not None and configuration.groups is not None:
            known = self.catalog.groups()
            if unknown := sorted(configuration.groups - known):
                raise ConfigurationError(
                    f"configuration.groups names {', '.join(map(repr, unknown))}, which no tool is in; "
                    f"known groups: {', '.join(map(repr, sorted(known))) or 'none'}"
                )
        try:
            worst = worst_zone(zone)
        except TypeError as error:
            raise ConfigurationError(str(error)) from error
        return RunContext(self.surface(surface), caller, () if configuration is None else (configuration,), worst)

    def decide_offer(self, name: str, *, surface: str | Surface, **where: Any) -> OfferDecision:
        """Whether a tool may take part in a run, and the first gate that says no.

        Args:
            name: The tool.
            surface: Where the run is driven from.
            **where: `caller`, `configuration`, `zone`, as for `context`.
        """
        check_names([name])
        return decide_offer(self.catalog.get(name), self.context(surface, **where), self.catalog)

    def filter_offerable(self, names: Sequence[str] | None, *, surface: str | Surface, **where: Any) -> list[str]:
        """The names that may be offered, in their order; `None` requests all that is enabled.

        Args:
            names: What is requested.
            surface: Where the run is driven from.
            **where: `caller`, `configuration`, `zone`, as for `context`.
        """
        if names is not None:
            check_names(names)
        return filter_offerable(names, self.context(surface, **where), self.catalog)

    def unattended_filter(self, surface: str | Surface) -> UnattendedToolFilter:
        """The filter of tools that run without any human pause on a surface."""
        return UnattendedToolFilter(self.approval_rule, self.catalog.known, self.surface(surface))

    def unattended(self, names: Sequence[str], *, surface: str | Surface) -> list[str]:
        """The names, in their order, that never pause a run on a surface."""
        check_names(names)
        return self.unattended_filter(surface).unattended(names)


def surfaces_by_name(surfaces: Sequence[Surface]) -> dict[str, Surface]:
    """The surfaces of a gate by name.

    Raises:
        ConfigurationError: For none, two of one name, or what is no surface.
    """
    by_name: dict[str, Surface] = {}
    for surface in surfaces:
        if not isinstance(surface, Surface):
            raise ConfigurationError(f"surfaces holds {surface!r}, which is not a Surface")
        if surface.name in by_name:
            raise ConfigurationError(f"two surfaces are named {surface.name!r}; rename one")
        by_name[surface.name] = surface
    if not by_name:
        raise ConfigurationError("surfaces is empty; a gate needs at least one")
    return by_name
