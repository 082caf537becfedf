"""The five gates: whether a tool may take part in a run at all.

Pure AND. The order decides only which reason is reported, cheapest and least revealing first. The
same gates are asked when tools are offered, before a call runs, and on resume.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolgate_langchain.policy.decision import Code
from toolgate_langchain.vocabulary import DataClass, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolgate_langchain.catalog.catalog import ToolCatalog
    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.policy.context import RunContext

__all__ = ["OfferDecision", "decide_offer", "filter_offerable"]


@dataclass(frozen=True, slots=True)
class OfferDecision:
    """Whether a tool may take part in a run, and if not, the first gate that says no."""

    allowed: bool
    code: str = ""
    reason: str = ""


_OFFERED = OfferDecision(allowed=True)


def decide_offer(entry: CatalogEntry | None, context: RunContext, catalog: ToolCatalog) -> OfferDecision:
    """Ask the gates about one tool.

    Args:
        entry: The tool; `None` for a name that the catalog does not know.
        context: Where and for whom the run is driven.
        catalog: Where switches and groups are kept.
    """
    if entry is None:
        return OfferDecision(False, Code.NOT_REGISTERED, "the catalog does not know it")
    if entry.withheld:
        return OfferDecision(False, Code.NOT_REGISTERED, entry.withheld)
    if entry.first_sight and catalog.closed:
        return OfferDecision(False, Code.NOT_REGISTERED, "the catalog is closed and it was not registered by hand")
    if not catalog.is_enabled(entry):
        return OfferDecision(False, Code.TOOL_DISABLED, "it, or a group that it is in, is switched off")
    profile = entry.profile
    if profile.admin_only and (context.caller is None or not context.caller.admin):
        who = (
            "there is no caller" if context.caller is None else f"caller {context.caller.id!r} is not an administrator"
        )
        return OfferDecision(False, Code.REQUIRES_ADMIN, f"it is for administrators, and {who}")
    for configuration in context.configurations:
        if not configuration.permits(entry.name, profile.groups):
            groups = ", ".join(sorted(profile.groups)) or "no group"
            return OfferDecision(
                False,
                Code.CONFIGURATION_GROUP,
                f"it is outside the run's configuration (it is in {groups})",
            )
    if context.zone is not None:
        data_class = profile.data_class or DataClass.SECRET
        if data_class > context.zone.ceiling:
            return OfferDecision(
                False,
                Code.TRUST_ZONE,
                f"its results are {data_class.value}, above {context.zone.ceiling.value}, "
                f"the ceiling of zone {context.zone.value}",
            )
    if context.surface.answer(entry.tier) is Verdict.DENY:
        tier = "unclassified" if entry.tier is None else entry.tier.value
        return OfferDecision(False, Code.SURFACE, f"surface {context.surface.name!r} denies {tier} tools")
    return _OFFERED


def filter_offerable(names: Sequence[str] | None, context: RunContext, catalog: ToolCatalog) -> list[str]:
    """The names that may be offered to the model, in their order.

    Args:
        names: What is requested; `None` requests all that is enabled, `[]` nothing. A name twice
            stays twice, and no name is invented.
        context: Where and for whom the run is driven.
        catalog: The registered tools.
    """
    requested = catalog.names() if names is None else names
    return [name for name in requested if decide_offer(catalog.get(name), context, catalog).allowed]
