"""What a ledger is asked for that keeps the record, besides what every ledger does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from toolgate_langchain.approvals.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolgate_langchain.approvals.ledger import Maybe
    from toolgate_langchain.approvals.recording.entries import Entry

__all__ = ["RecordLedger", "record_of"]


class RecordLedger(Ledger, Protocol):
    """A ledger that keeps the record. What is in it is never changed."""

    keeps_record: bool
    """`True`. A ledger without this keeps none, and is asked for none."""

    def note(self, entries: Sequence[Entry]) -> Maybe[None]:
        """Write entries: all of them or none."""
        ...


def record_of(ledger: Any) -> RecordLedger | None:
    """The ledger, where it keeps the record; else `None`."""
    kept: RecordLedger | None = ledger if getattr(ledger, "keeps_record", False) is True else None
    return kept
