"""What a ledger is asked for that keeps the record, besides what every ledger does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from toolgate_langchain.approvals.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import ToolMessage

    from toolgate_langchain.approvals.ledger import GrantStatus, Maybe, StartStatus
    from toolgate_langchain.approvals.recording.entries import Entry

__all__ = ["RecordLedger", "record_of"]


class RecordLedger(Ledger, Protocol):
    """A ledger that keeps the record. What is in it is never changed."""

    keeps_record: bool
    """`True`. A ledger without this keeps none, and is asked for none."""

    def note(self, entries: Sequence[Entry]) -> Maybe[None]:
        """Write entries: all of them or none."""
        ...

    def start(
        self,
        request_id: str,
        digest: str,
        *,
        needs_grant: bool,
        repeatable: bool,
        hold: bool = False,
        entry: Entry | None = None,
    ) -> Maybe[StartStatus]:
        """See `Ledger.start`.

        Args:
            request_id: As there, like all that follow.
            digest: The digest of the very call.
            needs_grant: Whether an issued grant must be there.
            repeatable: Whether the call may run again under the same grant.
            hold: Whether whoever starts it has it to itself for the length of a lease.
            entry: What to write where the call may start for the first time: the start and the entry, or neither.
        """
        ...

    def end(
        self,
        request_id: str,
        status: GrantStatus,
        *,
        result: ToolMessage | None = None,
        scope: str = "",
        entry: Entry | None = None,
    ) -> Maybe[None]:
        """See `Ledger.end`.

        Args:
            request_id: The request.
            status: How the call ended.
            result: What it gave.
            scope: The run that the turn is of.
            entry: What to write where this ends it: the end and the entry, or neither.
        """
        ...


def record_of(ledger: Any) -> RecordLedger | None:
    """The ledger, where it keeps the record; else `None`."""
    kept: RecordLedger | None = ledger if getattr(ledger, "keeps_record", False) is True else None
    return kept
