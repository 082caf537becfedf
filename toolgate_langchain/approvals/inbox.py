"""The ledger's part for people who answer where no run is at hand: what waits, and answers that wait to be carried.

A worker that is away, busy or gone cannot take an answer in. The answer is kept beside its request until a
worker carries it into the run. It is a person's word all the same: the first one stands, and only a no may still
take it back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.ledger import AnswerStatus, Maybe, PendingRequest

__all__ = ["Inbox", "LeftAnswer"]


@dataclass(frozen=True, slots=True)
class LeftAnswer:
    """An answer that was given and is not yet carried into its run."""

    request_id: str
    thread_id: str | None
    """The thread whose run waits for it."""
    tool_name: str
    answer: ApprovalAnswer
    answered_at: datetime
    taken_in: bool = False
    """Whether a run took it in, and nobody said since that it was carried: the worker may have been lost."""
    superseded: bool = False
    """Whether the run went another way meanwhile, so that nobody waits for the answer any more."""


class Inbox(Protocol):
    """What a ledger does for an inbox. A part of `Ledger`; see there for what may be awaited."""

    def asked(self, request_id: str) -> Maybe[PendingRequest | None]:
        """A request as it was shown last, also where it waits no more; `None` where it was never asked."""
        ...

    def leave_answer(
        self, request_id: str, answer: ApprovalAnswer, *, digest: str, at: datetime | None = None
    ) -> Maybe[AnswerStatus]:
        """Record an answer of somebody who has no run at hand; it waits until a worker carries it into the run.

        The first answer to a request stands, wherever it was given; a rejection takes back an approval that was
        not used yet.

        Args:
            request_id: The request.
            answer: What the person said. One that names another request is for nobody here.
            digest: The digest of the call that they were shown.
            at: When it was said; now if nobody says.

        Returns:
            `NOT_PENDING` and `EXPIRED` where nobody waits for it (any more), or for this very call; nothing has
            changed then.
        """
        ...

    def left_answers(self, *, limit: int = 100) -> Maybe[Sequence[LeftAnswer]]:
        """The answers that wait to be carried into their runs, in the order in which they were given."""
        ...

    def left_answer(self, request_id: str) -> Maybe[LeftAnswer | None]:
        """The answer to a request that waits to be carried, `None` where none does."""
        ...

    def carried(self, request_id: str) -> Maybe[None]:
        """An answer that waited is in its run, or never will be: nobody has to carry it any more."""
        ...

    def send_back(self, request_id: str, answer: ApprovalAnswer) -> Maybe[None]:
        """The run could not use this answer: its request waits for another one.

        Changes nothing where another answer holds, or where this one was not left here.
        """
        ...

    def void_answer(self, request_id: str, answer: ApprovalAnswer, *, why: str) -> Maybe[bool]:
        """Take an answer off the record that its run cannot use any more: its request waits for another one.

        A grant that was issued for it and not used goes with it, and so do the rules that it made.

        Args:
            request_id: The request.
            answer: The answer.
            why: What is wrong with it, for the record.

        Returns:
            Whether it is off the record now. `False` changed nothing: another answer holds, it is a no, its call began,
            or the run went another way.
        """
        ...

    def close_thread(self, thread_id: str) -> Maybe[None]:
        """Nobody waits any more for what was asked on a thread: a new run began there. Withdraws what is unused.

        Args:
            thread_id: The thread's place: its id, or `Run.place` where its agent has a name.
        """
        ...
