"""One attempt at a call, from its start to its end.

A worker that is slow looks like one that died. Whoever takes its call over has another attempt, so that the slow one
cannot end what is no longer its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from langchain_core.messages import ToolMessage

    from toolgate_langchain.approvals.ledger import GrantStatus
    from toolgate_langchain.approvals.recording.entries import Entry

__all__ = ["CallEnd", "CallStart", "new_name"]


def new_name() -> str:
    """A name that nobody else has."""
    return uuid4().hex


@dataclass(frozen=True, slots=True)
class CallStart:
    """A call that is about to start."""

    request_id: str
    """The request, or the id that stands in for it where nobody was asked."""
    digest: str
    """The digest of the very call."""
    needs_grant: bool
    """Whether an issued grant must be there. Where nobody had to be asked there is none: the first to start wins."""
    repeatable: bool
    """Whether the call may run again under the same grant."""
    hold: bool = False
    """Whether whoever starts it has it to itself for the length of a lease; see `Outcomes.held`."""
    entry: Entry | None = None
    """What to write into the record where it starts for the first time: the start and the entry, or neither. A ledger
    that keeps no record is given none."""
    attempt: str = field(default_factory=new_name)
    """What tells this attempt from all others."""

    def ended(
        self, status: GrantStatus, *, result: ToolMessage | None = None, scope: str = "", entry: Entry | None = None
    ) -> CallEnd:
        """The end of this attempt.

        Args:
            status: How it ended: finished, failed or paused inside.
            result: What it gave; see `CallEnd`, like what follows.
            scope: The run that the turn is of.
            entry: What to write into the record.
        """
        return CallEnd(self.request_id, self.attempt, status, result, scope, entry)


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How one attempt at a call ended."""

    request_id: str
    """The request, or the id that stands in for it."""
    attempt: str
    """The attempt that ended. No other is touched."""
    status: GrantStatus
    """Finished, failed or paused inside."""
    result: ToolMessage | None = None
    """What it gave, kept until its turn is over; see `Outcomes.result`."""
    scope: str = ""
    """The run that the turn is of; see `Outcomes.forget_results`."""
    entry: Entry | None = None
    """What to write into the record with the end. Of an attempt that lost its call it is written as late."""
