"""What can be said of every call of a tool, whatever its arguments; worked out once for each tool.

Most calls are of tools that a surface lets run. Their decision is the same each time, unless the
switch is off or somebody said no: what is left to look at is the arguments, the ledger and the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolgate_langchain.catalog.arguments import EffectiveArguments
from toolgate_langchain.policy.context import NO_RULES, CallFacts, RunMemory
from toolgate_langchain.policy.decide import ProposedCall, decide
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.policy.context import RunContext
    from toolgate_langchain.policy.decide import Rulebook
    from toolgate_langchain.policy.decision import Decision

__all__ = ["Foregone"]

_NOTHING_SAID: Final = RunMemory()
_NO_FACTS: Final = CallFacts()


@dataclass(slots=True)
class _Known:
    entry: CatalogEntry
    context: RunContext
    version: int
    unasked: bool
    released: Decision | None


class Foregone:
    """What is known of a tool's calls in advance, for one gate. It holds for one entry, in one context.

    Args:
        rulebook: What the operator configured.
    """

    def __init__(self, rulebook: Rulebook) -> None:
        self._rulebook = rulebook
        self._known: dict[str, _Known] = {}

    def unasked(self, entry: CatalogEntry, context: RunContext) -> bool:
        """Whether no call of a tool can need a person here, whatever its arguments."""
        return self._of(entry, context).unasked

    def released(self, entry: CatalogEntry, context: RunContext) -> Decision | None:
        """The decision that lets every call of a tool run here; `None` where a call must be looked at.

        It holds for arguments that fit, while releases are not stopped, no standing rule is there and
        nobody rejected or replaced anything in the run.
        """
        return self._of(entry, context).released

    def _of(self, entry: CatalogEntry, context: RunContext) -> _Known:
        known, version = self._known.get(entry.name), self._rulebook.catalog.version
        if known is not None and known.entry is entry and known.version == version:
            if known.context is context:
                return known
            if known.context == context:
                known.context = context
                return known
        known = self._known[entry.name] = self._look(entry, context, version)
        return known

    def _look(self, entry: CatalogEntry, context: RunContext, version: int) -> _Known:
        rulebook = self._rulebook
        if rulebook.argument_policies:
            return _Known(entry, context, version, unasked=False, released=None)
        # Asked about the tool as such: one with a predicate counts as needing a person.
        unasked = not rulebook.approval_rule.need(entry, context.surface).needed
        released: Decision | None = None
        if unasked:
            call = ProposedCall(entry.name, entry, EffectiveArguments({}))
            decision = decide(call, context, rulebook, NO_RULES, _NOTHING_SAID, _NO_FACTS)
            released = decision if decision.verdict is Verdict.ALLOW else None
        return _Known(entry, context, version, unasked, released)
