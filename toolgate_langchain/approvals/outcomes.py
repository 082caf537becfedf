"""The ledger's part for what became of calls: who is still at one, what it gave, and what is not known.

A worker can die between the start of a call and the word that it ended. Then nobody knows what happened, and that
is kept apart from what is known: a call that another worker is still at, one whose result was recorded and not yet
carried into its run, and one that may be tried again because a person said so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from langchain_core.messages import ToolMessage

    from toolgate_langchain.approvals.attempts import CallEnd, CallStart
    from toolgate_langchain.approvals.ledger import Maybe
    from toolgate_langchain.approvals.recording.entries import Entry

__all__ = ["Outcomes"]


class Outcomes(Protocol):
    """What a ledger keeps of calls that started. A part of `Ledger`; see there for what may be awaited."""

    def identity(self) -> Maybe[str]:
        """What tells this ledger from others, for all workers the same; empty where it ends with its process."""
        ...

    def held(self, request_id: str) -> Maybe[bool]:
        """Whether a worker may still be at a call that it started with `hold`: it did not end, and has its lease."""
        ...

    def let_go(self, call: CallStart, entry: Entry | None = None) -> Maybe[None]:
        """Record that an attempt was cut off in its middle: nobody is at it any more, and its outcome is unknown.

        Nobody waits for its lease then. Where it ended, or somebody else has the call by now, nothing changes.

        Args:
            call: The attempt.
            entry: What to write into the record.
        """
        ...

    def tries(self, request_id: str) -> Maybe[int]:
        """How often a call was started."""
        ...

    def try_again(self, call: CallStart, tries: int, *, asked: str) -> Maybe[bool]:
        """Claim the right to start a call again whose outcome is unknown, because a person said so.

        Args:
            call: The call, and the new attempt at it.
            tries: How often it had been started when the person was asked. Of all who carry that answer one wins.
            asked: The request in which they were asked. A no that was given to it since stands.
        """
        ...

    def end_unknown(self, call: CallEnd, tries: int) -> Maybe[bool]:
        """Record what a person said of a call whose outcome is unknown.

        Args:
            call: How it ended; its attempt is the person's word, and whoever was at the call has lost it.
            tries: How often it had been started when they were asked.

        Returns:
            Whether that is what became of it. `False` where its worker came to an end, or it was started again.
        """
        ...

    def result(self, request_id: str) -> Maybe[ToolMessage | None]:
        """What a call gave, while its turn goes on; `None` where nothing was kept."""
        ...

    def forget_results(self, scope: str) -> Maybe[None]:
        """Forget what the calls of a run gave: their turn is over."""
        ...

    def ends_at(self, request_id: str) -> Maybe[datetime | None]:
        """When a request expires that was asked; `None` where it never does, or was not asked."""
        ...

    def expire(self, request_id: str, *, at: datetime) -> Maybe[bool]:
        """Close a request whose time is over and that has no answer; whether it is closed that way, now or before.

        Args:
            request_id: The request.
            at: The time.

        Raises:
            LedgerError: If the request was asked well after that time, so that a clock went back.
        """
        ...
