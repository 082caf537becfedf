"""A ledger in memory that keeps the record of decisions as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.ledger import StartStatus
from toolgate_langchain.approvals.memory_ledger import InMemoryLedger
from toolgate_langchain.approvals.recording.event import LedgerEvent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from toolgate_langchain.approvals.attempts import CallEnd, CallStart
    from toolgate_langchain.approvals.recording.entries import Entry

__all__ = ["RecordingInMemoryLedger"]


class RecordingInMemoryLedger(InMemoryLedger):
    """An `InMemoryLedger` that keeps the record of decisions, for tests and short programs.

    The record grows as long as the process lives. It holds what was judged, decided and what ended, and not what
    changed in the ledger besides.

    Args:
        **options: As for `InMemoryLedger`.
    """

    keeps_record = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._events: list[LedgerEvent] = []
        self._once: set[str] = set()

    def note(self, entries: Sequence[Entry]) -> None:
        """See `RecordLedger.note`."""
        with self._lock:
            for entry in entries:
                if entry.once in self._once:
                    continue
                if entry.once:
                    self._once.add(entry.once)
                number = len(self._events) + 1
                self._events.append(
                    LedgerEvent(number, self._clock(), entry.kind, entry.request_id, entry.thread_id, entry.detail)
                )

    def start(self, call: CallStart) -> StartStatus:
        """See `Ledger.start`."""
        with self._lock:
            status = super().start(call)
            if call.entry is not None and status is StartStatus.STARTED:
                self.note([call.entry])
        return status

    def end(self, call: CallEnd) -> bool:
        """See `Ledger.end`."""
        with self._lock:
            ended = super().end(call)
            if call.entry is not None:
                self.note([call.entry if ended else call.entry.late()])
        return ended

    def let_go(self, call: CallStart, entry: Entry | None = None) -> None:
        """See `Outcomes.let_go`."""
        with self._lock:
            if self._let_go(call) and entry is not None:
                self.note([entry])

    def events(
        self,
        *,
        request_id: str | None = None,
        thread_id: str | None = None,
        since: datetime | None = None,
        after: int = 0,
        limit: int = 1_000,
    ) -> Sequence[LedgerEvent]:
        """See `SqlLedger.events`."""
        with self._lock:
            found = [
                event
                for event in self._events[after:]
                if request_id in (None, event.request_id)
                and thread_id in (None, event.thread_id)
                and (since is None or event.at >= since)
            ]
        return found[:limit]
