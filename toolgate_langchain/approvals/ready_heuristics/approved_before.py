"""Approves the same call as one that a person approved a short time ago."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.canonical import canonical_json
from toolgate_langchain.catalog.checks import check_name
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.policy.sensitive import holds_sensitive

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from langchain_core.messages import ToolCall

    from toolgate_langchain.approvals.heuristics import HeuristicContext
    from toolgate_langchain.approvals.recording.event import LedgerEvent

__all__ = ["ApprovedBefore"]

_EVENTS: Final = 5_000
"""Events that are looked at. In a busier ledger the last word on a call is not known, and everything is asked about."""


class ApprovedBefore:
    """Approves a call that is the same as one that a person approved in the last minutes, in any conversation.

    The same: tool, definition, origin, surface, caller and exact arguments. The person's last word on it counts,
    so that a rejection in between ends it. What a heuristic approved begins no time of its own. A call with
    sensitive arguments is left to a person, because the record does not keep them, and so is every call of a run for
    nobody: nobody could say that it was the same person.

    Unlike "don't ask again" nobody is told that a yes will count again. It does not protect from a call that is to
    be made once, as a payment; from an agent inside of another that makes the root's call again; or from a world in
    which the same arguments mean something else by now.

    Args:
        tool: The name of the tool.
        minutes: For how long an approval counts.
        ledger: The gate's ledger; it must keep the record, as `SqlLedger` does.
        clock: The time, with a time zone; the ledger's own where that is given one.

    Raises:
        ConfigurationError: If the ledger keeps no record, or the time is not above 0.
    """

    def __init__(
        self, tool: str, minutes: float, ledger: Any, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        check_name("tool", tool)
        if not callable(clock):
            raise ConfigurationError(f"clock is {clock!r}, which cannot be called")
        if not callable(getattr(ledger, "events", None)):
            raise ConfigurationError(f"{type(ledger).__name__} keeps no record; use SqlLedger")
        if type(minutes) not in (int, float) or not 0 < minutes < float("inf"):
            raise ConfigurationError(f"minutes is {minutes!r}; it must be above 0")
        self.__name__ = f"{type(self).__name__}({tool})"
        self.tool, self._time, self._ledger, self._clock = tool, timedelta(minutes=minutes), ledger, clock

    def __call__(self, call: ToolCall, context: HeuristicContext) -> bool | Awaitable[bool]:
        """Whether a person approved the same call in time."""
        if call["name"] != self.tool or holds_sensitive(call["args"], context.entry.profile.sensitive):
            return False
        now = self._clock()
        found = self._ledger.events(since=now - self._time, limit=_EVENTS)
        if hasattr(type(found), "__await__"):
            return self._later(found, call, context, now)
        return _last_word(found, call, context, now)

    async def _later(
        self, found: Awaitable[Sequence[LedgerEvent]], call: ToolCall, context: HeuristicContext, now: datetime
    ) -> bool:
        return _last_word(await found, call, context, now)


def _last_word(events: Sequence[LedgerEvent], call: ToolCall, context: HeuristicContext, now: datetime) -> bool:
    """Whether the last thing that a person said of the very call is a yes."""
    if len(events) >= _EVENTS:
        return False
    said = False
    for event in events:
        detail = event.detail
        if event.kind != "decided" or event.at > now or detail["by"].get("kind") != "person":
            continue
        if canonical_json(detail["call"]["arguments"]) != canonical_json(call["args"]) or not _same_place(
            detail, call, context
        ):
            continue
        said = detail["by"].get("answer") in ("approved", "edited") and _same_tool(detail, context)
    return said


def _same_place(detail: Mapping[str, Any], call: ToolCall, context: HeuristicContext) -> bool:
    where, caller = detail["where"], context.caller
    return bool(
        detail["call"]["tool"] == call["name"]
        and where.get("surface") == context.surface.name
        and caller is not None
        and where.get("caller") == caller.id
    )


def _same_tool(detail: Mapping[str, Any], context: HeuristicContext) -> bool:
    tool = detail.get("given", {}).get("tool", {})
    return bool(tool.get("fingerprint") == context.entry.fingerprint and tool.get("origin") == context.entry.origin)
